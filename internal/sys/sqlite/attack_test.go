package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// made makes a database in a folder of its own, and gives its path.
func made(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db := must.Get(sql.Open("sqlite", path))(t)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.100s: %v", s, err)
		}
	}
	must.Do(t, db.Close())
	return path
}

// sessions is a table such as those that are read.
const sessions = "CREATE TABLE sessions (id TEXT PRIMARY KEY, status TEXT, worktreePath TEXT)"

// within reads the table sessions and reports what came of it, and whether it ended soon after the time that it had.
func within(t testing.TB, path string, patience time.Duration) (rows []sqlite.Row, err error, ended bool) {
	t.Helper()
	type answer struct {
		rows []sqlite.Row
		err  error
	}
	done := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	go func() {
		defer cancel()
		rows, err := sqlite.Read(ctx, path, "sessions", "id", "status", "worktreePath")
		done <- answer{rows, err}
	}()
	select {
	case a := <-done:
		return a.rows, a.err, true
	case <-time.After(patience + wait.Patience):
		return nil, nil, false
	}
}

func TestAttackATableThatIsNone(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	a := attack.New(t, "a store whose table is a view without an end, a virtual table, a computed column, or a row of the schema that says otherwise")
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'archived' AS status, '/w' AS worktreePath FROM n"
	silent := strings.Replace(endless, "FROM n", "FROM n WHERE i < 0", 2) // never gives a row
	byHand := func(sql string) string {
		return "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = '" + strings.ReplaceAll(sql, "'", "''") + "' WHERE name = 'sessions'"
	}
	for name, statements := range map[string][]string{
		"a view":                    {"CREATE VIEW sessions AS " + endless},
		"a view that gives nothing": {"CREATE VIEW sessions AS " + silent},
		"a view in other letters":   {"CREATE VIEW SESSIONS AS " + endless},
		"views in views":            doubled(24),
		"a virtual table":           {"CREATE VIRTUAL TABLE sessions USING fts5(id, status, worktreePath)"},
		"computed":                  {"CREATE TABLE sessions (id, status AS (hex(zeroblob(400000000))), worktreePath)", "INSERT INTO sessions (id) VALUES (1)"},
		"stored computed":           {"CREATE TABLE sessions (id, status AS (id) STORED, worktreePath)", "INSERT INTO sessions (id) VALUES (1)"},
		"a row that says table":     {sessions, byHand("CREATE VIEW sessions AS " + endless)},
		"a comment":                 {sessions, byHand("CREATE/**/VIEW sessions AS " + endless)},
		"if not exists":             {sessions, byHand("CREATE VIEW IF NOT EXISTS sessions AS " + endless)},
		"another database":          {sessions, byHand("CREATE VIEW main.sessions AS " + endless)},
		"another name": {"CREATE TABLE other (id)", "CREATE VIEW sessions2 AS " + endless,
			"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET name = 'x', tbl_name = 'x', sql = replace(sql, 'sessions2', '\"sessions\"') WHERE name = 'sessions2'"},
		"nonsense": {sessions, byHand("nonsense")},
	} {
		path := made(t, statements...)
		before := must.Get(os.ReadFile(path))(t)
		rows, err, ended := within(t, path, time.Second)
		after, _ := os.ReadFile(path)
		switch {
		case !ended:
			a.Lost("%s: the reading did not end", name)
		case err == nil || rows != nil:
			a.Lost("%s: %d rows were read", name, len(rows))
		case errors.Is(err, context.DeadlineExceeded):
			a.Lost("%s: it was read until the time had passed: %v", name, err)
		case string(before) != string(after):
			a.Lost("%s: the store was changed", name)
		default:
			a.Held()
		}
	}
}

// doubled makes views that take twice the time and memory of the one before only to be prepared.
func doubled(depth int) []string {
	out := []string{sessions + "", "ALTER TABLE sessions RENAME TO v0"}
	for i := range depth {
		out = append(out, fmt.Sprintf("CREATE VIEW v%d AS SELECT a.id, b.status, a.worktreePath FROM v%d a, v%d b", i+1, i, i))
	}
	return append(out, fmt.Sprintf("PRAGMA writable_schema = 1; UPDATE sqlite_schema SET name = 'sessions', tbl_name = 'sessions', sql = replace(sql, 'VIEW v%d ', 'VIEW sessions ') WHERE name = 'v%d'",
		depth, depth))
}

