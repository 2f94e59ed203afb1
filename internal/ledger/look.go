package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// suspendedSlack is how much the time spent suspended may seem to grow between two looks, for the two clocks are not
// read at the very same moment.
const suspendedSlack = time.Second

// Look is what a look at the clocks found, kept for the next one to compare with.
type Look struct {
	At           time.Time
	BootID       string
	UpSeconds    *float64
	AwakeSeconds *float64
	SteadySince  *time.Time
	LastResumeAt *time.Time
	// Asleep is when the machine slept up to this look; nil is unknown.
	Asleep *[]snapshot.Asleep
}

var looksTable = table[string, Look]{"looks", "at, boot_id, up_seconds, awake_seconds, steady_since, last_resume_at, asleep", func(_ *string, k *Look) []any {
	return []any{(*unixTime)(&k.At), &k.BootID, &k.UpSeconds, &k.AwakeSeconds, nullTime{&k.SteadySince}, nullTime{&k.LastResumeAt}, document{&k.Asleep}}
}}

// Look gives the last look, nil before the first one.
func (l *Ledger) Look(ctx context.Context) (*Look, error) {
	all, err := list(ctx, l, looksTable, "")
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// SaveLook makes k the last look, and adds the time since the one before it to what was counted.
func (l *Ledger) SaveLook(ctx context.Context, k Look) error {
	prev, err := l.Look(ctx)
	if err != nil {
		return err
	}
	_, err = l.db.ExecContext(ctx, "INSERT OR REPLACE INTO looks ("+looksTable.columns+`, one, counted)
		VALUES (?, ?, ?, ?, ?, ?, ?, 1, coalesce((SELECT counted FROM looks), 0) + ?)`,
		append(looksTable.places(new(string), &k), Passed(prev, k).Seconds())...)
	return l.explain("save the look in", err)
}

// Passed says how much time passed between two looks at least, even after the wall clock was set. Within one boot it
// is the machine's own count, the time that it was suspended included. Over a boot it is the time since the boot, and
// at most what the wall clock shows. It is a pure function.
func Passed(prev *Look, k Look) time.Duration {
	if prev == nil || k.UpSeconds == nil || k.BootID == "" {
		return 0
	}
	up := seconds(*k.UpSeconds)
	if prev.BootID == k.BootID {
		if prev.UpSeconds == nil {
			return 0
		}
		return max(0, seconds(*k.UpSeconds-*prev.UpSeconds))
	}
	return max(0, min(up, k.At.Round(0).Sub(prev.At)))
}

// Waited says how long an act's things have been in the trash, by the looks that counted since: the wall clock may
// have jumped.
func (l *Ledger) Waited(ctx context.Context, id string) (time.Duration, error) {
	var s sql.NullFloat64
	found, err := scanOne(ctx, l.db, []any{&s},
		"SELECT coalesce((SELECT counted FROM looks), 0) - counted FROM acts WHERE id = ?", id)
	if err == nil && !found {
		err = ErrNone
	}
	return max(0, seconds(s.Float64)), l.explain("read how long "+id+" was kept from", err)
}

// Steady says since when no boot, resume from suspension or jump of the clock has been noticed, and when the latest
// resume was noticed, from the last look and what host shows at the time at. It is a pure function.
//
// At a first look that is since the boot. Another boot id, more time suspended than before, and a wall clock that
// moved by more than jump against the machine's own count since boot each start a new steady time at this look; so
// does a last look that cannot be compared with. Where this look's own clocks are unknown, so is the answer.
func Steady(prev *Look, host snapshot.Host, at time.Time, jump time.Duration) (steadySince, lastResume *time.Time) {
	if host.BootID == "" || host.UpSeconds == nil || host.AwakeSeconds == nil {
		return nil, nil
	}
	if prev == nil {
		return host.BootedAt, nil
	}
	if prev.BootID != host.BootID {
		return &at, nil
	}
	lastResume = prev.LastResumeAt
	if prev.UpSeconds == nil || prev.AwakeSeconds == nil {
		return &at, lastResume
	}
	up := seconds(*host.UpSeconds - *prev.UpSeconds)
	awake := seconds(*host.AwakeSeconds - *prev.AwakeSeconds)
	wall := at.Round(0).Sub(prev.At)
	if up-awake > suspendedSlack {
		return &at, &at
	}
	if up < 0 || awake-up > suspendedSlack || (wall-up).Abs() > jump || prev.SteadySince == nil {
		return &at, lastResume
	}
	return prev.SteadySince, lastResume
}

// Fresh says why what earlier looks saw may not be counted with what host shows at the time at, "" where it may: the
// machine booted or resumed, its clock was set by more than jump, or nothing looked for longer than gap. What happened
// in between no look knows. It is a pure function.
func Fresh(prev *Look, host snapshot.Host, at time.Time, jump, gap time.Duration) string {
	if prev == nil {
		return ""
	}
	if host.BootID == "" || host.UpSeconds == nil || host.AwakeSeconds == nil || prev.UpSeconds == nil || prev.AwakeSeconds == nil {
		return "the machine's own count of time is not known"
	}
	if prev.BootID != host.BootID {
		return "the machine booted"
	}
	up, awake := seconds(*host.UpSeconds-*prev.UpSeconds), seconds(*host.AwakeSeconds-*prev.AwakeSeconds)
	switch wall := at.Round(0).Sub(prev.At); {
	case up-awake > suspendedSlack:
		return "the machine was suspended"
	case up < 0 || awake-up > suspendedSlack || (wall-up).Abs() > jump:
		return "the clock was set"
	case awake > gap:
		return "nothing looked for " + awake.Round(time.Second).String()
	}
	return ""
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

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
	err := firstError(
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
