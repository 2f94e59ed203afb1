package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrLayout says that a database has not the tables and columns that are read. ErrUnfinished says that a change to it
// was begun and not ended, which only a writer can undo. What to do next is added by who knows the program that owns
// the database.
var (
	ErrLayout     = errors.New("unknown layout")
	ErrUnfinished = errors.New("it is in the middle of a change, or its program crashed in one; nothing was read")

	errTooMuch = fmt.Errorf("more than %d MiB or %d rows, or a value of more than %d MiB; nothing was read: let its program drop what has long ended",
		maxSize>>20, maxRows, maxValue>>20)
)

// Program is the program that owns a database, for messages: its name, the version that is known, and what to start so
// that it undoes a change that was begun.
type Program struct{ Name, Version, Start string }

// Explain adds to an error of reading what to do with the program.
func (p Program) Explain(err error) error {
	switch {
	case errors.Is(err, ErrUnfinished):
		return fmt.Errorf("%w; start %s once, which undoes the change", err, p.Start)
	case errors.Is(err, ErrLayout):
		return fmt.Errorf("%w; a newer or older %s wrote it, or another program: this version of winnow reads the store of %[2]s %[3]s", err, p.Name, p.Version)
	}
	return err
}

// locked says that another program has the database locked, unfinished that its journal looks like one of a crash.
func locked(err error) bool     { return Code(err)&0xff == sqlite3.SQLITE_BUSY }
func unfinished(err error) bool { return Code(err) == sqlite3.SQLITE_READONLY_ROLLBACK }

// Code gives SQLite's extended code of an error, whose lowest byte is the primary one; 0 for an error that is not
// SQLite's.
func Code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// explain says what could not be read, that nothing was, and what to do next.
func explain(path string, err error) error {
	switch code := Code(err); {
	case unfinished(err):
		return fmt.Errorf("read %s: %w: %w", path, ErrUnfinished, err)
	case locked(err):
		return fmt.Errorf("read %s: another program holds it locked: %w; nothing was read: look again, and if it stays, see who has the file open",
			path, err)
	case code&0xff == sqlite3.SQLITE_TOOBIG:
		return fmt.Errorf("read %s: a row or a part of its schema is greater than its program makes any: %w; nothing was read: name the right file in"+
			" config.yaml", path, err)
	case code&0xff == sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("read %s: it is not a SQLite database: %w; name the right file in config.yaml", path, err)
	case code&0xff == sqlite3.SQLITE_CORRUPT, code == sqlite3.SQLITE_IOERR_SHORT_READ:
		return fmt.Errorf("read %s: it is damaged or cut short: %w; nothing was read: bring back a backup with the program that owns it", path, err)
	case code&0xff == sqlite3.SQLITE_CANTOPEN, code&0xff == sqlite3.SQLITE_READONLY:
		return fmt.Errorf("read %s: its journal or -shm file cannot be used from here: %w; nothing was read: let this user read and write the files"+
			" beside it, or look again while the program that owns it runs", path, err)
	}
	return fmt.Errorf("read %s: %w", path, err)
}