func TestAttackValuesWithoutABound(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	a := attack.New(t, "a store with a text of many MiB, a million rows, a schema of many MiB")
	many := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO sessions SELECT i, 'archived', '/w' FROM n"
	for name, path := range map[string]string{
		"a text":         made(t, sessions, "INSERT INTO sessions VALUES ('a', CAST(zeroblob(90000000) AS TEXT), '/w')"),
		"a blob":         made(t, sessions, "INSERT INTO sessions VALUES ('a', zeroblob(300000000), '/w')"),
		"many texts":     made(t, sessions, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO sessions SELECT i, 's', hex(zeroblob(500000)) FROM n"),
		"a million rows": made(t, "PRAGMA synchronous = OFF", sessions, fmt.Sprintf(many, 1_000_000)),
		"a great schema": made(t, sessions, "CREATE TABLE other (x DEFAULT '"+strings.Repeat("y", 3<<20)+"')"),
	} {
		var rows []sqlite.Row
		var err error
		var ended bool
		grown := attack.Grown(t, func() { rows, err, ended = within(t, path, wait.Patience) })
		switch {
		case !ended:
			a.Lost("%s: the reading did not end", name)
		case err == nil || rows != nil:
			a.Lost("%s: %d rows were read", name, len(rows))
		case grown > 200<<20:
			a.Lost("%s: the memory grew by %d MiB", name, grown>>20)
		case !strings.Contains(err.Error(), "nothing was read"):
			a.Lost("%s: %v", name, err)
		default:
			a.Held()
		}
		t.Logf("%s: the memory grew by %d MiB", name, grown>>20)
	}
}

func TestAttackAStoreOfAnotherUser(t *testing.T) {
	victim, attacker := attack.Users(t)
	whole := must.Get(os.ReadFile(made(t, sessions, "INSERT INTO sessions VALUES ('a', 'archived', '/w')")))(t)
	shared := filepath.Dir(victim.Home)
	folder := func(name string, mode os.FileMode) string {
		dir := filepath.Join(shared, name)
		must.Do(t, errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, mode)))
		return filepath.Join(dir, "db")
	}
	own := func(path string) string {
		must.Do(t, os.WriteFile(path, whole, 0o600))
		return path
	}
	a := attack.New(t, "another user's store, link, journal or folder, or a store that he can write or put a journal beside")
	paths := map[string]string{"his file": folder("file", 0o755), "his link": folder("link", 0o755)}
	attacker.Write(t, paths["his file"], string(whole), 0o644)
	attacker.Link(t, own(folder("target", 0o755)), paths["his link"])
	for _, end := range []string{"-wal", "-shm", "-journal"} {
		paths["his "+end] = own(folder("with"+end, 0o755))
		attacker.Write(t, paths["his "+end]+end, "", 0o644)
	}
	paths["a folder that he can write"] = own(folder("open", 0o777))
	paths["a folder with the sticky bit"] = own(folder("sticky", 0o777|os.ModeSticky))
	his := filepath.Join(shared, "his")
	attacker.Mkdir(t, his, 0o755)
	paths["his folder"] = own(filepath.Join(his, "db"))
	deep := filepath.Join(his, "in")
	must.Do(t, os.Mkdir(deep, 0o755))
	paths["below his folder"] = own(filepath.Join(deep, "db"))
	paths["a file that he can write"] = own(folder("writable", 0o755))
	must.Do(t, os.Chmod(paths["a file that he can write"], 0o666))
	for name, path := range paths {
		rows, err, ended := within(t, path, 5*time.Second)
		switch {
		case !ended:
			a.Lost("%s: the reading did not end", name)
		case err == nil || rows != nil:
			a.Lost("%s: %d rows were read", name, len(rows))
		case errors.Is(err, safeopen.ErrAbsent):
			a.Lost("%s is called absent: %v", name, err)
		case !strings.Contains(err.Error(), "nothing was read"):
			a.Lost("%s: %v", name, err)
		default:
			a.Held()
		}
	}
	// The victim's own, and root's, are read; so is one to which a link of his own leads.
	link := filepath.Join(shared, "mine")
	must.Do(t, os.Symlink(filepath.Join(shared, "target"), link))
	if rows, err := sqlite.Read(t.Context(), filepath.Join(link, "db"), "sessions", "id"); err != nil || len(rows) != 1 {
		t.Errorf("an honest store: %d rows, %v", len(rows), err)
	}
}

