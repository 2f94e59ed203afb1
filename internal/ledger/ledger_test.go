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

func TestOpenMakesAPrivateLedger(t *testing.T) {
	t.Parallel()
	l := open(t)
	must.Do(t, l.SaveSightings(t.Context(), nil))
	for path, want := range map[string]os.FileMode{filepath.Dir(l.Path()): 0o700, l.Path(): 0o600, l.Path() + "-wal": 0o600} {
		info := must.Get(os.Stat(path))(t)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o; want %o", filepath.Base(path), got, want)
		}
	}
	must.Do(t, l.Check(t.Context()))
}

func TestAPathThatLooksLikeAnAddress(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a?mode=ro&b#c%20d", "ledger.db")
	for range 2 {
		l := must.Get(ledger.Open(path))(t)
		must.Do(t, l.SaveLook(t.Context(), ledger.Look{At: t0}))
		must.Do(t, l.Close())
	}
	must.Get(os.Stat(path))(t)
}

// TestTheTablesStayAsTheyAre: with other statements a file is of another version, and versions that lie side by side
// share that of grants.
func TestTheTablesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	g, err := ledger.OpenGrants(lock.Acting{Home: filepath.Join(state, "none")}, state, nil)
	must.Do(t, err)
	must.Do(t, g.Close())
	for path, want := range map[string]string{open(t).Path(): "17 afa8337401f4b8bc", filepath.Join(state, "grants.db"): "1 ba9978976ab165a5"} {
		db := must.Get(sql.Open("sqlite", path))(t)
		var version int
		var all string
		must.Do(t, db.QueryRow("SELECT user_version, (SELECT group_concat(sql, char(0) ORDER BY sql) FROM sqlite_schema) FROM pragma_user_version").Scan(&version, &all))
		must.Do(t, db.Close())
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
			must.Do(t, execute(path, fmt.Sprintf("CREATE TABLE other (x); PRAGMA user_version = %d", version)))
		}
	}
	write := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) { must.Do(t, os.WriteFile(path, []byte(text), 0o600)) }
	}
	cut := func(t *testing.T, path string) {
		l := must.Get(ledger.Open(path))(t)
		must.Do(t, l.Close())
		data := must.Get(os.ReadFile(path))(t)
		for i := 100; i < 4096; i++ { // the header says that it is a database, and the schema's page is rubbish
			data[i] = 0x5a
		}
		must.Do(t, os.WriteFile(path, data, 0o600))
	}
	for name, tc := range map[string]struct {
		make func(*testing.T, string)
		want error
		says string
	}{
		"of a newer version":  {of(99), ledger.ErrNewer, "use that version"},
		"of an older version": {of(15), ledger.ErrCorrupt, "only one of that version restores its acts"},
		"text":                {write(strings.Repeat("this is no database\n", 100)), ledger.ErrCorrupt, ""},
		"with a broken page":  {cut, ledger.ErrCorrupt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			tc.make(t, path)
			before := must.Get(os.ReadFile(path))(t)
			for _, open := range []func(string) (*ledger.Ledger, error){ledger.Open, ledger.OpenReadOnly} {
				l, err := open(path)
				if err == nil {
					// A damaged page is found where it is read, at the latest.
					_, err = l.Sightings(t.Context())
					must.Do(t, l.Close())
				}
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v; want %v", err, tc.want)
				}
				if err != nil && !(strings.Contains(err.Error(), path) && strings.Contains(err.Error(), tc.says)) {
					t.Errorf("%v does not name the file, or not say %q", err, tc.says)
				}
			}
			after := must.Get(os.ReadFile(path))(t)
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
	w := must.Get(ledger.Open(path))(t)
	defer w.Close()
	must.Do(t, w.Hold(t.Context(), snapshot.Hold{ID: "dir:/w", Owner: "me", Since: t0}))
	r := must.Get(ledger.OpenReadOnly(path))(t)
	defer r.Close()
	holds := must.Get(r.Holds(t.Context()))(t)
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
	must.Do(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { must.Do(t, os.Chmod(dir, 0o700)) })
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
		must.Do(t, err)
	}
	r := must.Get(ledger.OpenReadOnly(path))(t)
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
	holds := must.Get(r.Holds(t.Context()))(t)
	if len(holds) != n {
		t.Errorf("got %d holds; want %d", len(holds), n)
	}
}

