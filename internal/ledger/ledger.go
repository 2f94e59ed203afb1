// Package ledger keeps what is remembered between sweeps in one SQLite file: sweeps and their decisions, sightings,
// holds, acts with their intent and outcome, refusals, the last look at the clock, and what alarms compare a look
// with.
//
// A change is durable when the call that makes it returns nil: write-ahead log, synchronous FULL. Others may read
// while one writes. Times are kept as nanoseconds since 1970 in UTC.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

var (
	// ErrNone says that there is no ledger yet, or not the record that was asked for.
	ErrNone = errors.New("none")
	// ErrNewer says that a newer version of winnow wrote the ledger. Nothing of it was touched.
	ErrNewer = errors.New("written by a newer version")
	// ErrCorrupt says that the file is not a ledger, or a damaged one. It is left as it is.
	ErrCorrupt = errors.New("not a readable ledger")
)

// busyTimeout is how long a writer waits for another one.
const busyTimeout = 30 * time.Second

// Ledger is an open ledger. It may be used from several goroutines; one statement runs at a time.
type Ledger struct {
	db   *sql.DB
	path string
	// schema is what makes the file.
	schema schema
}

// Open opens the ledger at path for writing. A missing one it makes, in a folder that only this user may enter.
func Open(path string) (*Ledger, error) { return open(path, ledgerSchema, "FULL") }

// open is Open for a file with those tables, with a value of SQLite's for synchronous.
func open(path string, tables schema, synchronous string) (*Ledger, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if err := create(path); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	path, err = trusted(path) // before rights are taken from other users: what they could write is not believed afterwards
	if err != nil {
		return nil, err
	}
	if err := tighten(path); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if err := inspect(path, tables); err != nil {
		return nil, err
	}
	l := connect(path, tables, "rw", "journal_mode(WAL)", "synchronous("+synchronous+")", "foreign_keys(1)")
	if err := l.ready(context.Background()); err != nil {
		return nil, errors.Join(l.explain("open", err), l.Close())
	}
	if err := l.sound(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// ready makes sure of the tables. Of several that open a new ledger at once SQLite tells some at once that it is busy, because they
// all want to turn it to WAL: those then go one after the other, by a lock on the folder, for at most busyTimeout.
func (l *Ledger) ready(ctx context.Context) error {
	var turn *os.File
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := l.makeTables(ctx)
		if sqlite.Code(err)&0xff != sqlite3.SQLITE_BUSY || time.Since(began) > busyTimeout {
			return err
		}
		if turn == nil {
			turn, _ = os.Open(filepath.Dir(l.path)) // nil where that fails: then there are no turns
			defer turn.Close()
		}
		for unix.Flock(int(turn.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK && time.Since(began) < busyTimeout {
			time.Sleep(time.Millisecond)
		}
	}
}

// checkTime is how long the check of a ledger that is opened for writing may take: enough for some 20 MiB. A fault
// further on shows when that part is read.
const checkTime = 100 * time.Millisecond

// sound has the file checked for as long as a person does not notice, before anything is done that has to be
// remembered in it.
func (l *Ledger) sound() error {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if err := l.Check(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// OpenReadOnly opens the ledger at path for reading, also while another process writes. ErrNone says that no ledger
// exists.
func OpenReadOnly(path string) (*Ledger, error) { return openReadOnly(path, ledgerSchema) }

func openReadOnly(path string, tables schema) (*Ledger, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	switch _, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open ledger %s: %w: no sweep has been made with this state folder", path, ErrNone)
	case err != nil:
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if path, err = trusted(path); err != nil {
		return nil, err
	}
	if err := inspect(path, tables); err != nil {
		return nil, err
	}
	l := connect(path, tables, "ro", "query_only(1)")
	v, err := l.version(context.Background())
	if err == nil && v == 0 {
		err = fmt.Errorf("%w: it is empty", ErrNone)
	}
	if err != nil {
		return nil, errors.Join(l.explain("open", err), l.Close())
	}
	return l, nil
}

// Close ends the use of the ledger.
func (l *Ledger) Close() error {
	if err := l.db.Close(); err != nil {
		return fmt.Errorf("close ledger: %w", err)
	}
	return nil
}

// Check has SQLite check the whole file, which takes time in proportion to its size.
func (l *Ledger) Check(ctx context.Context) error {
	var answer string
	if err := l.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&answer); err != nil {
		return l.explain("check", err)
	}
	if answer != "ok" {
		return fmt.Errorf("check ledger %s: %w: %s; nothing was changed: move the file aside, and a new one is made", l.path, ErrCorrupt, answer)
	}
	return nil
}

// create makes the folder and an empty file with the rights that SQLite then gives its -wal and -shm files too.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w; give this user a folder with --state", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the file: %w; give this user a folder with --state", err)
	}
	return f.Close()
}

// tighten takes the rights of others away from a ledger's files: names and what rules found stand in them.
func tighten(path string) error {
	for _, p := range []string{path, path + "-wal", path + "-shm"} {
		st, err := os.Lstat(p)
		if err != nil || !st.Mode().IsRegular() || safeopen.Owner(st) != os.Geteuid() || st.Mode().Perm()&0o077 == 0 {
			continue // what is wrong with it otherwise, opening it says
		}
		if err := os.Chmod(p, st.Mode().Perm()&0o700); err != nil {
			return err
		}
	}
	return nil
}

// connect prepares a connection; nothing is opened until it is used. One connection serves all, so that every
// statement sees what the one before it wrote, and so that no two writers of one process wait for each other.
func connect(path string, tables schema, mode string, pragmas ...string) *Ledger {
	q := url.Values{"mode": {mode}, "_txlock": {"immediate"}, "_defensive": {"1"}}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	for _, p := range append(pragmas, "trusted_schema(0)", "cell_size_check(1)") {
		q.Add("_pragma", p)
	}
	db := sqlite.Pool(&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()})
	db.SetMaxOpenConns(1)
	return &Ledger{db: db, path: path, schema: tables}
}

func (l *Ledger) version(ctx context.Context) (v int, err error) {
	err = l.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

// explain says which step failed on which file and, where it is known, what to do next.
func (l *Ledger) explain(step string, err error) error {
	if err == nil {
		return nil
	}
	switch sqlite.Code(err) & 0xff { // the primary code; the rest says more of the same
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%s ledger %s: %w: %w; it was left untouched: move it aside, and a new one is made", step, l.path, ErrCorrupt, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%s ledger %s: another process has been writing for %s: %w; nothing was written, try again", step, l.path, busyTimeout, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%s ledger %s: no room is left: %w; nothing was written", step, l.path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("%s ledger %s: %w; this user must be able to write the file and its folder", step, l.path, err)
	}
	return fmt.Errorf("%s ledger %s: %w", step, l.path, err)
}