func TestAttackAFIFOBesideTheStore(t *testing.T) {
	a := attack.New(t, "a FIFO, a link or a folder in the place of a store or of its journal")
	whole := must.Get(os.ReadFile(made(t, sessions)))(t)
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		for name, make := range map[string]func(string) error{
			"a FIFO":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
			"a link":   func(p string) error { return os.Symlink("/dev/zero", p) },
			"a folder": func(p string) error { return os.Mkdir(p, 0o700) },
		} {
			path := filepath.Join(t.TempDir(), "db")
			if end != "" {
				must.Do(t, os.WriteFile(path, whole, 0o600))
			}
			must.Do(t, make(path+end))
			rows, err, ended := within(t, path, time.Second)
			if !ended || err == nil || rows != nil || !strings.Contains(err.Error(), "not a regular file") {
				a.Lost("%s%s: ended %v, %d rows, %v", name, end, ended, len(rows), err)
				continue
			}
			a.Held()
		}
	}
}

func TestAttackAStoreThatIsDamaged(t *testing.T) {
	a := attack.New(t, "bytes of a store are changed")
	whole, err := os.ReadFile(made(t, sessions, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) INSERT INTO sessions SELECT 'id' || i, 'archived', '/w/' || i FROM n"))
	must.Do(t, err)
	path := filepath.Join(t.TempDir(), "db")
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		data := append([]byte(nil), whole...)
		for range 1 + random.IntN(20) {
			data[random.IntN(len(data))] = byte(random.IntN(256))
		}
		must.Do(t, os.WriteFile(path, data, 0o600))
		if rows, _, ended := within(t, path, 5*time.Second); !ended || len(rows) > 2000 {
			a.Lost("%d: ended: %v, %d rows", i, ended, len(rows))
			continue
		}
		a.Held()
	}
}

// For every content of a database, reading it gives rows or says why not, and ends; and every value of a row is given or refused.
func FuzzStoreRow(f *testing.F) {
	whole, err := os.ReadFile(made(f, sessions, "INSERT INTO sessions VALUES ('a', 'archived', '/w/a'), ('b', NULL, x'00ff'), (3, 1.5, 1790000000000)"))
	must.Do(f, err)
	for _, at := range []uint16{16, 28, 100, 4096, 8180} {
		f.Add(at, binary.BigEndian.AppendUint32(nil, 0xfffefdfc))
	}
	f.Add(uint16(0), []byte{})
	f.Fuzz(func(t *testing.T, at uint16, change []byte) {
		data := append([]byte(nil), whole...)
		copy(data[int(at)%len(data):], change)
		path := filepath.Join(t.TempDir(), "db")
		must.Do(t, os.WriteFile(path, data, 0o600))
		rows, err, ended := within(t, path, 5*time.Second)
		if !ended {
			t.Fatal("the reading did not end")
		}
		if err != nil && rows != nil {
			t.Fatalf("%d rows and %v", len(rows), err)
		}
		for _, row := range rows {
			for _, column := range []string{"id", "status", "worktreePath"} {
				s, err := row.Text(column)
				if err == nil && strings.ContainsRune(s, 0) {
					t.Fatalf("%q has a NUL in it", s)
				}
				if p, err := row.Path(column); err == nil && p != "" && !filepath.IsAbs(p) {
					t.Fatalf("the path %q is not absolute", p)
				}
				if at, err := row.Millis(column); err == nil && at != nil && (at.Year() < 2001 || at.Year() > 2286) {
					t.Fatalf("the time %v", at)
				}
			}
			sqlite.Span(row, "id", "status")
		}
	})
}
