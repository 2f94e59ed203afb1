package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// fill is a table of 2,000 rows whose second column holds 1 everywhere, over some hundred pages.
var fill = []string{
	"CREATE TABLE t (id INTEGER PRIMARY KEY, state INTEGER, body TEXT)",
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t SELECT i, 1, printf('%0300d', i) FROM n",
}

// file is one file of a folder as it lies there.
type file struct {
	Bytes   string
	ModTime time.Time
}

func listing(t *testing.T, dir string) map[string]file {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	all := map[string]file{}
	for _, e := range entries {
		info := must.Get(e.Info())(t)
		f := file{ModTime: info.ModTime()}
		if info.Mode().IsRegular() {
			data := must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
			f.Bytes = string(data)
		}
		all[e.Name()] = f
	}
	return all
}

// states counts the rows of table t by their state.
func states(t *testing.T, rows []sqlite.Row) map[int64]int {
	t.Helper()
	count := map[int64]int{}
	for _, r := range rows {
		n := must.Get(r.Int("state"))(t)
		count[*n]++
	}
	return count
}

func TestRowsAreReadAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a db?mode=rwc&x=1#y %41.db")
	p := start(t, filepath.Join(dir, "made.db"))
	p.run(fill...)
	p.end()
	must.Do(t, os.Rename(filepath.Join(dir, "made.db"), path))
	must.Do(t, os.Symlink(filepath.Base(path), filepath.Join(dir, "link")))
	before := listing(t, dir)
	for _, name := range []string{path, filepath.Join(dir, "link")} {
		rows := must.Get(sqlite.Read(t.Context(), name, "t", "state", "id"))(t)
		must.Equal(t, map[int64]int{1: 2000}, states(t, rows), "%s", name)
	}
	db := must.Get(sqlite.Open(t.Context(), path))(t)
	columns := must.Get(db.Columns(t.Context(), "t"))(t)
	must.Equal(t, map[string]bool{"id": true, "state": true, "body": true}, columns, "columns")
	must.Do(t, db.Close())
	if d := cmp.Diff(before, listing(t, dir)); d != "" {
		t.Errorf("reading changed the folder (-before +after):\n%s", d)
	}
}

func TestALayoutThatIsNotKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	p := start(t, path)
	p.run(`CREATE TABLE t (id, "we""ird [x]" TEXT)`, `INSERT INTO t VALUES (1, 'b')`)
	p.end()
	for name, tc := range map[string]struct {
		table, column, want string
	}{
		"no table":               {"none", "id", "there is no table none"},
		"no column":              {"t", "gone", "table t has no column gone"},
		"not the hidden one":     {"t", "rowid", "table t has no column rowid"},
		"a name that is no name": {`t"; DROP TABLE t; --`, "id", "there is no table"},
	} {
		rows, err := sqlite.Read(t.Context(), path, tc.table, tc.column)
		if !errors.Is(err, sqlite.ErrLayout) || !strings.Contains(err.Error(), tc.want) || rows != nil {
			t.Errorf("%s gave %v, %v", name, rows, err)
		}
	}
	rows := must.Get(sqlite.Read(t.Context(), path, "t", `we"ird [x]`))(t)
	if s, err := rows[0].Text(`we"ird [x]`); s != "b" || err != nil {
		t.Errorf("a column with a strange name gave %q, %v", s, err)
	}
	if _, err := rows[0].Text("id"); err == nil || !strings.Contains(err.Error(), "not asked for") {
		t.Errorf("a column that was not read gave %v", err)
	}
}

