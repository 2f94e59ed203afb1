package ledger_test

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// model is what a ledger has to say of decisions, kept in the plainest way: all of them, of every sweep.
type model struct {
	ids    []string // of the sweeps, in the order in which they began
	saved  map[string][]decision.Decision
	pruned map[string]bool
}

// byRules is a decision as a ledger keeps it: of its reasons the rules, each once.
func byRules(d decision.Decision) decision.Decision {
	for _, reasons := range []*[]decision.Reason{&d.Findings, &d.Objections} {
		bare := []decision.Reason{}
		for _, r := range *reasons {
			if !slices.ContainsFunc(bare, func(x decision.Reason) bool { return x.Rule == r.Rule }) {
				bare = append(bare, decision.Reason{Rule: r.Rule})
			}
		}
		slices.SortFunc(bare, func(a, b decision.Reason) int { return strings.Compare(a.Rule, b.Rule) })
		*reasons = bare
	}
	return d
}

func allByRules(all []decision.Decision) []decision.Decision {
	out := make([]decision.Decision, len(all))
	for i, d := range all {
		out[i] = byRules(d)
	}
	return out
}

// decisions is what the ledger must give of a sweep.
func (m *model) decisions(sweep string) []decision.Decision {
	all := []decision.Decision{}
	for _, d := range m.saved[sweep] {
		if !m.pruned[sweep] {
			all = append(all, byRules(d))
		}
	}
	slices.SortStableFunc(all, func(a, b decision.Decision) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// world makes decisions that change as real ones do: ages that grow, spans in words, counts, reasons and candidates that come and go.
type world struct {
	*rand.Rand
	things []thing
}

type thing struct {
	id      string
	born    time.Duration
	verdict int
	label   string
	running int
}

func (w *world) step(i int) []decision.Decision {
	for w.IntN(3) == 0 {
		w.things = append(w.things, thing{id: fmt.Sprintf("dir:/w/%d", w.IntN(40)), born: time.Duration(w.Int64N(1e14)), label: fmt.Sprint("l", w.IntN(3))})
	}
	w.things = slices.DeleteFunc(w.things, func(thing) bool { return w.IntN(30) == 0 })
	slices.SortFunc(w.things, func(a, b thing) int { return cmp.Compare(a.id, b.id) })
	w.things = slices.CompactFunc(w.things, func(a, b thing) bool { return a.id == b.id })
	all := []decision.Decision{}
	for k := range w.things {
		t := &w.things[k]
		if w.IntN(15) == 0 {
			t.verdict = w.IntN(4)
		}
		if w.IntN(5) == 0 {
			t.running = w.IntN(3000)
		}
		age := time.Duration(i)*time.Minute + t.born
		d := decision.Decision{ID: t.id, Kind: "dir", Verdict: decision.Spare, InScope: true, Label: t.label, Owner: fmt.Sprint("/r", k%3), Findings: []decision.Reason{}, Objections: []decision.Reason{}}
		finding := decision.Reason{Rule: "reap.dirs.owner_ended", Message: fmt.Sprintf("its entry is done; %d processes are below it", t.running)}
		objection := decision.Reason{Rule: "protect.young", Message: fmt.Sprintf("it changed %s ago; it waits for 15m", age.Round(time.Second)),
			Evidence: map[string]any{"age": age.Seconds(), "grace": 900.0, "cpu": float64(t.running) * 1e-9 * float64(w.IntN(2))}}
		switch t.verdict {
		case 0:
			d.Objections = append(d.Objections, objection)
		case 1:
			d.Objections = append(d.Objections, objection, decision.Reason{Rule: decision.RuleLive, Message: fmt.Sprintf("process %d (claude) works in it\n\"quoted\" \u2028", t.running)})
		case 2:
			d.Findings = append(d.Findings, finding)
			d.Verdict, d.FirstSighting = decision.Reap, w.IntN(2) == 0
		}
		all = append(all, d)
	}
	w.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return all
}

// TestWhatWasSavedIsReadBack holds a ledger against the model over random sequences of sweeps: some are never saved, some are saved after a later one,
// some led to acts, and the old ones are pruned.
func TestWhatWasSavedIsReadBack(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l, ctx := open(t), t.Context()
			w := &world{Rand: rand.New(rand.NewPCG(seed, 7))}
			m := &model{saved: map[string][]decision.Decision{}, pruned: map[string]bool{}}
			keep := ledger.Keep{Decisions: w.IntN(9), Sweeps: 1000}
			var late []string
			acts := 0
			save := func(id string, i int) {
				ds := w.step(i)
				must.Do(t, l.SaveDecisions(ctx, id, append(ds, decision.Decision{ID: "dir:/out", Kind: "dir"})))
				m.saved[id] = ds
				for range w.IntN(2) {
					acts++
					if len(ds) == 0 {
						break
					}
					of := ds[w.IntN(len(ds))].ID
					if w.IntN(4) == 0 {
						of = "dir:/none"
					}
					must.Do(t, l.Intend(ctx, decision.Intent{ID: fmt.Sprintf("act%04d", acts), Sweep: id, Candidate: of, At: t0}))
				}
			}
			for i := range 40 {
				id := fmt.Sprintf("s%03d", i)
				must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0.Add(time.Duration(i) * time.Minute), Rules: "r", BootID: "b", Sources: map[string]int{"proc": 1}}))
				m.ids = append(m.ids, id)
				switch w.IntN(8) {
				case 0: // it was cut short
				case 1:
					late = append(late, id)
				default:
					save(id, i)
				}
				if len(late) > 0 && w.IntN(3) == 0 {
					if !m.pruned[late[0]] {
						save(late[0], i)
					}
					late = late[1:]
				}
				if w.IntN(3) == 0 {
					must.Do(t, l.Prune(ctx, keep))
					for _, id := range m.ids[:max(0, len(m.ids)-keep.Decisions)] {
						m.pruned[id] = true
					}
				}
				if w.IntN(10) == 0 { // as every command of the program does
					path := l.Path()
					must.Do(t, l.Close())
					l = must.Get(ledger.Open(path))(t)
					defer l.Close()
				}
				for _, id := range m.ids {
					if w.IntN(4) > 0 && id != m.ids[len(m.ids)-1] {
						continue
					}
					m.check(t, l, id)
				}
			}
		})
	}
}

