package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// maxSize is the greatest ledger that is opened, in bytes. That of a year of sweeps takes up less than a hundredth of
// it (BenchmarkYear).
const maxSize = 8 << 30

// beside are the ends of the names of the files that SQLite takes for parts of a database.
var beside = []string{"", "-wal", "-shm", "-journal"}

// trusted makes sure that the ledger and the files beside it are regular files that only this user and root can write,
// and gives the ledger's real path. It only looks at them: to open one besides SQLite would drop the locks that this
// process has on it.
func trusted(path string) (string, error) {
	real, err := safeopen.Path(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("it is a link that leads nowhere: %w", err)
	}
	if err != nil {
		return "", unfit(path, err)
	}
	for _, end := range beside {
		err := safeopen.CheckRegular(real+end, safeopen.Want{Max: maxSize, Ruling: true})
		if err != nil && (end == "" || !errors.Is(err, fs.ErrNotExist)) {
			return "", unfit(path, err)
		}
	}
	return real, nil
}

// unfit says why a file is not taken for the ledger. It is an ErrCorrupt: another user, program or version made it.
func unfit(path string, err error) error {
	return fmt.Errorf("open ledger %s: %w: %w; nothing was read or written: move it aside, and a new one is made, or name another folder with --state",
		path, ErrCorrupt, err)
}

// patience is how long the look at a ledger may take before it is opened. It reads the schema, which takes a
// millisecond.
const patience = busyTimeout + 5*time.Second

// inspect refuses, before anything of it is changed, a file that is not a ledger, one of another version, and one that
// holds anything but the tables: a trigger would do more than what is written says, and a view would give other rows.
func inspect(path string, tables schema) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l := connect(path, tables, "ro", "query_only(1)")
	v, have, err := l.statements(ctx)
	if err = errors.Join(l.explain("open", err), l.Close()); err != nil {
		return err
	}
	var want []string
	switch {
	case v > tables.version:
		return fmt.Errorf("open ledger %s: %w of winnow (%d, this one knows %d); nothing was touched: use that version, or another --state",
			path, ErrNewer, v, tables.version)
	case v == tables.version:
		want, err = expected(ctx, tables)
	case v != 0:
		err = unfit(path, fmt.Errorf("its version is %d, and this winnow reads %d; only one of that version restores its acts",
			v, tables.version))
	}
	if err != nil {
		return err
	}
	return sameShape(path, v, have, want)
}

// sameShape compares what a ledger of version v holds with what it is to hold.
func sameShape(path string, v int, have, want []string) error {
	for _, s := range have {
		if !slices.Contains(want, s) {
			return unfit(path, fmt.Errorf("version %d has no %s", v, begin(s)))
		}
	}
	if len(have) > len(want) {
		return unfit(path, errors.New("its schema defines something twice"))
	}
	for _, s := range want {
		if !slices.Contains(have, s) {
			return unfit(path, fmt.Errorf("version %d has %s, and this file has not, or another one", v, begin(s)))
		}
	}
	return nil
}

// begin is enough of a statement to know it by: CREATE TABLE sweeps.
func begin(statement string) string {
	words := strings.FieldsFunc(statement, func(r rune) bool { return r == ' ' || r == '(' || r == '\n' || r == '\t' })
	return fmt.Sprintf("%.80q", strings.Join(words[:min(len(words), 3)], " "))
}

// expected are the statements that SQLite keeps of a new file, as it makes one in memory.
func expected(ctx context.Context, tables schema) ([]string, error) {
	l := connect("/ledger", tables, "memory") // no file has this name: the mode keeps it in memory
	var all []string
	err := l.makeTables(ctx)
	if err == nil {
		_, all, err = l.statements(ctx)
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, fmt.Errorf("make a ledger of version %d to compare with: %w", tables.version, err)
	}
	return all, nil
}

// maxObjects is more than any version has.
const maxObjects = 1000

// statements gives the version and the statements of everything in the file, of one moment: another process may just
// be making it. What SQLite makes on its own account is left out: indexes that a table implies, which have no
// statement, and the statistics of ANALYZE.
func (l *Ledger) statements(ctx context.Context) (v int, all []string, err error) {
	err = eachRow(ctx, l.db, func(row *sql.Rows) error {
		var name, statement sql.NullString
		if err := row.Scan(&v, &name, &statement); err != nil {
			return err
		}
		if len(all) > maxObjects {
			return fmt.Errorf("%w: it has more than %d tables", ErrCorrupt, maxObjects)
		}
		implied := !statement.Valid && (!name.Valid || strings.HasPrefix(name.String, "sqlite_autoindex_"))
		if !implied && !slices.Contains(statistics, statement.String) {
			all = append(all, statement.String)
		}
		return nil
	}, "SELECT v.user_version, s.name, s.sql FROM pragma_user_version AS v LEFT JOIN sqlite_schema AS s")
	return v, all, err
}

// statistics are the tables that ANALYZE makes.
var statistics = []string{"CREATE TABLE sqlite_stat1(tbl,idx,stat)", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"}
