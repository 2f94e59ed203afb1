// Package sqlite reads the SQLite files of other programs, and changes nothing in them.
//
// A file is opened read-only and never as immutable, which would pass over what lies in its journals. Each table is read with
// one short SELECT outside of any transaction: SQLite holds its SHARED lock for as long as that runs, and in rollback mode a
// writer waits for it. Rows are copied before they are looked at, and no migration is run.
//
// A database in rollback mode is left as it is to the byte, and so is its folder. For one in WAL mode SQLite itself keeps a
// -shm file beside it, in which readers too note where they read; where the -wal or -shm file is missing it makes an empty one,
// or fails where it may not write. It never touches the database or what stands in its -wal.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
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
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

const (
	// patience is how long a reader waits for a writer's lock, settling how long for a journal to go that looks left over.
	patience = 10 * time.Second
	settling = 250 * time.Millisecond
	// again is the time between two tries. SQLite's own waiting grows to tenths of a second and hears of no context.
	again = 5 * time.Millisecond
	// maxSize is the most that is read of one table, in bytes of text and blobs.
	maxSize = 64 << 20
	// maxRows is the most rows that are read of one table.
	maxRows = 1 << 18
	// maxValue is the greatest text or blob that is read, in bytes: no name, path or status is as long.
	maxValue = 1 << 20
)

// limits are SQLite's own. A row that holds more than maxValue in a column that was not asked for is read all the same, so LENGTH is
// far above that; the others bound what a hostile schema costs.
var limits = map[int]int{
	sqlite3.SQLITE_LIMIT_LENGTH:     96 << 20,
	sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1 << 20,
	sqlite3.SQLITE_LIMIT_COLUMN:     512,
	sqlite3.SQLITE_LIMIT_ATTACHED:   0,
}

// DB is another program's open database. It serves one goroutine at a time.
type DB struct {
	pool *sql.DB
	held *sql.Conn
	// conn is the driver's own connection, which held keeps from everybody else.
	conn driver.QueryerContext
	// path is the name that it was given, real the file that this leads to.
	path, real string
}

// Open opens the database at path, an absolute path. It wraps safeopen.ErrAbsent where it does not exist and
// fs.ErrPermission where it may not be read. Locks and damage show when something is read.
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
		"_dqs":       {"0"},
		"_defensive": {"1"},
		// The waiting is done in query, where ctx can end it. A schema that is not trusted may call no function with side effects.
		"_pragma": {"busy_timeout(0)", "query_only(1)", "trusted_schema(0)", "cell_size_check(1)"},
	}
	dsn := &url.URL{Scheme: "file", Path: real, RawQuery: q.Encode()}
	d := &DB{pool: Pool(dsn), path: path, real: real}
	if err := d.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w; nothing was read: see whether the file is still there", path, err), d.pool.Close())
	}
	return d, nil
}

// Read opens the database at path, reads columns of one table as Rows does, and closes it again.
func Read(ctx context.Context, path, table string, columns ...string) (rows []Row, err error) {
	db, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, db.Close()) }()
	return db.Rows(ctx, table, columns...)
}

func (d *DB) connect(ctx context.Context) (err error) {
	if d.held, err = d.pool.Conn(ctx); err != nil {
		return err
	}
	for id, most := range limits {
		if _, err := sqlite.Limit(d.held, id, most); err != nil {
			return err
		}
	}
	return d.held.Raw(func(conn any) error {
		d.conn = conn.(driver.QueryerContext)
		return nil
	})
}

// Close ends the use of the database.
func (d *DB) Close() error {
	if err := errors.Join(d.held.Close(), d.pool.Close()); err != nil {
		return fmt.Errorf("close %s: %w", d.path, err)
	}
	return nil
}

// Pool opens connections to a file by SQLite's address of it.
func Pool(address *url.URL) *sql.DB { return sql.OpenDB(connector{address.String()}) }

// connector opens connections of its own driver value, without the name that the driver registers for the whole program.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }

// Columns gives the names of a table's columns. ErrLayout says that there is no such table.
//
// A view, a virtual table and a column that is computed do not count: what reading them costs is up to who wrote the schema.
func (d *DB) Columns(ctx context.Context, table string) (map[string]bool, error) {
	if err := d.ordinary(ctx, table); err != nil {
		return nil, err
	}
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
	at, fields, great := make(map[string]int, len(columns)), make([]string, len(columns)), make([]string, len(columns))
	for i, name := range columns {
		if !have[name] {
			return nil, fmt.Errorf("read %s: %w: table %s has no column %s", d.path, ErrLayout, table, name)
		}
		// octet_length takes the length from the head of the row, and reads nothing of the value.
		great[i] = fmt.Sprintf("ifnull(octet_length(%s) > %d, 0)", quote(name), maxValue)
		at[name], fields[i] = i, fmt.Sprintf("iif(%s, NULL, %s)", great[i], quote(name))
	}
	all, err := d.query(ctx, "SELECT "+strings.Join(fields, ", ")+", "+strings.Join(great, " OR ")+" FROM "+quote(table))
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(all))
	for i, values := range all {
		if values[len(columns)] != int64(0) {
			return nil, explain(d.path, errTooMuch)
		}
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

// query runs one statement, and again while another program is about to let go: of a lock, or of a journal that looks left over. Such
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
	// ctx ends the preparing of a statement, in which SQLite reads the whole schema, only where it is not the first one.
	rows, err := d.conn.QueryContext(ctx, "SELECT 1; "+sql, nil)
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
		size += 16 * width
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

// want is what a database and the files beside it must be.
var want = safeopen.Want{Max: 8 << 30, Ruling: true}

// find gives the real path of the database at path: its journals lie beside that. It only asks the folder. To open the file
// besides SQLite would be a fault: when a process closes any descriptor of a file, the kernel drops all locks that the process
// has on it, and another reader in this process would go on without one.
//
// SQLite opens the file by its name once more, and the files beside it. So only this user and root may be able to change what
// the name leads to, nor to put anything into that folder.
func find(path string) (string, error) {
	real, err := safeopen.Path(path)
	if err == nil {
		err = safeopen.Closed(filepath.Dir(real))
	}
	if err == nil {
		err = safeopen.CheckRegular(real, want)
	}
	if err != nil {
		return "", refused(path, err)
	}
	for _, end := range []string{"-wal", "-shm", "-journal"} { // what SQLite takes for parts of a database
		if err := safeopen.CheckRegular(real+end, want); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", refused(path, err)
		}
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return "", refused(path, err)
	case info.Size() == 0:
		return "", fmt.Errorf("open %s: it is empty, so it is no database; start its program, or name the right file in config.yaml", path)
	}
	if err := unix.Access(real, unix.R_OK); errors.Is(err, fs.ErrPermission) {
		return "", fmt.Errorf("open %s: %w; let this user read the file", path, fs.ErrPermission)
	}
	return real, nil
}

