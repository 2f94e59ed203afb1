package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// Act is an act with what was written down before it and, once it is known, how it went.
type Act struct {
	Intent decision.Intent `json:"intent"`
	// Outcome and SettledAt are nil for an act that was cut short and not settled yet.
	Outcome    *decision.Outcome `json:"outcome,omitempty"`
	SettledAt  *time.Time        `json:"settled_at,omitempty"`
	RestoredAt *time.Time        `json:"restored_at,omitempty"`
	PurgedAt   *time.Time        `json:"purged_at,omitempty"`
}

// Intend writes down what is about to be done. When it returns nil the intent survives a crash; after any error it must be
// taken as not written, and nothing may be done.
func (l *Ledger) Intend(ctx context.Context, in decision.Intent) error {
	return l.IntendLogged(ctx, in, nil, 0)
}

// IntendLogged is Intend with what is to be logged of the decision: it is durable when the intent is. See QueueEvents for room.
func (l *Ledger) IntendLogged(ctx context.Context, in decision.Intent, events []Event, room int64) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO acts (id, sweep, candidate, at, intent, counted)
			VALUES (?, ?, ?, ?, ?, coalesce((SELECT counted FROM looks), 0))`,
			in.ID, in.Sweep, in.Candidate, in.At.UnixNano(), document{&in}); err != nil {
			return err
		}
		if err := rooted(ctx, tx, in); err != nil {
			return err
		}
		if err := chained(ctx, tx, in.ID, eventIntent); err != nil {
			return err
		}
		return queue(ctx, tx, events, room)
	})
	return l.explain("write intent "+in.ID+" in", err)
}

// Adopt writes down an act that set something aside which is still there, and of which the ledger knows nothing, or that it is gone:
// it was lost, or is an older one. It reports whether there was anything to write. An act that is not settled yet is left to its
// settling. The time that the act's things are kept is counted from now on.
func (l *Ledger) Adopt(ctx context.Context, in decision.Intent, out decision.Outcome) (adopted bool, err error) {
	ctx = context.WithoutCancel(ctx)
	err = l.write(ctx, func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, `INSERT INTO acts
			(id, sweep, candidate, at, intent, outcome, settled_at, restore_until, counted)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, coalesce((SELECT counted FROM looks), 0))
			ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome, restore_until = excluded.restore_until, restored_at = NULL, purged_at = NULL,
				counted = excluded.counted
			WHERE settled_at IS NOT NULL AND NOT (`+kept+`)`,
			in.ID, in.Sweep, in.Candidate, in.At.UnixNano(), document{&in}, document{&out}, time.Now().UnixNano(), nanos(out.RestoreUntil))
		if adopted = n > 0; err != nil || !adopted {
			return err
		}
		if err := rooted(ctx, tx, in); err != nil {
			return err
		}
		return chained(ctx, tx, in.ID, eventAdopted)
	})
	return adopted && err == nil, l.explain("adopt "+in.ID+" in", err)
}

// rooted remembers the folder below which an act on a folder is begun.
func rooted(ctx context.Context, tx *sql.Tx, in decision.Intent) error {
	d := in.Identity.Dir
	if d == nil || d.Root == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO roots (path) VALUES (?)", d.Root)
	return err
}

// Roots gives the folders below which acts on folders were begun, sorted.
func (l *Ledger) Roots(ctx context.Context) ([]string, error) {
	out, err := texts(ctx, l.db, "SELECT path FROM roots ORDER BY path")
	return out, l.explain("read roots from", err)
}

// Settled writes down how an act went, also when ctx has ended by now: it has happened. An act that is settled is not settled
// again: the same outcome is taken as done, another one is an error. ErrNone says that no intent has this id.
func (l *Ledger) Settled(ctx context.Context, id string, out decision.Outcome) error {
	ctx = context.WithoutCancel(ctx)
	text, err := encode(out)
	if err != nil {
		return fmt.Errorf("write outcome of %s: encode: %w", id, err)
	}
	err = l.write(ctx, func(tx *sql.Tx) error {
		n, err := exec(ctx, tx,
			"UPDATE acts SET outcome = ?, settled_at = ?, restore_until = ? WHERE id = ? AND settled_at IS NULL",
			text, time.Now().UnixNano(), nanos(out.RestoreUntil), id)
		switch {
		case err != nil:
			return err
		case n == 1:
			return chained(ctx, tx, id, eventOutcome)
		}
		var before string
		there, err := scanOne(ctx, tx, []any{&before}, "SELECT outcome FROM acts WHERE id = ?", id)
		switch {
		case err == nil && !there:
			return ErrNone
		case err == nil && before != text:
			return errors.New("it is settled already, with another outcome; that one stands")
		}
		return err
	})
	return l.explain("write outcome of "+id+" in", err)
}

// Unsettled gives the acts without a recorded outcome, the oldest first.
func (l *Ledger) Unsettled(ctx context.Context) ([]decision.Intent, error) {
	acts, err := l.acts(ctx, unsettled)
	all := []decision.Intent{}
	for _, a := range acts {
		all = append(all, a.Intent)
	}
	return all, err
}

// Acts gives the acts that were begun at or after since, the latest first.
func (l *Ledger) Acts(ctx context.Context, since time.Time) ([]Act, error) {
	return l.acts(ctx, "WHERE at >= ? ORDER BY at DESC, id DESC", from(since))
}

// Restorable gives the acts that set something aside which is still there, the latest first.
func (l *Ledger) Restorable(ctx context.Context) ([]Act, error) {
	return l.acts(ctx, restorable)
}

// Expired gives the acts whose set-aside things may be removed for good by now, the oldest first.
func (l *Ledger) Expired(ctx context.Context, now time.Time) ([]Act, error) {
	return l.acts(ctx, expired, now.UnixNano())
}

// kept are the acts whose set-aside things are still there.
const kept = "restore_until IS NOT NULL AND restored_at IS NULL AND purged_at IS NULL"

// What every sweep asks of the acts. Acts are kept for good, so each is found by an index that has only what is asked for; +at keeps SQLite from the index of the times, which has all.
const (
	unsettled  = "WHERE settled_at IS NULL ORDER BY id"
	restorable = "WHERE " + kept + " ORDER BY +at DESC, id DESC"
	expired    = "WHERE " + kept + " AND restore_until <= ? ORDER BY restore_until, id"
)

// MarkRestored records that what an act set aside was brought back, MarkPurged that it was removed for good. ErrNone says that
// the act had nothing set aside (any more).
func (l *Ledger) MarkRestored(ctx context.Context, id string, at time.Time) error {
	return l.mark(ctx, "restored_at", eventRestored, id, at)
}

// MarkPurged: see MarkRestored.
func (l *Ledger) MarkPurged(ctx context.Context, id string, at time.Time) error {
	return l.mark(ctx, "purged_at", eventPurged, id, at)
}

func (l *Ledger) mark(ctx context.Context, column, event, id string, at time.Time) error {
	ctx = context.WithoutCancel(ctx) // it has happened
	err := l.write(ctx, func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, "UPDATE acts SET "+column+" = ? WHERE id = ? AND "+kept, at.UnixNano(), id)
		if err := one(n, err, "act", id); err != nil {
			return err
		}
		return chained(ctx, tx, id, event)
	})
	return l.explain("mark an act in", err)
}

var actsTable = table[string, Act]{"acts", "id, intent, outcome, settled_at, restored_at, purged_at", func(id *string, a *Act) []any {
	return []any{id, document{&a.Intent}, document{&a.Outcome}, nullTime{&a.SettledAt}, nullTime{&a.RestoredAt}, nullTime{&a.PurgedAt}}
}}

func (l *Ledger) acts(ctx context.Context, rest string, args ...any) ([]Act, error) {
	return list(ctx, l, actsTable, rest, args...)
}
