package ledger

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
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

	// Rules names what the operator decides by, BootID the boot, and Sources is how much was read from each source
	// that later looks compare theirs with; nil for a sweep that did not look at everything. See Census.
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
	n, err := exec(ctx, l.db, "UPDATE sweeps SET finished = ?, counts = ?, exit = ? WHERE id = ?",
		finished.UnixNano(), document{&counts}, exit, id)
	return l.explain("finish a sweep in", one(n, err, "sweep", id))
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

// one makes a change of n rows that found nothing an error.
func one(n int64, err error, what, id string) error {
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

// Keep says how much Prune leaves.
type Keep struct {
	// Decisions is of how many of the latest sweeps decisions are kept. What led to an act is kept for good with the act.
	Decisions int
	// Sweeps is how many of the latest sweeps are kept. Those that led to an act are kept for good.
	Sweeps int
}

// Prune bounds the ledger's growth. A file that has become mostly empty is made small again, unless others use it just then.
func (l *Ledger) Prune(ctx context.Context, keep Keep) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		// The n of a sweep counts up, so the last so many are those above a bound.
		var latest int64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(n), 0) FROM sweeps").Scan(&latest); err != nil {
			return err
		}
		bound := latest - int64(keep.Decisions)
		for _, s := range []struct {
			text string
			to   int64
		}{
			{`UPDATE sweeps SET pruned = 1 WHERE pruned = 0 AND n <= ?`, bound},
			// What ended before all sweeps that are left.
			{`DELETE FROM standing WHERE until <= coalesce((SELECT min(saved) FROM sweeps WHERE n > ?), 1 << 62)`, bound},
			{`DELETE FROM rulings WHERE k > ? AND k NOT IN (SELECT ruling FROM standing)`, 0},
			{`DELETE FROM sweeps WHERE n <= ? AND NOT EXISTS (SELECT 1 FROM acts WHERE acts.sweep = sweeps.id)`, latest - int64(max(keep.Sweeps, keep.Decisions))},
		} {
			if _, err := tx.ExecContext(ctx, s.text, s.to); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = l.shrink(ctx)
	}
	return l.explain("prune", err)
}

// emptyPages is from how many empty pages on, of 4 KiB each, a file is made small again; then three in four are empty. SQLite uses empty pages again, and
// a file shrinks by being written again: that is worth it only where much is empty, as after a program that wrote much more has been replaced.
const emptyPages = 4096

// shrink writes the file again where it is mostly empty.
func (l *Ledger) shrink(ctx context.Context) error {
	var pages, empty int64
	if err := l.db.QueryRowContext(ctx, "SELECT c.page_count, f.freelist_count FROM pragma_page_count c, pragma_freelist_count f").Scan(&pages, &empty); err != nil {
		return err
	}
	if empty < emptyPages || empty < pages/4*3 {
		return nil
	}
	_, err := l.db.ExecContext(ctx, "PRAGMA temp_store = MEMORY; VACUUM") // no copy of it lies in the folder for temporary files
	if sqlite.Code(err)&0xff == sqlite3.SQLITE_BUSY {
		return nil // another time
	}
	return err
}

// maxOff is for how long a machine is taken to have been off between a look and the next boot: a long weekend. It may have been up for
// most of it, and without such a bound nothing would ever grow old where looks are rare and boots are not.
const maxOff = 72 * time.Hour

// maxStretches is how many stretches of sleep are kept. Older ones are joined to one, which makes ages shorter and never longer.
const maxStretches = 64

// Asleep says when the machine slept, from the last look and what host shows at the time at. It is a pure function.
//
// Between two looks of one boot that is by how much the time suspended grew, or the wall clock more than the time awake: a clock that
// was set ahead makes nothing older. Before a boot the machine was off since the last look, for at most maxOff. Where nothing is
// remembered it may have slept all that it slept since the boot just now, and of the time before the boot nothing is known and nothing
// left out. Where this look's own clocks are unknown, so is the answer.
func Asleep(prev *Look, host snapshot.Host, at time.Time) *[]snapshot.Asleep {
	if host.BootID == "" || host.BootedAt == nil || host.UpSeconds == nil || host.AwakeSeconds == nil {
		return nil
	}
	at = at.Round(0)
	out, suspended := []snapshot.Asleep{}, seconds(*host.UpSeconds-*host.AwakeSeconds)
	switch {
	case prev == nil || prev.Asleep == nil:
		out = stretch(out, *host.BootedAt, at, suspended)
	case prev.BootID != host.BootID:
		out = stretch(append(out, *prev.Asleep...), prev.At, *host.BootedAt, off(prev.At, *host.BootedAt))
		out = stretch(out, *host.BootedAt, at, suspended)
	case prev.UpSeconds == nil || prev.AwakeSeconds == nil:
		out = stretch(append(out, *prev.Asleep...), *host.BootedAt, at, suspended)
	default:
		before := seconds(*prev.UpSeconds - *prev.AwakeSeconds)
		awake := seconds(*host.AwakeSeconds - *prev.AwakeSeconds)
		out = stretch(append(out, *prev.Asleep...), prev.At, at, max(suspended-before, at.Sub(prev.At)-awake))
	}
	return new(fewer(out))
}

// off is for how long the machine may have been off between a look and a boot. A look that is later than the boot had another clock.
func off(last, booted time.Time) time.Duration {
	if gap := booted.Sub(last); gap > 0 {
		return min(gap, maxOff)
	}
	return maxOff
}

// stretch adds a stretch of sleep, if it is one. Where the wall clock was put back in it, it goes from the earlier time to the later.
func stretch(list []snapshot.Asleep, from, until time.Time, length time.Duration) []snapshot.Asleep {
	if length <= suspendedSlack {
		return list
	}
	if until.Before(from) {
		from, until = until, from
	}
	return append(list, snapshot.Asleep{From: from.UTC(), Until: until.UTC(), Seconds: length.Seconds()})
}