// refused says why a database is not opened, and what to do next.
func refused(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing(path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("open %s: %w; let this user enter the folder and read the file", path, fs.ErrPermission)
	case errors.Is(err, unix.ELOOP):
		return fmt.Errorf("open %s: too many links lead there; name the database itself in config.yaml", path)
	case errors.Is(err, safeopen.ErrNotRegular), errors.Is(err, safeopen.ErrLink):
		return fmt.Errorf("open %s: it, or a journal beside it, is not a regular file: %w; nothing was read: name the database itself in config.yaml, and"+
			" take away what is not its program's", path, err)
	case errors.Is(err, safeopen.ErrTooLarge):
		return fmt.Errorf("open %s: %w; nothing was read: let its program drop what has long ended", path, err)
	case errors.Is(err, safeopen.ErrOwner), errors.Is(err, safeopen.ErrWritable):
		return fmt.Errorf("open %s: another user could have written it, and nothing was read: %w; let its folder and"+
			" each above it belong to this user or root, and let no other user write there", path, err)
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// missing says that there is no file at path: that is absence only when nothing of it was left behind.
func missing(path string) error {
	for name, what := range map[string]string{path: "is a link that leads nowhere", path + "-wal": "is there", path + "-journal": "is there"} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("open %s: the database is not there, but %s %s; see where the database went", path, name, what)
		}
	}
	return fmt.Errorf("open %s: %w; nothing has been written there yet, or the path in config.yaml is wrong", path, safeopen.ErrAbsent)
}

// Row is one row of a table. SQLite lets any column hold any type, so every value is asked for its own.
type Row struct {
	at     map[string]int
	values []driver.Value
}

func (r Row) value(column string) (driver.Value, error) {
	i, ok := r.at[column]
	if !ok {
		return nil, fmt.Errorf("%s was not asked for; this is a fault in winnow: please report it", column)
	}
	return r.values[i], nil
}

// Null reports whether a column positively holds nothing.
func (r Row) Null(column string) bool {
	v, err := r.value(column)
	return err == nil && v == nil
}

// Text gives the text in a column, "" for NULL.
func (r Row) Text(column string) (string, error) {
	v, err := r.value(column)
	if v == nil {
		return "", err
	}
	s, ok := v.(string)
	switch {
	case !ok:
		return "", fmt.Errorf("%s is not text", column)
	case strings.ContainsRune(s, 0):
		return "", fmt.Errorf("%s has a NUL in it", column)
	case !utf8.ValidString(s):
		return "", fmt.Errorf("%s is not UTF-8", column)
	}
	return s, nil
}

// Path gives the absolute path in a column, cleaned, "" for NULL. A relative one is an error.
func (r Row) Path(column string) (string, error) {
	s, err := r.Text(column)
	if err != nil || s == "" {
		return "", err
	}
	if !filepath.IsAbs(s) {
		return "", fmt.Errorf("%s is not absolute", column)
	}
	return filepath.Clean(s), nil
}

// Int gives the whole number in a column, nil for NULL.
func (r Row) Int(column string) (*int64, error) {
	v, err := r.value(column)
	if v == nil {
		return nil, err
	}
	n, ok := v.(int64)
	if !ok {
		return nil, fmt.Errorf("%s is not a whole number", column)
	}
	return &n, nil
}

// Millis gives the time in a column that holds milliseconds since 1970, nil for NULL. A number that is not one of any
// time from 2001 to 2286 is an error: 0, a negative one, one of seconds.
func (r Row) Millis(column string) (*time.Time, error) {
	n, err := r.Int(column)
	if n == nil {
		return nil, err
	}
	if *n < 1e12 || *n >= 1e13 {
		return nil, fmt.Errorf("%s is no time in milliseconds since 1970", column)
	}
	return new(time.UnixMilli(*n).UTC()), nil
}

// Span gives the times in two columns of milliseconds, of a beginning and an end that may be yet to come. An end is believed
// only after a beginning that is: whole is false where one of the two is not a time, where an end has no beginning or lies before
// it, and then there is no end.
func Span(row Row, begin, end string) (from, to *time.Time, whole bool) {
	from, err := row.Millis(begin)
	to, err2 := row.Millis(end)
	switch {
	case err != nil, err2 != nil:
		return from, nil, false
	case to != nil && (from == nil || to.Before(*from)):
		return from, nil, false
	}
	return from, to, true
}
