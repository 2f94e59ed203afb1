package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Sweep is one sweep. Finished and Exit are nil while it runs, and stay so when it was cut short.
type Sweep struct {
	ID       string     `json:"id"`
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished,omitempty"`
	// Mode is dry-run, apply or cleanup.
	Mode string `json:"mode"`
	// Revision and Digest are of the policies that were loaded.
	Revision string `json:"revision"`
	Digest   string `json:"digest"`
	// Counts is the census as the sweep gave it to FinishSweep.
	Counts json.RawMessage `json:"counts,omitempty"`
	Exit   *int            `json:"exit,omitempty"`

	// Rules names what the operator decides by, BootID the boot, and Sources is how much was read from each source that later looks compare
	// theirs with; nil for a sweep that did not look at everything. See Census.
	Rules   string         `json:"-"`
	BootID  string         `json:"-"`
	Sources map[string]int `json:"-"`
}

// BeginSweep records that a sweep began. Counts and all that is known at its end are not kept yet.
func (l *Ledger) BeginSweep(ctx context.Context, s Sweep) error {
	_, err := l.db.ExecContext(ctx, "INSERT INTO sweeps (id, started, mode, revision, digest, rules, boot_id, sources) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		s.ID, s.Started.UnixNano(), s.Mode, s.Revision, s.Digest, s.Rules, s.BootID, document{&s.Sources})
	return l.explain("begin a sweep in", err)
}

// FinishSweep records how a sweep ended; counts is any value that encodes to JSON. ErrNone says that it never began.
func (l *Ledger) FinishSweep(ctx context.Context, id string, finished time.Time, counts any, exit int) error {
	res, err := l.db.ExecContext(ctx, "UPDATE sweeps SET finished = ?, counts = ?, exit = ? WHERE id = ?", finished.UnixNano(), document{&counts}, exit, id)
	if err == nil {
		err = one(res, "sweep", id)
	}
	return l.explain("finish a sweep in", err)
}

// SameSweep records a whole sweep that found nothing new: all that stood before it stands.
func (l *Ledger) SameSweep(ctx context.Context, s Sweep, finished time.Time, counts any, exit int) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		saved, err := nextSave(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO sweeps (id, started, mode, revision, digest, rules, boot_id, sources, saved, finished, counts, exit)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			s.ID, s.Started.UnixNano(), s.Mode, s.Revision, s.Digest, s.Rules, s.BootID, document{&s.Sources}, saved, finished.UnixNano(), document{&counts}, exit)
		return err
	})
	return l.explain("record a sweep in", err)
}

// one makes a change that found nothing an error.
func one(res sql.Result, what, id string) error {
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return fmt.Errorf("%s %s: %w", what, id, ErrNone)
	}
	return err
}

var sweepsTable = table[string, Sweep]{"sweeps", "id, started, finished, mode, revision, digest, counts, exit", func(_ *string, s *Sweep) []any {
	return []any{&s.ID, (*unixTime)(&s.Started), nullTime{&s.Finished}, &s.Mode, &s.Revision, &s.Digest, document{&s.Counts}, &s.Exit}
}}

// Sweeps gives the sweeps that began at or after since, the latest first.
func (l *Ledger) Sweeps(ctx context.Context, since time.Time) ([]Sweep, error) {
	return list(ctx, l, sweepsTable, "WHERE started >= ? ORDER BY n DESC", from(since))
}

// from is a lower bound; the zero time is before everything.
func from(t time.Time) int64 {
	if t.IsZero() {
		return -1 << 63
	}
	return t.UnixNano()
}