func TestATableThatIsTooGreat(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	p := start(t, path)
	p.run("PRAGMA synchronous = OFF", "CREATE TABLE t (small, great)", "INSERT INTO t VALUES (1, zeroblob(65 << 20))")
	p.end()
	if rows, err := sqlite.Read(t.Context(), path, "t", "great"); err == nil || rows != nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("gave %d rows, %v", len(rows), err)
	}
	if rows, err := sqlite.Read(t.Context(), path, "t", "small"); err != nil || len(rows) != 1 {
		t.Errorf("what was not asked for was counted: %d rows, %v", len(rows), err)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		must.Do(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	write("empty", "")
	write("text", strings.Repeat("this is no database\n", 300))
	write("short", "SQLite format 3\x00")
	write("left-wal", "")
	write("gone-journal", "")
	must.Do(t, os.Symlink("nowhere", at("dangling")))
	must.Do(t, os.Symlink("loop", at("loop")))
	must.Do(t, syscall.Mkfifo(at("fifo"), 0o600))
	must.Do(t, os.Mkdir(at("folder"), 0o700))
	before := listing(t, dir)
	for name, want := range map[string]string{
		"empty": "it is empty", "text": "not a SQLite database", "short": "not a SQLite database", "left": "left-wal is there",
		"gone": "gone-journal is there", "dangling": "link that leads nowhere", "loop": "too many links", "fifo": "not a regular file",
		"folder": "not a regular file", "text/db": "not a directory",
	} {
		_, err := sqlite.Read(t.Context(), at(name), "t", "id")
		if err == nil || errors.Is(err, safeopen.ErrAbsent) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at(name)) {
			t.Errorf("%s gave %v; want an error with %q", name, err, want)
		}
	}
	for _, name := range []string{"none", "no/such/folder/db"} {
		if _, err := sqlite.Read(t.Context(), at(name), "t", "id"); !errors.Is(err, safeopen.ErrAbsent) {
			t.Errorf("%s gave %v; want ErrAbsent", name, err)
		}
	}
	if d := cmp.Diff(before, listing(t, dir)); d != "" {
		t.Errorf("reading changed the folder (-before +after):\n%s", d)
	}
}

// However much of a database is missing, it is never read as one with fewer rows.
func TestCutShortAtAnyLength(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	p := start(t, whole)
	p.run("PRAGMA page_size = 512", "CREATE TABLE t (id INTEGER PRIMARY KEY, state INTEGER)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO t SELECT i, 1 FROM n")
	p.end()
	data := must.Get(os.ReadFile(whole))(t)
	path := filepath.Join(dir, "cut")
	for n := 1; n < len(data); n += 61 {
		must.Do(t, os.WriteFile(path, data[:n], 0o600))
		if rows, err := sqlite.Read(t.Context(), path, "t", "state"); err == nil || rows != nil {
			t.Fatalf("cut at %d of %d bytes: %d rows, %v", n, len(data), len(rows), err)
		}
	}
}

func TestWithoutTheRight(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything; run as a plain user to see this")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "in", "db")
	must.Do(t, os.Mkdir(filepath.Dir(path), 0o700))
	p := start(t, path)
	p.run(fill...)
	p.end()
	must.Do(t, os.Chmod(path, 0))
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file that may not be read gave %v", err)
	}
	must.Do(t, os.Chmod(path, 0o600))
	must.Do(t, os.Chmod(filepath.Dir(path), 0))
	_, err := sqlite.Open(t.Context(), path)
	must.Do(t, os.Chmod(filepath.Dir(path), 0o700))
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a folder that may not be entered gave %v", err)
	}
}

func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	p := start(t, path)
	p.run(fill...)
	p.run("BEGIN EXCLUSIVE")
	if stage.Second() { // it waits for all of the reader's patience
		_, err := sqlite.Read(t.Context(), path, "t", "state")
		if err == nil || !strings.Contains(err.Error(), "holds it locked") || !strings.Contains(err.Error(), "nothing was read") {
			t.Errorf("a locked database gave %v", err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := sqlite.Read(short, path, "t", "state")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "holds it locked") {
		t.Errorf("a locked database gave %v when the time had passed", err)
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("it waited on for %v after its time", took)
	}
	go func() {
		time.Sleep(50 * time.Millisecond) // within the reader's wait, most of the time; earlier does no harm
		p.try("COMMIT")
	}()
	rows, err := sqlite.Read(t.Context(), path, "t", "state")
	if err != nil || len(rows) != 2000 {
		t.Errorf("a database whose lock was let go gave %d rows, %v", len(rows), err)
	}
}

func TestWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	p := start(t, path)
	p.run(fill...)
	p.end()
	ctx, cancel := context.WithCancel(t.Context())
	db := must.Get(sqlite.Open(ctx, path))(t)
	defer db.Close()
	cancel()
	if _, err := db.Rows(ctx, "t", "state"); !errors.Is(err, context.Canceled) {
		t.Errorf("rows gave %v", err)
	}
	if _, err := sqlite.Open(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("open gave %v", err)
	}
}

