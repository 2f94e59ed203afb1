package ledger_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// open makes a ledger in a folder of its own.
func open(t testing.TB) *ledger.Ledger {
	t.Helper()
	l := must.Get(ledger.Open(filepath.Join(t.TempDir(), "state", "ledger.db")))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenMakesAPrivateLedger(t *testing.T) {
	t.Parallel()
	l := open(t)
	ok(t, l.SaveSightings(t.Context(), nil))
	for path, want := range map[string]os.FileMode{filepath.Dir(l.Path()): 0o700, l.Path(): 0o600, l.Path() + "-wal": 0o600} {
		info, err := os.Stat(path)
		ok(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o; want %o", filepath.Base(path), got, want)
		}
	}
	ok(t, l.Check(t.Context()))
}

func TestAPathThatLooksLikeAnAddress(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a?mode=ro&b#c%20d", "ledger.db")
	for range 2 {
		l, err := ledger.Open(path)
		ok(t, err)
		ok(t, l.SaveLook(t.Context(), ledger.Look{At: t0}))
		ok(t, l.Close())
	}
	_, err := os.Stat(path)
	ok(t, err)
}

// TestTheTablesStayAsTheyAre: with other statements a file is of another version, and versions that lie side by side
// share that of grants.
func TestTheTablesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	g, err := ledger.OpenGrants(lock.Acting{Home: filepath.Join(state, "none")}, state, nil)
	ok(t, err)
	ok(t, g.Close())
	for path, want := range map[string]string{open(t).Path(): "15 658dc3eb0a8efe2d", filepath.Join(state, "grants.db"): "1 ba9978976ab165a5"} {
		db, err := sql.Open("sqlite", path)
		ok(t, err)
		var version int
		var all string
		ok(t, db.QueryRow("SELECT user_version, (SELECT group_concat(sql, char(0) ORDER BY sql) FROM sqlite_schema) FROM pragma_user_version").Scan(&version, &all))
		ok(t, db.Close())
		sum := sha256.Sum256([]byte(all))
		if got := fmt.Sprintf("%d %x", version, sum[:8]); got != want {
			t.Errorf("version and digest of the tables are %s, and were %s", got, want)
		}
	}
}

func TestWhatIsNoLedgerIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	of := func(version int) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			ok(t, execute(path, fmt.Sprintf("CREATE TABLE other (x); PRAGMA user_version = %d", version)))
		}
	}
	write := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) { ok(t, os.WriteFile(path, []byte(text), 0o600)) }
	}
	cut := func(t *testing.T, path string) {
		l, err := ledger.Open(path)
		ok(t, err)
		ok(t, l.Close())
		data, err := os.ReadFile(path)
		ok(t, err)
		for i := 100; i < 4096; i++ { // the header says that it is a database, and the schema's page is rubbish
			data[i] = 0x5a
		}
		ok(t, os.WriteFile(path, data, 0o600))
	}
	for name, tc := range map[string]struct {
		make func(*testing.T, string)
		want error
		says string
	}{
		"of a newer version":  {of(99), ledger.ErrNewer, "use that version"},
		"of an older version": {of(14), ledger.ErrCorrupt, "only one of that version restores its acts"},
		"text":                {write(strings.Repeat("this is no database\n", 100)), ledger.ErrCorrupt, ""},
		"with a broken page":  {cut, ledger.ErrCorrupt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			tc.make(t, path)
			before, err := os.ReadFile(path)
			ok(t, err)
			for _, open := range []func(string) (*ledger.Ledger, error){ledger.Open, ledger.OpenReadOnly} {
				l, err := open(path)
				if err == nil {
					// A damaged page is found where it is read, at the latest.
					_, err = l.Sightings(t.Context())
					ok(t, l.Close())
				}
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v; want %v", err, tc.want)
				}
				if err != nil && !(strings.Contains(err.Error(), path) && strings.Contains(err.Error(), tc.says)) {
					t.Errorf("%v does not name the file, or not say %q", err, tc.says)
				}
			}
			after, err := os.ReadFile(path)
			ok(t, err)
			if string(before) != string(after) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if _, err := ledger.OpenReadOnly(path); !errors.Is(err, ledger.ErrNone) {
		t.Fatalf("got %v; want ErrNone", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("reading made a file")
	}
	w, err := ledger.Open(path)
	ok(t, err)
	defer w.Close()
	ok(t, w.Hold(t.Context(), snapshot.Hold{ID: "dir:/w", Owner: "me", Since: t0}))
	r, err := ledger.OpenReadOnly(path)
	ok(t, err)
	defer r.Close()
	holds, err := r.Holds(t.Context())
	ok(t, err)
	if len(holds) != 1 {
		t.Errorf("got %d holds; want 1", len(holds))
	}
	if err := r.Hold(t.Context(), snapshot.Hold{ID: "dir:/x", Since: t0}); err == nil {
		t.Error("a ledger opened for reading took a hold")
	}
}

func TestFolderThatMayNotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere; run as a plain user to see this")
	}
	dir := t.TempDir()
	ok(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { ok(t, os.Chmod(dir, 0o700)) })
	for _, path := range []string{filepath.Join(dir, "ledger.db"), filepath.Join(dir, "state", "ledger.db")} {
		if _, err := ledger.Open(path); err == nil || !strings.Contains(err.Error(), "--state") {
			t.Errorf("got %v; want an error that says what to do", err)
		}
	}
}