// A reader in another connection sees whole transactions while the writer writes.
func TestReaderBesideAWriter(t *testing.T) {
	t.Parallel()
	w := open(t)
	r := must.Get(ledger.OpenReadOnly(w.Path()))(t)
	defer r.Close()
	generation := func(n int) map[string]snapshot.Sighting {
		all := map[string]snapshot.Sighting{}
		for i := range 50 {
			all[fmt.Sprintf("session:tmux/x/$%d", i)] = snapshot.Sighting{Rule: "r", Identity: "i", FirstAt: t0, LastAt: t0, Count: n}
		}
		return all
	}
	must.Do(t, w.SaveSightings(t.Context(), generation(0)))
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
			must.Do(t, err)
			reading = false
		default:
		}
		all := must.Get(r.Sightings(t.Context()))(t)
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
		must.Do(t, l.SaveSightings(t.Context(), want))
		got := must.Get(l.Sightings(t.Context()))(t)
		must.Equal(t, want, got, "sightings")
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	until := t0.Add(time.Hour)
	mine := snapshot.Hold{ID: "dir:/w", Owner: "me", Reason: "looking", Since: t0, Until: &until}
	theirs := snapshot.Hold{ID: "dir:/w", Owner: "them", Reason: "ours", Since: t0}
	must.Do(t, l.Hold(ctx, snapshot.Hold{ID: "dir:/w", Owner: "me", Reason: "old", Since: t0.Add(-time.Hour)}))
	must.Do(t, l.Hold(ctx, theirs))
	must.Do(t, l.Hold(ctx, mine))
	check := func(want ...snapshot.Hold) {
		t.Helper()
		got := must.Get(l.Holds(ctx))(t)
		must.Equal(t, append([]snapshot.Hold{}, want...), got, "holds")
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
	n := must.Get(l.Release(ctx, "dir:/w", "me"))(t)
	check(theirs)
	if n != 1 {
		t.Errorf("released %d; want 1", n)
	}
	must.Do(t, l.Hold(ctx, mine))
	n = must.Get(l.Release(ctx, "dir:/w", ""))(t)
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
	must.Do(t, l.BeginSweep(ctx, begun))
	must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: "01B", Started: t0.Add(time.Minute), Mode: "dry-run"}))
	decisions := []decision.Decision{
		{ID: "dir:/w/b", Kind: "dir", Verdict: decision.Reap, InScope: true, Label: "/w/b", Owner: "/w",
			Findings: []decision.Reason{{Rule: "reap.dirs.landed", Message: "m", Evidence: map[string]any{"a": "b"}}}, Objections: []decision.Reason{}, FirstSighting: true},
		{ID: "dir:/w/a", Kind: "dir", Verdict: decision.Spare, InScope: true, Findings: nil, Objections: nil},
		{ID: "dir:/w/c", Kind: "dir", Verdict: decision.Spare},
	}
	must.Do(t, l.SaveDecisions(ctx, "01A", decisions))
	got := must.Get(l.Decisions(ctx, "01A"))(t)
	want := []decision.Decision{
		{ID: "dir:/w/a", Kind: "dir", Verdict: decision.Spare, InScope: true, Findings: []decision.Reason{}, Objections: []decision.Reason{}}, byRules(decisions[0])}
	must.Equal(t, want, got, "decisions")
	must.Do(t, l.FinishSweep(ctx, "01A", t0.Add(time.Second), map[string]int{"seen": 3}, 3))
	sweeps := must.Get(l.Sweeps(ctx, t0))(t)
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
		must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0}))
		must.Do(t, l.SaveDecisions(ctx, id, some(n)))
		got := must.Get(l.Decisions(ctx, id))(t)
		must.Equal(t, allByRules(some(n)), got, "%d decisions", n)
	}
}

func TestPruneKeepsTheLatest(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	for i := range 10 {
		id := fmt.Sprint("s", i)
		must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0.Add(time.Duration(i) * time.Minute)}))
		must.Do(t, l.SaveDecisions(ctx, id, some(3)))
	}
	must.Do(t, l.Intend(ctx, decision.Intent{ID: "A1", Sweep: "s0", Candidate: some(3)[1].ID, At: t0}))
	for range 2 { // the second finds nothing more to do
		must.Do(t, l.Prune(ctx, ledger.Keep{Decisions: 2, Sweeps: 5}))
		var sweeps, kept []string
		all := must.Get(l.Sweeps(ctx, time.Time{}))(t)
		for _, s := range all {
			sweeps = append(sweeps, s.ID)
			ds := must.Get(l.Decisions(ctx, s.ID))(t)
			for _, d := range ds {
				kept = append(kept, s.ID+" "+d.ID)
			}
		}
		must.Equal(t, []string{"s9", "s8", "s7", "s6", "s5", "s0"}, sweeps, "sweeps")
		want := []string{"s9 dir:/w/000000", "s9 dir:/w/000001", "s9 dir:/w/000002", "s8 dir:/w/000000", "s8 dir:/w/000001", "s8 dir:/w/000002"}
		must.Equal(t, want, kept, "decisions")
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
		must.Do(t, errors.Join(l.Close(), os.Chmod(path, 0o644)))
	}
}