func (m *model) check(t *testing.T, l *ledger.Ledger, id string) {
	t.Helper()
	got := must.Get(l.Decisions(t.Context(), id))(t)
	want := m.decisions(id)
	if d := gocmp.Diff(want, got); d != "" {
		t.Fatalf("decisions of %s (-want +got):\n%s", id, d)
	}
	i := slices.Index(m.ids, id)
	verdicts := must.Get(l.Verdicts(t.Context(), id))(t)
	var before map[string]string
	for _, earlier := range slices.Backward(m.ids[:i]) {
		if !m.pruned[earlier] {
			before = map[string]string{}
			for _, d := range m.decisions(earlier) {
				before[d.ID] = d.Verdict
			}
			break
		}
	}
	if d := gocmp.Diff(before, verdicts); d != "" {
		t.Fatalf("verdicts before %s (-want +got):\n%s", id, d)
	}
	if m.pruned[id] {
		return
	}
	b, err := l.Census(t.Context(), ledger.Asked{Rules: "r", BootID: "b", Jump: t0.Add(time.Duration(i) * time.Minute), Shrunk: t0})
	must.Do(t, err)
	used := map[string]bool{}
	for _, d := range want {
		if d.Verdict == decision.Spare && d.Used() {
			used[d.ID] = true
		}
	}
	if d := gocmp.Diff(used, b.Used); d != "" {
		t.Fatalf("used at %s (-want +got):\n%s", id, d)
	}
	if i < len(m.ids)-1 {
		return
	}
	owners := map[string]bool{}
	for _, id := range m.ids[max(0, len(m.ids)-20):] {
		for _, d := range m.decisions(id) {
			owners[d.Owner] = true
		}
	}
	repositories := must.Get(l.Repositories(t.Context()))(t)
	if want := slices.Sorted(maps.Keys(owners)); !slices.Equal(repositories, want) {
		t.Fatalf("repositories %v, want %v", repositories, want)
	}
}

func TestDecisionsOfASweepAreSavedOnce(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: "s", Started: t0}))
	must.Do(t, l.SaveDecisions(ctx, "s", some(3)))
	if err := l.SaveDecisions(ctx, "s", some(2)); err == nil {
		t.Error("they were saved twice")
	}
	if got, err := l.Decisions(ctx, "s"); err != nil || len(got) != 3 {
		t.Errorf("%d decisions, %v", len(got), err)
	}
}