// openAtOnce has n open the ledger at the same time and write to it. It gives the ledger to read.
func openAtOnce(t *testing.T, path string, n int, write func(l *ledger.Ledger, i int) error) *ledger.Ledger {
	t.Helper()
	var all sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		all.Go(func() {
			l, err := ledger.Open(path)
			if err == nil {
				err = errors.Join(write(l, i), l.Close())
			}
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		ok(t, err)
	}
	r, err := ledger.OpenReadOnly(path)
	ok(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// Two processes that meet a new ledger at the same time both come through.
func TestTwoOpenANewLedgerAtOnce(t *testing.T) {
	t.Parallel()
	path, n := filepath.Join(t.TempDir(), "ledger.db"), 8
	r := openAtOnce(t, path, n, func(l *ledger.Ledger, i int) error {
		return l.Hold(t.Context(), snapshot.Hold{ID: "dir:/w", Owner: fmt.Sprint(i), Since: t0})
	})
	holds, err := r.Holds(t.Context())
	ok(t, err)
	if len(holds) != n {
		t.Errorf("got %d holds; want %d", len(holds), n)
	}
}

// A reader in another connection sees whole transactions while the writer writes.
func TestReaderBesideAWriter(t *testing.T) {
	t.Parallel()
	w := open(t)
	r, err := ledger.OpenReadOnly(w.Path())
	ok(t, err)
	defer r.Close()
	generation := func(n int) map[string]snapshot.Sighting {
		all := map[string]snapshot.Sighting{}
		for i := range 50 {
			all[fmt.Sprintf("session:tmux/x/$%d", i)] = snapshot.Sighting{Rule: "r", Identity: "i", FirstAt: t0, LastAt: t0, Count: n}
		}
		return all
	}
	ok(t, w.SaveSightings(t.Context(), generation(0)))
	done := make(chan error, 1)
	go func() {
		for n := 1; n <= 40; n++ {
			if err := w.SaveSightings(t.Context(), generation(n)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	last := 0
	for reading := true; reading; {
		select {
		case err := <-done:
			ok(t, err)
			reading = false
		default:
		}
		all, err := r.Sightings(t.Context())
		ok(t, err)
		if len(all) != 50 {
			t.Fatalf("saw %d sightings of 50: half a transaction", len(all))
		}
		n := all["session:tmux/x/$0"].Count
		for id, s := range all {
			if s.Count != n {
				t.Fatalf("%s is of generation %d, another of %d", id, s.Count, n)
			}
		}
		if n < last {
			t.Fatalf("generation %d after %d", n, last)
		}
		last = n
	}
	if last != 40 {
		t.Errorf("the reader ended at generation %d; want 40", last)
	}
}

func TestSightingsAreReplacedWhole(t *testing.T) {
	t.Parallel()
	l := open(t)
	first := map[string]snapshot.Sighting{
		"session:tmux/x/$1": {Rule: "reap.sessions.idle_shell", Identity: "k1", FirstAt: t0, LastAt: t0.Add(time.Second), Count: 2},
		"session:tmux/x/$2": {Rule: "reap.sessions.idle_shell", Identity: "k2", FirstAt: t0, LastAt: t0, Count: 1},
		"process:5@6": {Rule: "reap.processes.orphan", Identity: "k3", FirstAt: t0, LastAt: t0, Count: 1, IdleSince: &t0, Work: &snapshot.Work{
			CPU: new(0.0), Written: new(int64(1 << 60)), Below: new(0), Youngest: new(uint64(1 << 62)),
		}},
		"process:7@8": {Rule: "reap.processes.orphan", Identity: "k4", FirstAt: t0, LastAt: t0, Count: 1, IdleSince: &t0, Work: &snapshot.Work{}},
	}
	next := map[string]snapshot.Sighting{"session:tmux/x/$2": {Rule: "reap.sessions.finished", Identity: "k2", FirstAt: t0, LastAt: t0, Count: 1}}
	for _, want := range []map[string]snapshot.Sighting{first, next, {}} {
		ok(t, l.SaveSightings(t.Context(), want))
		got, err := l.Sightings(t.Context())
		ok(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("sightings (-want +got):\n%s", d)
		}
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	until := t0.Add(time.Hour)
	mine := snapshot.Hold{ID: "dir:/w", Owner: "me", Reason: "looking", Since: t0, Until: &until}
	theirs := snapshot.Hold{ID: "dir:/w", Owner: "them", Reason: "ours", Since: t0}
	ok(t, l.Hold(ctx, snapshot.Hold{ID: "dir:/w", Owner: "me", Reason: "old", Since: t0.Add(-time.Hour)}))
	ok(t, l.Hold(ctx, theirs))
	ok(t, l.Hold(ctx, mine))
	check := func(want ...snapshot.Hold) {
		t.Helper()
		got, err := l.Holds(ctx)
		ok(t, err)
		if d := cmp.Diff(append([]snapshot.Hold{}, want...), got); d != "" {
			t.Errorf("holds (-want +got):\n%s", d)
		}
	}
	check(mine, theirs)
	later := until.Add(time.Hour)
	there, err := l.PutOff(ctx, []snapshot.Hold{{ID: "dir:/w", Owner: "nobody"}, {ID: "dir:/w", Owner: "me"}, {ID: "dir:/v", Owner: "me"}}, later)
	if err != nil || !slices.Equal(there, []bool{false, true, false}) {
		t.Errorf("put off the holds of nobody, of me, and of me elsewhere: %v, %v", there, err)
	}
	put := mine
	put.Until = &later
	check(put, theirs)
	for _, longer := range []struct {
		until *time.Time
		want  *time.Time
	}{{&until, &later}, {&later, &later}, {nil, nil}, {&later, nil}} {
		h := mine
		h.Until = longer.until
		stands, err := l.HoldLonger(ctx, h)
		put.Until = longer.want
		if d := cmp.Diff(put, stands); d != "" || err != nil {
			t.Errorf("the hold that stands (-want +got): %v\n%s", err, d)
		}
		check(put, theirs)
	}
	n, err := l.Release(ctx, "dir:/w", "me")
	ok(t, err)
	check(theirs)
	if n != 1 {
		t.Errorf("released %d; want 1", n)
	}
	ok(t, l.Hold(ctx, mine))
	n, err = l.Release(ctx, "dir:/w", "")
	ok(t, err)
	if check(); n != 2 {
		t.Errorf("released %d; want 2", n)
	}
	if n, err := l.Release(ctx, "dir:/w", ""); err != nil || n != 0 {
		t.Errorf("released %d, %v; want 0, nil", n, err)
	}
}

func TestSweepsAndTheirDecisions(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	begun := ledger.Sweep{ID: "01A", Started: t0, Mode: "apply", Revision: "1", Digest: "sha256:x"}
	ok(t, l.BeginSweep(ctx, begun))
	ok(t, l.BeginSweep(ctx, ledger.Sweep{ID: "01B", Started: t0.Add(time.Minute), Mode: "dry-run"}))
	decisions := []decision.Decision{
		{ID: "dir:/w/b", Kind: "dir", Verdict: decision.Reap, InScope: true, Label: "/w/b", Owner: "/w",
			Findings: []decision.Reason{{Rule: "reap.dirs.landed", Message: "m", Evidence: map[string]any{"a": "b"}}}, Objections: []decision.Reason{}, FirstSighting: true},
		{ID: "dir:/w/a", Kind: "dir", Verdict: decision.Spare, InScope: true, Findings: nil, Objections: nil},
		{ID: "dir:/w/c", Kind: "dir", Verdict: decision.Spare},
	}
	ok(t, l.SaveDecisions(ctx, "01A", decisions))
	got, err := l.Decisions(ctx, "01A")
	ok(t, err)
	want := []decision.Decision{
		{ID: "dir:/w/a", Kind: "dir", Verdict: decision.Spare, InScope: true, Findings: []decision.Reason{}, Objections: []decision.Reason{}}, byRules(decisions[0])}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
	ok(t, l.FinishSweep(ctx, "01A", t0.Add(time.Second), map[string]int{"seen": 3}, 3))
	sweeps, err := l.Sweeps(ctx, t0)
	ok(t, err)
	finished := begun
	finished.Finished, finished.Counts, finished.Exit = new(t0.Add(time.Second)), []byte(`{"seen":3}`), new(3)
	if d := cmp.Diff([]ledger.Sweep{{ID: "01B", Started: t0.Add(time.Minute), Mode: "dry-run"}, finished}, sweeps); d != "" {
		t.Errorf("sweeps (-want +got):\n%s", d)
	}
	if later, err := l.Sweeps(ctx, t0.Add(time.Second)); err != nil || len(later) != 1 {
		t.Errorf("got %d sweeps, %v; want 1", len(later), err)
	}
	for _, err := range []error{l.FinishSweep(ctx, "none", t0, nil, 0), l.SaveDecisions(ctx, "none", decisions)} {
		if !errors.Is(err, ledger.ErrNone) {
			t.Errorf("got %v; want ErrNone", err)
		}
	}
	if err := l.BeginSweep(ctx, begun); err == nil {
		t.Error("a sweep began twice")
	}
}

// All sizes around the number of rows that go into one statement arrive whole.
func TestDecisionsOfEverySize(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	for _, n := range []int{0, 1, 63, 64, 65, 128, 200} {
		id := fmt.Sprint("sweep", n)
		ok(t, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0}))
		ok(t, l.SaveDecisions(ctx, id, some(n)))
		got, err := l.Decisions(ctx, id)
		ok(t, err)
		if d := cmp.Diff(allByRules(some(n)), got); d != "" {
			t.Errorf("%d decisions (-want +got):\n%s", n, d)
		}
	}
}

func TestPruneKeepsTheLatest(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	for i := range 10 {
		id := fmt.Sprint("s", i)
		ok(t, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0.Add(time.Duration(i) * time.Minute)}))
		ok(t, l.SaveDecisions(ctx, id, some(3)))
	}
	ok(t, l.Intend(ctx, decision.Intent{ID: "A1", Sweep: "s0", Candidate: some(3)[1].ID, At: t0}))
	for range 2 { // the second finds nothing more to do
		ok(t, l.Prune(ctx, ledger.Keep{Decisions: 2, Sweeps: 5}))
		var sweeps, kept []string
		all, err := l.Sweeps(ctx, time.Time{})
		ok(t, err)
		for _, s := range all {
			sweeps = append(sweeps, s.ID)
			ds, err := l.Decisions(ctx, s.ID)
			ok(t, err)
			for _, d := range ds {
				kept = append(kept, s.ID+" "+d.ID)
			}
		}
		if d := cmp.Diff([]string{"s9", "s8", "s7", "s6", "s5", "s0"}, sweeps); d != "" {
			t.Errorf("sweeps (-want +got):\n%s", d)
		}
		want := []string{"s9 dir:/w/000000", "s9 dir:/w/000001", "s9 dir:/w/000002", "s8 dir:/w/000000", "s8 dir:/w/000001", "s8 dir:/w/000002"}
		if d := cmp.Diff(want, kept); d != "" {
			t.Errorf("decisions (-want +got):\n%s", d)
		}
	}
}

// some makes n decisions of about 300 bytes of JSON each.
func some(n int) []decision.Decision {
	all := make([]decision.Decision, n)
	for i := range all {
		path := fmt.Sprintf("/w/%06d", i)
		all[i] = decision.Decision{
			ID: "dir:" + path, Kind: "dir", Verdict: decision.Spare, InScope: true, Label: path, Owner: "/w",
			Findings:   []decision.Reason{{Rule: "reap.dirs.landed", Message: "every commit is on refs/remotes/origin/main", Evidence: map[string]any{"upstream": "refs/remotes/origin/main"}}},
			Objections: []decision.Reason{{Rule: "protect.live", Message: "process 4711 (claude) works in it", Evidence: map[string]any{"name": "claude"}}},
		}
	}
	return all
}

func TestALedgerIsTightened(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	for range 2 {
		l := must.Get(ledger.Open(path))(t)
		for _, p := range []string{path, path + "-wal", path + "-shm"} {
			if st, err := os.Stat(p); err == nil && st.Mode().Perm() != 0o600 {
				t.Errorf("%s: want mode 0600, got %v", p, st.Mode())
			}
		}
		if err := errors.Join(l.Close(), os.Chmod(path, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
