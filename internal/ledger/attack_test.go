package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// filled makes a ledger with something in every table that matters.
func filled(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := must.Get(ledger.Open(path))(t)
	ctx := t.Context()
	for i := range 3 {
		id := fmt.Sprint(i)
		must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0}))
		must.Do(t, l.SaveDecisions(ctx, id, some(60)))
		must.Do(t, l.Intend(ctx, intent("01A"+id, t0)))
		must.Do(t, l.Hold(ctx, snapshot.Hold{ID: "dir:/w/" + id, Owner: "me", Reason: "mine", Since: t0}))
	}
	sightings := map[string]snapshot.Sighting{}
	for i := range 60 {
		sightings[fmt.Sprintf("dir:/w/%d", i)] = snapshot.Sighting{Rule: "reap.dir.done", Identity: "x", FirstAt: t0, LastAt: t0, Count: 1}
	}
	must.Do(t, l.SaveSightings(ctx, sightings))
	must.Do(t, l.Close())
	return path
}

// used opens a ledger and does with it what a sweep does. It always ends soon, and never panics.
func used(path string) (err error, ended bool) {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("%w: %v", errPanicked, p)
			}
		}()
		done <- use(path)
	}()
	select {
	case err := <-done:
		return err, true
	case <-time.After(2 * time.Minute):
		return nil, false
	}
}

var errPanicked = errors.New("panicked")

func use(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	if l, err := ledger.OpenReadOnly(path); err == nil {
		_, e1 := l.Holds(ctx)
		errs = append(errs, e1, l.Close())
	} else {
		errs = append(errs, err)
	}
	l, err := ledger.Open(path)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	_, e1 := l.Holds(ctx)
	_, e2 := l.Sightings(ctx)
	_, e3 := l.Look(ctx)
	_, e4 := l.Owners(ctx)
	_, e5 := l.Unsettled(ctx)
	_, e6 := l.Sweeps(ctx, time.Time{})
	_, e7 := l.Decisions(ctx, "1")
	e8 := l.BeginSweep(ctx, ledger.Sweep{ID: "new", Started: t0})
	e9 := l.SaveDecisions(ctx, "new", some(2))
	_, e11 := l.Acts(ctx, time.Time{})
	_, e12 := l.Verify(ctx, "")
	_, e13 := l.Recordings(ctx)
	_, e14 := l.Events(ctx, "file", 0, 10)
	e10 := l.Prune(ctx, ledger.Keep{Decisions: 1, Sweeps: 2})
	return errors.Join(append(errs, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, l.Close())...)
}

func TestAttackALedgerThatIsNone(t *testing.T) {
	a := attack.New(t, "a FIFO, a link, a device, a folder, a file that others can write, a database of another program in the place of the ledger")
	target := filled(t)
	whole := must.Get(os.ReadFile(target))(t)
	for name, make := range map[string]func(path string) error{
		"fifo":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"zero":   func(p string) error { return os.Symlink("/dev/zero", p) },
		"loop":   func(p string) error { return os.Symlink(p, p) },
		"lost":   func(p string) error { return os.Symlink("nowhere", p) },
		"text":   func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("hello\n", 999)), 0o600) },
		"open": func(p string) error {
			return errors.Join(os.WriteFile(p, whole, 0o600), os.Chmod(p, 0o666))
		},
		"fifo beside": func(p string) error {
			return errors.Join(os.WriteFile(p, whole, 0o600), syscall.Mkfifo(p+"-wal", 0o600))
		},
		"link beside": func(p string) error {
			return errors.Join(os.WriteFile(p, whole, 0o600), os.Symlink(target, p+"-shm"))
		},
		"journal beside": func(p string) error {
			return errors.Join(os.WriteFile(p, whole, 0o600), syscall.Mkfifo(p+"-journal", 0o600))
		},
		"another program's": func(p string) error { return execute(p, "CREATE TABLE mine (x)") },
	} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		must.Do(t, make(path))
		before, _ := os.ReadFile(unlessFIFO(path))
		err, ended := used(path)
		after, _ := os.ReadFile(unlessFIFO(path))
		switch {
		case !ended:
			a.Lost("%s: it did not end", name)
		case !errors.Is(err, ledger.ErrCorrupt):
			a.Lost("%s: %v", name, err)
		case !strings.Contains(err.Error(), "move it aside"):
			a.Lost("%s does not say what to do next: %v", name, err)
		case string(before) != string(after):
			a.Lost("%s: the file was changed", name)
		default:
			a.Held()
		}
	}
}

func unlessFIFO(path string) string {
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return path
}

func execute(path, text string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(text)
	return errors.Join(err, db.Close())
}