// TestASteadySweepIsSmall has a thousand decisions grow older: what a sweep adds to the file is a few bytes.
func TestASteadySweepIsSmall(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	l, ctx := open(t), t.Context()
	const sweeps = 30
	var size int64
	for i := range sweeps {
		id := fmt.Sprint("s", i)
		must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0.Add(time.Duration(i) * time.Minute)}))
		must.Do(t, l.SaveDecisions(ctx, id, aging(1000, time.Duration(i)*time.Minute)))
		if i == 0 {
			size = fileSize(t, l)
		}
	}
	for i := range sweeps {
		got := must.Get(l.Decisions(ctx, fmt.Sprint("s", i)))(t)
		if d := gocmp.Diff(allByRules(aging(1000, time.Duration(i)*time.Minute)), got); d != "" {
			t.Fatalf("sweep %d (-want +got):\n%s", i, d)
		}
	}
	if grown := (fileSize(t, l) - size) / (sweeps - 1); grown > 4096 {
		t.Errorf("a sweep adds %d bytes", grown)
	}
}

// fileSize is the size of a ledger with all that was written to it.
func fileSize(t testing.TB, l *ledger.Ledger) int64 {
	t.Helper()
	db := must.Get(sql.Open("sqlite", l.Path()))(t)
	defer db.Close()
	must.Get(db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"))(t)
	st := must.Get(os.Stat(l.Path()))(t)
	return st.Size()
}

// aging makes n decisions of worktrees that are young, as the shipped policies give them, each of another age, later by so much.
func aging(n int, later time.Duration) []decision.Decision {
	all := make([]decision.Decision, n)
	for i := range all {
		path := fmt.Sprintf("/home/somebody/project/.worktrees/task-%06d", i)
		age := time.Duration(i)*7919*time.Millisecond + time.Duration(i*i)*time.Microsecond + later
		all[i] = decision.Decision{
			ID: "dir:" + path, Kind: "dir", Verdict: decision.Spare, InScope: true, Label: path, Owner: "/home/somebody/project", Findings: []decision.Reason{},
			Objections: []decision.Reason{
				{Rule: "protect.unsaved", Message: "it was not looked into, because it changed within the last 48h0m0s", Evidence: map[string]any{"lost": []any{}}},
				{Rule: "protect.young", Message: "it changed " + span(age) + " ago; it waits for 2d", Evidence: map[string]any{"age": age.Seconds(), "grace": 172800.0}},
			},
		}
	}
	return all
}

// span is a span of time as policies/lib/reasons writes it.
func span(d time.Duration) string {
	s := int64(d / time.Second)
	for _, u := range []struct {
		seconds, below int64
		names          string
	}{{86400, 3600, "dh"}, {3600, 60, "hm"}, {60, 1, "ms"}} {
		if s < u.seconds {
			continue
		}
		if rest := s % u.seconds / u.below; rest > 0 {
			return fmt.Sprintf("%d%c%d%c", s/u.seconds, u.names[0], rest, u.names[1])
		}
		return fmt.Sprintf("%d%c", s/u.seconds, u.names[0])
	}
	return fmt.Sprintf("%ds", s)
}

// TestARulingThatIsMissingIsSaid: a decision without its ruling is a damaged ledger, and no decision of nothing.
func TestARulingThatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: "a", Started: t0, Sources: map[string]int{"proc": 1}}))
	must.Do(t, l.SaveDecisions(ctx, "a", aging(3, 0)))
	must.Do(t, execute(l.Path(), "DELETE FROM rulings"))
	if got, err := l.Decisions(ctx, "a"); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("decisions: %v, %v", got, err)
	}
	if got, err := l.Verdicts(ctx, ""); err == nil {
		t.Errorf("verdicts: %v", got)
	}
}

// TestAFileThatIsMostlyEmptyShrinks prunes a file in which most of what was decided is over. What is kept is as it was.
func TestAFileThatIsMostlyEmptyShrinks(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	l, ctx := open(t), t.Context()
	must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: "old", Started: t0}))
	must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: "new", Started: t0}))
	must.Do(t, l.SaveDecisions(ctx, "new", aging(10, 0)))
	must.Do(t, l.Intend(ctx, intent("01AAA", t0)))
	db := must.Get(sql.Open("sqlite", l.Path()))(t)
	_, err := db.Exec(`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3000)
		INSERT INTO standing SELECT 1000 + i, 0, 1, 'dir:/' || i, hex(zeroblob(4000)), 1 FROM c`)
	must.Do(t, errors.Join(err, db.Close()))
	before := fileSize(t, l)
	must.Do(t, l.Prune(ctx, ledger.Keep{Decisions: 1, Sweeps: 10}))
	if after := fileSize(t, l); before < 16<<20 || after > 1<<20 {
		t.Errorf("the file had %d bytes and has %d", before, after)
	}
	must.Do(t, l.Check(ctx))
	got := must.Get(l.Decisions(ctx, "new"))(t)
	if d := gocmp.Diff(allByRules(aging(10, 0)), got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if c, err := l.Verify(ctx, ""); err != nil || !c.Holds() || c.Acts != 1 {
		t.Errorf("the chain: %v, %v", c, err)
	}
}