// A reader that still has the database open holds no lock of it.
func TestTheLockIsLetGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	p := start(t, path)
	p.run(fill...)
	db := must.Get(sqlite.Open(t.Context(), path))(t)
	defer db.Close()
	for range 3 {
		rows, err := db.Rows(t.Context(), "t", "state")
		if err != nil || len(rows) != 2000 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		p.run("PRAGMA busy_timeout = 0", "BEGIN EXCLUSIVE", "UPDATE t SET state = state", "COMMIT")
	}
}

// A program that crashed in the middle of a change leaves half of it in the file and the other half in its journal. Who cannot
// bring them together must not read either.
func TestHotJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	p := start(t, path)
	p.run(fill...)
	whole := listing(t, dir)["db"]
	p.run("PRAGMA cache_size = 5", "BEGIN EXCLUSIVE", "UPDATE t SET state = 2 WHERE id > 500")
	p.kill()
	before := listing(t, dir)
	if before["db"].Bytes == whole.Bytes || len(before["db-journal"].Bytes) < 512 {
		t.Fatal("the crash left nothing behind, so this test shows nothing")
	}
	rows, err := sqlite.Read(t.Context(), path, "t", "state")
	if !errors.Is(err, sqlite.ErrUnfinished) || rows != nil || !strings.Contains(err.Error(), "nothing was read") {
		t.Errorf("a hot journal gave %d rows, %v", len(rows), err)
	}
	if err := (sqlite.Program{Name: "Shepherd", Start: "Shepherd"}).Explain(err); !errors.Is(err, sqlite.ErrUnfinished) || !strings.Contains(err.Error(), "; start Shepherd once") {
		t.Errorf("a hot journal of Shepherd's gave %v", err)
	}
	if d := cmp.Diff(before, listing(t, dir)); d != "" {
		t.Errorf("reading changed the folder (-before +after):\n%.500s", d)
	}
	p = start(t, path)
	p.run("SELECT count(*) FROM t")
	p.end()
	rows = must.Get(sqlite.Read(t.Context(), path, "t", "state"))(t)
	must.Equal(t, map[int64]int{1: 2000}, states(t, rows), "after its program was started")
}

// A journal that was only just going is not a hot one, however long the reader waited for a lock before it saw it.
func TestAJournalThatGoes(t *testing.T) {
	t.Parallel()
	for _, locked := range []time.Duration{0, 300 * time.Millisecond} {
		t.Run(locked.String(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "db")
			p := start(t, path)
			p.run(fill...)
			const stays = 20 * time.Millisecond
			for range 5 { // on a busy machine it may go too early or too late to show anything
				p.run("BEGIN EXCLUSIVE")
				gone := make(chan error, 1)
				began := time.Now()
				go func() {
					time.Sleep(locked)
					err := os.WriteFile(path+"-journal", []byte(strings.Repeat("j", 1024)), 0o600)
					p.try("COMMIT")
					time.Sleep(stays)
					gone <- errors.Join(err, os.Remove(path+"-journal"))
				}()
				rows, err := sqlite.Read(t.Context(), path, "t", "state")
				took := time.Since(began)
				must.Do(t, <-gone)
				if err == nil && len(rows) == 2000 && took >= locked+stays/2 {
					return
				}
			}
			t.Error("no reader waited for the journal to go")
		})
	}
}

