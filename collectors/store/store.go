// Package store reads the SQLite files of other programs, and changes nothing in them.
//
// A file is opened read-only and never as immutable, which would pass over what lies in its journals. Each table is read with
// one short SELECT outside of any transaction: SQLite holds its SHARED lock for as long as that runs, and in rollback mode a
// writer waits for it. Rows are copied before anybody looks at them, and nobody's migration is run.
//
// A database in rollback mode is left as it is to the byte, and so is its folder. For one in WAL mode SQLite itself keeps a
// -shm file beside it, in which readers too note where they read; where the -wal or -shm file is missing it makes an empty one,
// or fails where it may not write. It never touches the database or what stands in its -wal.
package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"

	"winnow/collectors"
)

const (
	// patience is how long a reader waits for a writer's lock, settling how long for a journal to go that looks left over.
	patience = 2 * time.Second
	settling = 250 * time.Millisecond
	// again is the time between two tries. SQLite's own waiting grows to tenths of a second and hears of no context.
	again = 5 * time.Millisecond
	// maxSize is the most that is read of one table, in bytes of text and blobs.
	maxSize = 64 << 20
	// maxRows is the most rows that are read of one table.
	maxRows = 1 << 20
)

// DB is another program's open database. It serves one goroutine at a time.
type DB struct {
	conn driver.QueryerContext
	// path is the name that it was given, real the file that this leads to.
	path, real string
}

// Open opens the database at path, an absolute path. It wraps collectors.ErrAbsent where there is none and
// collectors.ErrPermission where it may not be read. Locks and damage show when something is read.
func Open(ctx context.Context, path string) (*DB, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	real, err := find(path)
	if err != nil {
		return nil, err
	}
	q := url.Values{
		"mode": {"ro"},
		// Without this, the quoted name of a column that was dropped a moment ago is taken for a text.
		"_dqs": {"0"},
		// The waiting is done in query, where ctx can end it.
		"_pragma": {"busy_timeout(0)", "query_only(1)"},
	}
	dsn := url.URL{Scheme: "file", Path: real, RawQuery: q.Encode()}
	conn, err := (&sqlite.Driver{}).Open(dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w; nothing was read: see whether the file is still there", path, err)
	}
	return &DB{conn: conn.(driver.QueryerContext), path: path, real: real}, nil
}

// Close ends the use of the database.
func (d *DB) Close() error {
	if err := d.conn.(io.Closer).Close(); err != nil {
		return fmt.Errorf("close %s: %w", d.path, err)
	}
	return nil
}

// find gives the real path of the database at path: its journals lie beside that. It only asks the folder. To open the file
// besides SQLite would be a fault: when a process closes any descriptor of a file, the kernel drops all locks that the process
// has on it, and another reader in this process would go on without one.
func find(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", missing(path)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("open %s: %w; let this user enter the folder and read the file", path, collectors.ErrPermission)
	case err != nil:
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", fmt.Errorf("open %s: %w", path, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("open %s: it is not a regular file (%s); name the database itself in config.yaml", path, info.Mode().Type())
	case info.Size() == 0:
		return "", fmt.Errorf("open %s: it is empty, so it is no database; start the program that owns it, or name the right file in config.yaml", path)
	}
	if err := unix.Access(real, unix.R_OK); errors.Is(err, fs.ErrPermission) {
		return "", fmt.Errorf("open %s: %w; let this user read the file", path, collectors.ErrPermission)
	}
	return real, nil
}

// missing says that there is no file at path: that is absence only when nothing of it was left behind.
func missing(path string) error {
	for name, what := range map[string]string{path: "is a link that leads nowhere", path + "-wal": "is there", path + "-journal": "is there"} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("open %s: the database is not there, but %s %s; see where the database went", path, name, what)
		}
	}
	return fmt.Errorf("open %s: %w; nothing has been written there yet, or the path in config.yaml is wrong", path, collectors.ErrAbsent)
}

// Columns gives the names of a table's columns. ErrLayout says that there is no such table.
func (d *DB) Columns(ctx context.Context, table string) (map[string]bool, error) {
	rows, err := d.query(ctx, "PRAGMA table_info("+quote(table)+")")
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(rows))
	for _, values := range rows {
		if name, ok := values[1].(string); ok {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("read %s: %w: there is no table %s", d.path, ErrLayout, table)
	}
	return names, nil
}

// Rows reads these columns, and no others, of every row of a table, in the order in which SQLite keeps them. ErrLayout says
// that the table or one of the columns is not there. It gives all rows or none.
func (d *DB) Rows(ctx context.Context, table string, columns ...string) ([]Row, error) {
	have, err := d.Columns(ctx, table)
	if err == nil {
		err = d.wholePages(ctx)
	}
	if err != nil {
		return nil, err
	}
	at, quoted := make(map[string]int, len(columns)), make([]string, len(columns))
	for i, name := range columns {
		if !have[name] {
			return nil, fmt.Errorf("read %s: %w: table %s has no column %s", d.path, ErrLayout, table, name)
		}
		at[name], quoted[i] = i, quote(name)
	}
	all, err := d.query(ctx, "SELECT "+strings.Join(quoted, ", ")+" FROM "+quote(table))
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(all))
	for i, values := range all {
		rows[i] = Row{at: at, values: values}
	}
	return rows, nil
}

// wholePages refuses a file whose last page is cut: SQLite fills it up with zeros, and in rows that is NULL, 0 and nothing. Any
// other lack SQLite sees by itself. It is asked after a first statement, before which SQLite does not know the size of a page.
func (d *DB) wholePages(ctx context.Context) error {
	rows, err := d.query(ctx, "PRAGMA page_size")
	if err != nil {
		return err
	}
	info, err := os.Stat(d.real)
	if err != nil {
		return fmt.Errorf("read %s: %w", d.path, err)
	}
	if page, ok := rows[0][0].(int64); !ok || page < 1 || info.Size()%page != 0 {
		return fmt.Errorf("read %s: its last page is cut short; nothing was read: bring back a backup with the program that owns it", d.path)
	}
	return nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// query runs one statement, and again while somebody else is about to let go: of a lock, or of a journal that looks left over. Such
// a look may only be the moment at which a writer that takes back its change has removed the journal and not yet its lock.
func (d *DB) query(ctx context.Context, sql string) ([][]driver.Value, error) {
	began := time.Now()
	before := began // when there was last no such journal to be seen
	for {
		rows, err := d.once(ctx, sql)
		switch now := time.Now(); {
		case err == nil:
			return rows, nil
		case locked(err) && now.Sub(began) < patience:
			before = now
		case unfinished(err) && now.Sub(before) < settling:
		default:
			return nil, explain(d.path, err)
		}
		select {
		case <-ctx.Done():
			return nil, explain(d.path, fmt.Errorf("%w: %w", err, ctx.Err()))
		case <-time.After(again):
		}
	}
}

// once runs one statement and copies what it gives. When it returns, SQLite has let go of its lock.
func (d *DB) once(ctx context.Context, sql string) (all [][]driver.Value, err error) {
	rows, err := d.conn.QueryContext(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, rows.Close()) }()
	width, size := len(rows.Columns()), 0
	for {
		values := make([]driver.Value, width)
		switch err := rows.Next(values); {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, err
		}
		for _, v := range values {
			switch v := v.(type) {
			case string:
				size += len(v)
			case []byte:
				size += len(v)
			}
		}
		if all = append(all, values); size > maxSize || len(all) > maxRows {
			return nil, errTooMuch
		}
		if len(all)%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}