// TestDamagedMemoryIsReported changes by hand what looks remember.
func TestDamagedMemoryIsReported(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{"x'00'", "x''", "substr(value, 1, length(value) - 5)"} {
		l, ctx := open(t), t.Context()
		must.Do(t, l.SaveSightings(ctx, map[string]snapshot.Sighting{"dir:/w": {Rule: "r", Identity: "i", FirstAt: t0, LastAt: t0, Count: 1}}))
		db := must.Get(sql.Open("sqlite", l.Path()))(t)
		_, err := db.Exec("UPDATE remembered SET value = " + damage)
		must.Do(t, errors.Join(err, db.Close()))
		if got, err := l.Sightings(ctx); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: %v, %v", damage, got, err)
		}
	}
}

// A reader in another connection sees the decisions of a sweep whole while the writer saves and prunes.
func TestDecisionsAreReadBesideAWriter(t *testing.T) {
	t.Parallel()
	w := open(t)
	r := must.Get(ledger.OpenReadOnly(w.Path()))(t)
	defer r.Close()
	ctx := t.Context()
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 40 && err == nil; i++ {
			id := fmt.Sprint("s", i)
			err = errors.Join(w.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0}), w.SaveDecisions(ctx, id, aging(20+i%3, time.Duration(i)*time.Minute)),
				w.Prune(ctx, ledger.Keep{Decisions: 3, Sweeps: 3}))
		}
		done <- err
	}()
	for reading := true; reading; {
		select {
		case err := <-done:
			must.Do(t, err)
			reading = false
		default:
		}
		sweeps := must.Get(r.Sweeps(ctx, time.Time{}))(t)
		for _, s := range sweeps {
			ds := must.Get(r.Decisions(ctx, s.ID))(t)
			var i int
			must.Get(fmt.Sscanf(s.ID, "s%d", &i))(t)
			if len(ds) == 0 { // not saved yet, or pruned meanwhile
				continue
			}
			if d := gocmp.Diff(allByRules(aging(20+i%3, time.Duration(i)*time.Minute)), ds); d != "" {
				t.Fatalf("%s (-want +got):\n%s", s.ID, d)
			}
		}
	}
}

// TestWhatIsSeenAgain has what looks remember stay right from look to look, while things stay, go, come back, are seen or not.
func TestWhatIsSeenAgain(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	r := rand.New(rand.NewPCG(3, 4))
	sightings := map[string]snapshot.Sighting{}
	var owners []snapshot.Owner
	for i := range 120 {
		at := t0.Add(time.Duration(i) * time.Minute)
		if i%17 == 16 { // the clock was put back
			at = t0
		}
		for k := range 12 {
			id := fmt.Sprint("process:", k)
			before, known := sightings[id]
			switch r.IntN(6) {
			case 0:
				delete(sightings, id)
			case 1: // it could not be looked for
			default:
				if !known {
					before = snapshot.Sighting{Rule: "r", Identity: fmt.Sprint(i), FirstAt: at}
				}
				before.LastAt, before.Count = at, before.Count+1
				if r.IntN(4) == 0 {
					before.IdleSince, before.Work = &at, &snapshot.Work{CPU: new(float64(i) / 3)}
				}
				sightings[id] = before
			}
		}
		owners = nil
		for k := range r.IntN(5) {
			o := snapshot.Owner{Source: "codev/a b", Terminal: fmt.Sprint(k), FirstAt: t0, LastAt: at}
			if r.IntN(2) == 0 {
				o.RowAt = new(at.Add(-time.Duration(r.IntN(2)) * time.Minute))
			}
			owners = append(owners, o)
		}
		must.Do(t, l.SaveSightings(ctx, sightings))
		must.Do(t, l.SaveOwners(ctx, owners))
		for _, o := range owners { // saving leaves what it was given as it was
			if o.LastAt != at || o.RowAt != nil && o.RowAt.Before(t0.Add(-time.Hour)) {
				t.Fatalf("it was changed: %v", o)
			}
		}
		got := must.Get(l.Sightings(ctx))(t)
		if d := gocmp.Diff(sightings, got); d != "" {
			t.Fatalf("look %d (-want +got):\n%s", i, d)
		}
		all := must.Get(l.Owners(ctx))(t)
		if d := gocmp.Diff(append([]snapshot.Owner{}, owners...), all); d != "" {
			t.Fatalf("look %d (-want +got):\n%s", i, d)
		}
	}
}