// fewer joins the oldest stretches to one where there are too many.
func fewer(list []snapshot.Asleep) []snapshot.Asleep {
	for len(list) > maxStretches {
		a, b := list[0], list[1]
		if b.From.Before(a.From) {
			a.From = b.From
		}
		if b.Until.After(a.Until) {
			a.Until = b.Until
		}
		a.Seconds += b.Seconds
		list = slices.Replace(list, 0, 2, a)
	}
	return list
}

// Recording says of a sweep that what it saw was kept, redacted, for deciding it again.
type Recording struct {
	// Sweep is the sweep's id, and At when it looked.
	Sweep string    `json:"sweep"`
	At    time.Time `json:"at"`
	// Bytes is the size of the document, Stored what it takes up in the ledger.
	Bytes  int64 `json:"bytes"`
	Stored int64 `json:"stored"`
}

// The room for recordings. One of a machine with 2,000 processes and 300 worktrees has 0.6 MB, and 75 KB compressed.
const (
	// MaxRecording is the greatest document that is recorded, in bytes. No saved snapshot may be greater either.
	MaxRecording = 64 << 20
	// MaxRecordings is how many bytes all recordings together may take up in the ledger: over it the oldest go, with any configuration.
	MaxRecordings = 256 << 20
)

// ErrTooLarge says that a document is greater than MaxRecording, or takes up more than MaxRecordings alone. Nothing was written.
var ErrTooLarge = errors.New("too large to be recorded")

// SaveRecording keeps a document of a sweep, and of the earlier ones the latest, so that keep are kept in all. One of the same sweep takes
// the earlier one's place. keep of 0 keeps nothing.
func (l *Ledger) SaveRecording(ctx context.Context, sweep string, at time.Time, document []byte, keep int) error {
	var stored bytes.Buffer
	if len(document) > MaxRecording {
		return fmt.Errorf("record sweep %s: %w: it has %d bytes, and %d are the most", sweep, ErrTooLarge, len(document), MaxRecording)
	}
	z := gzip.NewWriter(&stored)
	_, err := z.Write(document)
	if err = errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("record sweep %s: compress: %w", sweep, err)
	}
	if stored.Len() > MaxRecordings {
		return fmt.Errorf("record sweep %s: %w: it takes up %d bytes, and all recordings together may take up %d", sweep, ErrTooLarge, stored.Len(), MaxRecordings)
	}
	err = l.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO recordings (sweep, at, bytes, document) VALUES (?, ?, ?, ?)",
			sweep, at.UnixNano(), len(document), stored.Bytes()); err != nil {
			return err
		}
		return keepRecordings(ctx, tx, keep)
	})
	return l.explain("record sweep "+sweep+" in", err)
}

// KeepRecordings removes all recordings but the latest keep.
func (l *Ledger) KeepRecordings(ctx context.Context, keep int) error {
	var n int
	err := l.db.QueryRowContext(ctx, "SELECT count(*) FROM recordings").Scan(&n)
	if err == nil && n > keep { // most often there is nothing to write
		err = l.write(ctx, func(tx *sql.Tx) error { return keepRecordings(ctx, tx, keep) })
	}
	return l.explain("remove recordings of", err)
}

func keepRecordings(ctx context.Context, tx *sql.Tx, keep int) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM recordings WHERE n IN (SELECT n FROM (
			SELECT n, row_number() OVER latest AS place, sum(length(document)) OVER latest AS room FROM recordings WINDOW latest AS (ORDER BY n DESC)
		) WHERE place > ? OR room > ?)`, max(0, keep), MaxRecordings)
	return err
}

var recordingsTable = table[string, Recording]{"recordings", "sweep, at, bytes, length(document)", func(_ *string, r *Recording) []any {
	return []any{&r.Sweep, (*unixTime)(&r.At), &r.Bytes, &r.Stored}
}}

// Recordings says which sweeps are recorded, the latest first.
func (l *Ledger) Recordings(ctx context.Context) ([]Recording, error) {
	return list(ctx, l, recordingsTable, "ORDER BY n DESC")
}

// Recording gives the document of a recorded sweep. ErrNone says that the sweep is not recorded (any more).
func (l *Ledger) Recording(ctx context.Context, sweep string) (Recording, []byte, error) {
	var r Recording
	var stored []byte
	found, err := scanOne(ctx, l.db, append(recordingsTable.places(nil, &r), &stored),
		"SELECT "+recordingsTable.columns+", document FROM recordings WHERE sweep = ?", sweep)
	if err == nil && !found {
		err = fmt.Errorf("recording of sweep %s: %w", sweep, ErrNone)
	}
	if err != nil {
		return Recording{}, nil, l.explain("read a recording of", err)
	}
	document, err := inflate(stored, r.Bytes)
	if err != nil {
		return Recording{}, nil, l.explain("read a recording of", fmt.Errorf("%w: recording of sweep %s: %w", ErrCorrupt, sweep, err))
	}
	return r, document, nil
}

// inflate gives the document of so many bytes, and an error for one of another length.
func inflate(stored []byte, size int64) ([]byte, error) {
	if size < 0 || size > MaxRecording {
		return nil, fmt.Errorf("a document of %d bytes, and %d are the most", size, MaxRecording)
	}
	z, err := gzip.NewReader(bytes.NewReader(stored))
	if err != nil {
		return nil, err
	}
	document, err := io.ReadAll(io.LimitReader(z, size+1))
	if err == nil && int64(len(document)) != size {
		err = fmt.Errorf("it is not the document of %d bytes that was recorded", size)
	}
	return document, err
}