func TestAttackALedgerOfAnotherShape(t *testing.T) {
	attack.WithoutRaces(t)
	a := attack.New(t, "a ledger with a trigger, a view, another table, a missing column or an odd version")
	for _, text := range []string{
		"CREATE TRIGGER t AFTER INSERT ON sweeps BEGIN DELETE FROM holds; END",
		"CREATE TRIGGER holds_gone BEFORE INSERT ON standing BEGIN SELECT RAISE(IGNORE); END",
		"CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
		"DROP TABLE holds; CREATE VIEW holds AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i AS id, '' AS owner, '' AS reason, 0 AS since, NULL AS until FROM n",
		"DROP TABLE holds; CREATE TABLE holds (id, owner, reason, since, until)",
		"DROP TABLE holds",
		"ALTER TABLE holds DROP COLUMN until",
		"ALTER TABLE holds ADD COLUMN more TEXT",
		"ALTER TABLE acts RENAME TO done",
		"DROP INDEX acts_unsettled",
		"CREATE TABLE more (x)",
		"CREATE VIRTUAL TABLE more USING fts5(x)",
		"CREATE UNIQUE INDEX one ON sweeps(id, mode)",
		"PRAGMA user_version = -1",
		"PRAGMA user_version = -2147483648",
		"PRAGMA user_version = 2147483647",
		"PRAGMA user_version = 0",
		"PRAGMA user_version = 1",
		"PRAGMA user_version = 99",
		"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE VIEW holds AS SELECT 1' WHERE name = 'holds'",
		"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'nonsense' WHERE name = 'holds'",
		"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'holds'",
	} {
		path := filled(t)
		must.Do(t, execute(path, text))
		before := must.Get(os.ReadFile(path))(t)
		err, ended := used(path)
		after, _ := os.ReadFile(path)
		switch {
		case !ended:
			a.Lost("%s: it did not end", text)
		case !errors.Is(err, ledger.ErrCorrupt) && !errors.Is(err, ledger.ErrNewer):
			a.Lost("%s: %v", text, err)
		case errors.Is(err, errPanicked):
			a.Lost("%s: %v", text, err)
		case string(before) != string(after):
			a.Lost("%s: the file was changed", text)
		default:
			a.Held()
		}
	}
}

func TestAttackALedgerOfAnotherUser(t *testing.T) {
	victim, attacker := attack.Users(t)
	whole := must.Get(os.ReadFile(filled(t)))(t)
	a := attack.New(t, "another user's file, link, journal or folder in the place of the ledger's")
	shared := filepath.Dir(victim.Home)
	own := func(name string) string {
		dir := filepath.Join(shared, name)
		must.Do(t, os.Mkdir(dir, 0o700))
		return filepath.Join(dir, "ledger.db")
	}
	file, link, wal, shm := own("file"), own("link"), own("wal"), own("shm")
	attacker.Write(t, file, string(whole), 0o644)
	attacker.Link(t, filled(t), link)
	for path, end := range map[string]string{wal: "-wal", shm: "-shm"} {
		must.Do(t, os.WriteFile(path, whole, 0o600))
		attacker.Write(t, path+end, "", 0o644)
	}
	theirs := filepath.Join(shared, "theirs")
	attacker.Mkdir(t, theirs, 0o755)
	must.Do(t, os.WriteFile(filepath.Join(theirs, "ledger.db"), whole, 0o600))
	open := filepath.Join(shared, "open")
	must.Do(t, errors.Join(os.Mkdir(open, 0o777), os.Chmod(open, 0o777), os.WriteFile(filepath.Join(open, "ledger.db"), whole, 0o600)))
	for _, path := range []string{file, link, wal, shm, filepath.Join(theirs, "ledger.db"), filepath.Join(open, "ledger.db")} {
		if err, ended := used(path); !ended || !errors.Is(err, ledger.ErrCorrupt) {
			a.Lost("%s: %v", path, err)
			continue
		}
		a.Held()
	}
}

// A ledger that is honest works: a link of this user's own to the state folder, and one that was ANALYZEd by hand.
func TestAnHonestLedgerOpens(t *testing.T) {
	t.Parallel()
	path := filled(t)
	must.Do(t, execute(path, "ANALYZE"))
	link := filepath.Join(t.TempDir(), "state")
	must.Do(t, os.Symlink(filepath.Dir(path), link))
	for _, p := range []string{path, filepath.Join(link, "ledger.db")} {
		if err, ended := used(p); !ended || err != nil && !strings.Contains(err.Error(), "UNIQUE") {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestAttackALedgerThatIsDamaged(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	a := attack.New(t, "bytes of the ledger are changed, or its end is cut off")
	whole := must.Get(os.ReadFile(filled(t)))(t)
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 120 {
		data := append([]byte(nil), whole...)
		for range 1 + random.IntN(40) {
			data[random.IntN(len(data))] = byte(random.IntN(256))
		}
		if i%4 == 0 {
			data = data[:random.IntN(len(data))]
		}
		path := filepath.Join(dir, fmt.Sprint(i), "ledger.db")
		must.Do(t, errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)))
		switch err, ended := used(path); {
		case !ended:
			a.Lost("%d: it did not end", i)
		case errors.Is(err, errPanicked):
			a.Lost("%d: %v", i, err)
		default:
			a.Held()
		}
		must.Do(t, os.RemoveAll(filepath.Dir(path)))
	}
}

// For every content of a ledger's file, opening and using it is done or says why not, and ends.
func FuzzLedgerFile(f *testing.F) {
	whole := must.Get(os.ReadFile(filled(f)))(f)
	for _, at := range []uint32{18, 60, 100, 4096, 9000} {
		f.Add(at, []byte{0xff, 0, 7}, uint32(0))
	}
	f.Add(uint32(0), []byte{}, uint32(5000))
	f.Fuzz(func(t *testing.T, at uint32, change []byte, cut uint32) {
		data := append([]byte(nil), whole...)
		copy(data[int(at)%len(data):], change)
		data = data[:len(data)-int(cut)%len(data)]
		path := filepath.Join(t.TempDir(), "ledger.db")
		must.Do(t, os.WriteFile(path, data, 0o600))
		if err, ended := used(path); !ended || errors.Is(err, errPanicked) {
			t.Fatalf("ended: %v; %v", ended, err)
		}
	})
}
