package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ordinary makes sure that a name means a real table and nothing else: no view, which may never end, and no virtual table, whose
// reading runs a module. The column type of sqlite_schema does not prove that, because a program that writes the file can write
// anything there: what SQLite makes of a row is what the text of its statement says. That text is looked at, and no view is prepared.
func (d *DB) ordinary(ctx context.Context, table string) error {
	rows, err := d.query(ctx, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
	if err != nil {
		return err
	}
	found := false
	for _, row := range rows {
		var text [3]string
		for i, v := range row {
			text[i], _ = v.(string)
		}
		is, name := statement(text[2])
		switch {
		case is == "" || name != text[1] || !strings.EqualFold(strings.TrimPrefix(is, "virtual "), text[0]):
			return fmt.Errorf("read %s: %w: its schema was written by hand", d.path, ErrLayout)
		case !strings.EqualFold(name, table):
		case is != "table":
			return fmt.Errorf("read %s: %w: %s is no table but a %s", d.path, ErrLayout, table, strings.Replace(is, "virtual ", "virtual-", 1))
		default:
			found = true
		}
	}
	if !found {
		return fmt.Errorf("read %s: %w: there is no table %s", d.path, ErrLayout, table)
	}
	return nil
}

// statement says what a statement of a schema makes and what that is called, "" for a statement that SQLite, which writes them all in one form,
// does not write.
func statement(sql string) (is, name string) {
	for _, kind := range []string{"TABLE", "VIEW", "VIRTUAL TABLE", "INDEX", "UNIQUE INDEX", "TRIGGER"} {
		if rest, ok := strings.CutPrefix(sql, "CREATE "+kind+" "); ok {
			return strings.TrimPrefix(strings.ToLower(kind), "unique "), identifier(rest)
		}
	}
	return "", ""
}

// identifier is the name that a text begins with, without its quotes.
func identifier(text string) string {
	if text == "" {
		return ""
	}
	last := text[0]
	switch last {
	case '"', '\'', '`':
	case '[':
		last = ']'
	default:
		end := strings.IndexFunc(text, func(r rune) bool {
			return r < 0x80 && r != '_' && r != '$' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
		})
		if end < 0 {
			return text
		}
		if text[end] == '.' {
			return "" // the name of another database: SQLite writes none
		}
		return text[:end]
	}
	var name strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != last:
			name.WriteByte(text[i])
		case last != ']' && i+1 < len(text) && text[i+1] == last:
			name.WriteByte(last)
			i++
		default:
			return name.String()
		}
	}
	return ""
}

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
