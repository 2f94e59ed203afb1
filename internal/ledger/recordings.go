package ledger

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"
)

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