// Several readers in this process and a writer in another: each reader sees whole changes, and neither waits for long.
func TestReadingWhileAProgramWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	p := start(t, path)
	p.run("CREATE TABLE t (id INTEGER PRIMARY KEY, state INTEGER, body TEXT)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO t SELECT i, 1, printf('%02000d', i) FROM n",
		"PRAGMA busy_timeout = 5000", "PRAGMA cache_size = 20")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				rows, err := sqlite.Read(t.Context(), path, "t", "state")
				if err != nil {
					t.Error(err)
					return
				}
				// Every change adds ten rows and sets all states to its number.
				if count := states(t, rows); len(count) != 1 || len(rows)%10 != 0 {
					t.Errorf("half of a change was read: %v", count)
					return
				}
			}
		})
	}
	for i := range 40 {
		p.run("BEGIN IMMEDIATE",
			fmt.Sprintf("INSERT INTO t (state, body) SELECT %d, printf('%%02000d', id) FROM t LIMIT 10", i),
			fmt.Sprintf("UPDATE t SET state = %d", i),
			"COMMIT")
		if i%7 == 0 {
			p.run("BEGIN IMMEDIATE", "UPDATE t SET state = -1 WHERE id < 5", "ROLLBACK")
		}
	}
	close(stop)
	readers.Wait()
}

func TestRowsThatAreOnlyInTheLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	p := start(t, path)
	p.run("PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0")
	p.run(fill...)
	main := listing(t, dir)["db"]
	if strings.Contains(main.Bytes, "000001999") {
		t.Fatal("the rows are in the database itself, so this test shows nothing")
	}
	look := func(when string, want map[int64]int) {
		t.Helper()
		rows := must.Get(sqlite.Read(t.Context(), path, "t", "state"))(t)
		must.Equal(t, want, states(t, rows), "%s", when)
	}
	log := func() string { return listing(t, dir)["db-wal"].Bytes }
	look("while the program runs", map[int64]int{1: 2000})
	p.run("BEGIN IMMEDIATE", "UPDATE t SET state = 2 WHERE id <= 500")
	look("in the middle of a change", map[int64]int{1: 2000})
	p.run("COMMIT")
	look("after it", map[int64]int{1: 1500, 2: 500})
	before := log()
	p.run("BEGIN IMMEDIATE", "UPDATE t SET state = 3")
	p.kill()
	look("after a crash", map[int64]int{1: 1500, 2: 500})
	must.Do(t, os.Remove(path+"-shm"))
	look("after a crash, without the index", map[int64]int{1: 1500, 2: 500})
	if after := log(); !strings.HasPrefix(after, before) {
		t.Error("reading changed the log")
	}
	if d := cmp.Diff(main, listing(t, dir)["db"]); d != "" {
		t.Errorf("reading changed the database (-before +after):\n%.500s", d)
	}

	p = start(t, path)
	p.run("SELECT count(*) FROM t")
	p.end() // which brings the log home and removes it
	closed := listing(t, dir)
	if len(closed) != 1 {
		t.Fatalf("the program left %d files", len(closed))
	}
	look("after the program ended", map[int64]int{1: 1500, 2: 500})
	after := listing(t, dir)
	if after["db"] != closed["db"] || after["db-wal"].Bytes != "" {
		t.Error("reading a database without its log changed it, or wrote a log")
	}
	p = start(t, path)
	p.run("UPDATE t SET state = 4")
	look("when the program runs again", map[int64]int{4: 2000})
}

func TestALogThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere; run as a plain user to see this")
	}
	dir := filepath.Join(t.TempDir(), "in")
	must.Do(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "db")
	p := start(t, path)
	p.run("PRAGMA journal_mode = WAL")
	p.run(fill...)
	p.kill()
	must.Do(t, os.Remove(path+"-shm"))
	must.Do(t, os.Chmod(dir, 0o500))
	rows, err := sqlite.Read(t.Context(), path, "t", "state")
	must.Do(t, os.Chmod(dir, 0o700))
	if err == nil || rows != nil || !strings.Contains(err.Error(), "nothing was read: let this user") {
		t.Errorf("a log without an index in a folder that may not be written gave %d rows, %v", len(rows), err)
	}
}
