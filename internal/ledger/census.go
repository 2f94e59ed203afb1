package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// Census is what a look is compared with to tell an accident from a backlog.
type Census struct {
	// At is when the earliest sweep since Asked.Jump began, zero when it is missing; Used has the candidates that it
	// kept because something alive used or owned them.
	At   time.Time
	Used map[string]bool
	// Most is the most that sweeps since Asked.Shrunk read from each source, and when.
	Most map[string]Most
}

// Most is the most that was read from a source.
type Most struct {
	Seen int
	At   time.Time
}

// Asked says which sweeps count: those that were decided by the same rules.
type Asked struct {
	Rules string
	// Jump and Shrunk are since when. A sweep of another boot than BootID does not count for Jump, nor for the sources
	// in InBoot.
	Jump, Shrunk time.Time
	BootID       string
	InBoot       []string
}

// Census gives what earlier sweeps say.
func (l *Ledger) Census(ctx context.Context, ask Asked) (Census, error) {
	b := Census{Used: map[string]bool{}, Most: map[string]Most{}}
	err := inTurn(
		func() error { return l.reading(ctx, func(tx *sql.Tx) error { return used(ctx, tx, ask, &b) }) },
		func() error { return l.most(ctx, ask, &b) },
	)
	if err != nil {
		return Census{}, l.explain("read earlier sweeps in", err)
	}
	return b, nil
}

func used(ctx context.Context, tx *sql.Tx, ask Asked, b *Census) error {
	var n int64
	var at unixTime
	found, err := scanOne(ctx, tx, []any{&n, &at}, `SELECT n, started FROM sweeps WHERE started >= ? AND sources IS NOT NULL AND rules = ? AND boot_id = ? AND pruned = 0
		ORDER BY n LIMIT 1`, from(ask.Jump), ask.Rules, ask.BootID)
	if err != nil || !found {
		return err
	}
	b.At = time.Time(at)
	all, err := decided(ctx, tx, n)
	for _, d := range all {
		if d.Verdict == decision.Spare && d.Used() {
			b.Used[d.ID] = true
		}
	}
	return err
}

func (l *Ledger) most(ctx context.Context, ask Asked, b *Census) error {
	inBoot := map[string]bool{}
	for _, name := range ask.InBoot {
		inBoot[name] = true
	}
	return eachRow(ctx, l.db, func(row *sql.Rows) error {
		var name, boot string
		var seen int
		var at unixTime
		if err := row.Scan(&name, &boot, &seen, &at); err != nil {
			return fmt.Errorf("sources of sweeps: %w", err)
		}
		since := ask.Shrunk
		if inBoot[name] {
			if boot != ask.BootID {
				return nil
			}
			since = ask.Jump
		}
		if t := time.Time(at); !t.Before(since) && seen > b.Most[name].Seen {
			b.Most[name] = Most{Seen: seen, At: t}
		}
		return nil
	}, `SELECT j.key, s.boot_id, CAST(j.value AS INTEGER), s.started FROM sweeps s, json_each(s.sources) j
		WHERE s.started >= ? AND s.sources IS NOT NULL AND s.rules = ?`, from(ask.Shrunk), ask.Rules)
}
