package actuators

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// some makes n candidates of a kind and owner, of which the first k are to be reaped. The one with the highest number is the oldest.
func some(kind, owner string, k, n int) []decision.Decision {
	var ds []decision.Decision
	for i := range n {
		d := spare(kind, fmt.Sprintf("%s%d", owner, i), owner)
		d.Age = new(float64(i))
		if i < k {
			d.Verdict = decision.Reap
		}
		ds = append(ds, d)
	}
	return ds
}

// alive has an owner that is alive for all of ds.
func alive(ds []decision.Decision) []decision.Decision {
	for i := range ds {
		ds[i].Alive = "7 in registry/w has not ended"
	}
	return ds
}

// grouped has ds all in one group.
func grouped(group string, ds []decision.Decision) []decision.Decision {
	for i := range ds {
		ds[i].Groups = append(ds[i].Groups, group)
	}
	return ds
}

func used(ds []decision.Decision) Past {
	p := Past{At: noon, Used: map[string]bool{}}
	for _, d := range ds {
		p.Used[d.ID] = true
	}
	return p
}

var usual = Caps{PerSweep: 50, Share: 0.5, ShareFrom: 4, PerOwner: 10}

// TestCapsInSlices has an ordinary backlog pass a part at a time.
func TestCapsInSlices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		caps Caps
		ds   []decision.Decision
		// done is how many of each kind go at the first sweep; caps are those that hold the rest back.
		done map[string]int
		held []string
	}{
		{"within all", usual, slices.Concat(some("session", "a", 10, 20), some("session", "b", 10, 20)), map[string]int{"session": 20}, nil},
		{"27 landed worktrees of 30 in one repository", usual, some("dir", "repo", 27, 30), map[string]int{"dir": 10}, []string{"dir per_owner 27 17 --max 27"}},
		{"12 leaked processes of dead agents, of 14 seen", usual, slices.Concat(some("process", "a", 6, 7), some("process", "b", 6, 7)), map[string]int{"process": 12}, nil},
		{"all that there is", usual, some("process", "a", 9, 9), map[string]int{"process": 9}, nil},
		{"135 of many owners", usual, manyOwners("process", 27, 5), map[string]int{"process": 50}, []string{"process per_sweep 135 85 --max 135"}},
		{"both at once", usual, slices.Concat(some("process", "a", 60, 60), some("dir", "r", 3, 9)), map[string]int{"process": 10, "dir": 3},
			[]string{"process per_sweep 60 10 --max 63", "process per_owner 60 50 --max 63"}},
		{"over all kinds", Caps{PerSweep: 5, Share: 1, ShareFrom: 1, PerOwner: 9},
			slices.Concat(some("session", "a", 3, 9), some("process", "a", 3, 9), some("dir", "a", 2, 9)), map[string]int{"session": 3, "process": 2},
			[]string{"process per_sweep 3 1 --max 8", "dir per_sweep 2 2 --max 8"}},
		{"none a sweep", Caps{PerOwner: 9, Share: 1}, some("session", "a", 1, 9), nil, []string{"session per_sweep 1 1 --max 1"}},
		{"none an owner", Caps{PerSweep: 9, Share: 1}, some("dir", "a", 1, 9), nil, []string{"dir per_owner 1 1 --max 1"}},
		{"without owners they are one", usual, some("dir", "", 11, 40), map[string]int{"dir": 10}, []string{"dir per_owner 11 1 --max 11"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			carrier := s.carrier()
			carrier.Caps = c.caps
			done := map[string]int{}
			for _, a := range carrier.Carry(t.Context(), "S", c.ds) {
				switch a.Outcome.Outcome {
				case decision.Done:
					done[a.Kind]++
				case decision.Capped:
					if !strings.Contains(a.Detail, "--max ") || strings.Contains(a.Detail, "nothing of this kind") && done[a.Kind] > 0 {
						t.Errorf("%s: %s", a.Candidate, a.Detail)
					}
				default:
					t.Errorf("%s: %+v", a.Candidate, a.Outcome)
				}
			}
			var held []string
			for _, h := range c.caps.Plan(carrier.Kinds, c.ds, Past{}).Caps {
				held = append(held, fmt.Sprintf("%s %s %d %d %s", h.Kind, h.Cap, h.Wanted, h.Held, h.Lift))
				if h.Stops != (h.Limit == 0) || h.Flag != decision.FlagMax || h.Why == "" {
					t.Errorf("%+v", h)
				}
			}
			if fmt.Sprint(done) != fmt.Sprint(orEmpty(c.done)) || !slices.Equal(held, c.held) {
				t.Errorf("done %v, want %v; held %q, want %q", done, c.done, held, c.held)
			}
		})
	}
}

func orEmpty(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}

func manyOwners(kind string, owners, each int) []decision.Decision {
	var ds []decision.Decision
	for i := range owners {
		ds = append(ds, some(kind, fmt.Sprintf("o%d-", i), each, each)...)
	}
	return ds
}

// TestTheOldestGoesFirst also has what is of no known age go last, and the rest of a backlog go at the sweeps that follow.
func TestTheOldestGoesFirst(t *testing.T) {
	t.Parallel()
	ds := some("dir", "r", 27, 30)
	ds[26].Age, ds[25].Age = nil, new(math.NaN())
	left := map[string]decision.Decision{}
	for _, d := range ds {
		left[d.ID] = d
	}
	var order []string
	for range 3 {
		var all []decision.Decision
		for _, d := range left {
			all = append(all, d)
		}
		for _, d := range usual.Plan([]string{"dir"}, all, Past{}).Go["dir"] {
			order = append(order, d.ID)
			delete(left, d.ID)
		}
	}
	if len(order) != 27 || order[0] != "dir:r24" || order[24] != "dir:r0" || order[25] != "dir:r25" || order[26] != "dir:r26" {
		t.Errorf("%d, in the order %q", len(order), order)
	}
}

// TestAnAccidentStopsAKind has a whole kind stay where a record or a rule is more likely to be wrong than the world.
func TestAnAccidentStopsAKind(t *testing.T) {
	t.Parallel()
	many := some("session", "b", 0, 40)
	fourteen := some("session", "a", 14, 14)
	among := func(k, n int) []decision.Decision {
		return slices.Concat(grouped("/w/acme", some("session", "a", k, n)), grouped("/w/other", some("session", "b", 0, 30-n)))
	}
	agents := slices.Concat(grouped("/w/acme", manyOwners("process", 4, 2)), some("process", "z", 0, 20))
	for i := range agents[8:] {
		agents[8+i].Owner = agents[8+i].ID
	}
	registry := func(before, now int) Past {
		return Past{Most: map[string]Count{"registry/w": {Seen: before, At: noon}}, Now: map[string]int{"registry/w": now}}
	}
	for _, c := range []struct {
		name string
		ds   []decision.Decision
		past Past
		// cap is the brake and what it says, "" where nothing is stopped.
		cap, says string
	}{
		{"14 of 14 sessions of a living project among many", slices.Concat(alive(fourteen[:]), alive(slices.Clone(many))), Past{}, "alive", "14 of the 14 candidates of kind session of a "},
		{"most things of living owners", alive(some("process", "a", 9, 12)), Past{}, "alive", "9 of the 12 candidates of kind process whose owner is alive by a record (7 in registry/w has not ended)"},
		{"half of them exactly", alive(some("process", "a", 6, 12)), Past{}, "", ""},
		{"three of three", alive(some("process", "a", 3, 3)), Past{}, "", ""},
		{"dead owners' things beside a living one's", slices.Concat(some("process", "a", 9, 9), alive(some("process", "b", 0, 2))), Past{}, "", ""},
		{"all that was in use just now", some("session", "c", 6, 6), used(some("session", "c", 6, 6)), "jump", "6 of the 6 candidates of kind session that were in use at the look of "},
		{"half of what was in use just now", some("session", "c", 4, 8), used(some("session", "c", 8, 8)), "", ""},
		{"what was in use and is gone does not count", some("session", "c", 4, 7), used(slices.Concat(some("session", "c", 7, 7), some("session", "z", 9, 9))), "jump", "4 of the 7"},
		{"14 of 14 of one project, 14 of 30 in all", among(14, 14), used(among(14, 14)), "jump", "14 of the 14 candidates of kind session of /w/acme that were in use"},
		{"four of four of one project", among(4, 4), used(among(4, 4)), "jump", "4 of the 4 candidates of kind session of /w/acme that were in use"},
		{"three of three of one project", among(3, 3), used(among(3, 3)), "", ""},
		{"half of one project", among(7, 14), used(among(7, 14)), "", ""},
		{"four agents of one project ended at once", agents, used(agents), "jump", "4 of the 4 owners of processes of /w/acme"},
		{"one agent of a project ended and left nine processes", grouped("/w/acme", some("process", "a", 9, 9)), used(some("process", "a", 9, 9)), "", ""},
		{"one agent ended and left nine processes", some("process", "a", 9, 9), used(some("process", "a", 9, 9)), "", ""},
		{"five agents ended at once", manyOwners("process", 5, 2), used(manyOwners("process", 5, 2)), "jump", "5 of the 5 owners of processes"},
		{"five processes of owners that are not known", some("process", "", 5, 5), used(some("process", "", 5, 5)), "jump", "5 of the 5 owners of processes"},
		{"a registry that lost most of its entries", some("dir", "r", 1, 9), registry(20, 4), "shrunk", "registry/w gave 20 at "},
		{"a registry that is empty now", some("dir", "r", 1, 9), registry(20, 0), "shrunk", "gives 0 now"},
		{"a registry that lost half", some("dir", "r", 1, 9), registry(20, 10), "", ""},
		{"a small registry that lost three", some("dir", "r", 1, 9), registry(3, 0), "", ""},
		{"a registry that grew", some("dir", "r", 1, 9), registry(2, 40), "", ""},
		{"a registry that is no longer read", some("dir", "r", 1, 9), Past{Most: map[string]Count{"registry/w": {Seen: 20}}}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			carrier := s.carrier()
			carrier.Caps, carrier.Past = usual, c.past
			plan := usual.Plan(carrier.Kinds, c.ds, c.past)
			for _, a := range carrier.Carry(t.Context(), "S", c.ds) {
				switch {
				case c.cap == "" && a.Outcome.Outcome != decision.Done:
					t.Fatalf("%s: %+v, want it done", a.Candidate, a.Outcome)
				case c.cap != "" && (a.Outcome.Outcome != decision.Capped || !strings.Contains(a.Detail, c.says) || !strings.Contains(a.Detail, "nothing of this kind was done")):
					t.Fatalf("%s: %+v, want it held by %s: %q", a.Candidate, a.Outcome, c.cap, c.says)
				}
			}
			if c.cap == "" {
				return
			}
			if len(s.calls) != 0 || plan.Caps[0].Cap != c.cap || !plan.Caps[0].Stops || plan.Caps[0].Lift != "--all-of "+plan.Caps[0].Kind {
				t.Errorf("calls %q, caps %+v", s.calls, plan.Caps)
			}
			lifted := usual
			lifted.AllOf, lifted.PerOwner = []string{plan.Caps[0].Kind}, 50
			carrier.Caps = lifted
			for _, a := range carrier.Carry(t.Context(), "S", c.ds) {
				if a.Outcome.Outcome != decision.Done {
					t.Errorf("%s: %+v, although a person lets it through", a.Candidate, a.Outcome)
				}
			}
		})
	}
}

// TestAShareThatIsNoNumberAllowsNothing holds the comparison the right way round.
func TestAShareThatIsNoNumberAllowsNothing(t *testing.T) {
	t.Parallel()
	for share, over := range map[float64]bool{math.NaN(): true, 0: true, 0.58: false} {
		if c := (Caps{Share: share, ShareFrom: 4}); c.overShare(29, 50) != over {
			t.Errorf("29 of 50 with a share of %v", share)
		}
	}
	if c := (Caps{ShareFrom: 0}); c.overShare(0, 0) || !c.overShare(1, 40) {
		t.Error("with a share of 0 from 0 on none may go, and nothing is not too much")
	}
}

// TestNoSliceExceedsItsCaps goes over random worlds: no sweep does more than its caps allow, what waits and what goes is all that is wanted, an
// accident lets nothing of its kind through, and a carrier that is asked twice does no more than one that is asked once.
func TestNoSliceExceedsItsCaps(t *testing.T) {
	t.Parallel()
	kinds := []string{"session", "process", "dir"}
	stopped, sliced := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		caps := Caps{PerSweep: r.IntN(30), PerOwner: r.IntN(8), Share: float64(r.IntN(11)) / 10, ShareFrom: r.IntN(6)}
		var ds []decision.Decision
		past := Past{Used: map[string]bool{}, Most: map[string]Count{}, Now: map[string]int{}}
		for _, kind := range kinds {
			for o := range r.IntN(5) {
				n := r.IntN(15)
				some := some(kind, fmt.Sprintf("%d-", o), r.IntN(n+1), n)
				if r.IntN(2) == 0 {
					grouped(fmt.Sprintf("/w/%d", r.IntN(3)), some)
				}
				if r.IntN(4) == 0 {
					alive(some)
				}
				for _, d := range some {
					past.Used[d.ID] = r.IntN(6) == 0
				}
				ds = append(ds, some...)
			}
		}
		if r.IntN(4) == 0 {
			past.Most["registry/w"], past.Now["registry/w"] = Count{Seen: r.IntN(20)}, r.IntN(20)
		}
		s := newStage()
		c := s.carrier()
		c.Caps, c.Past, c.Kinds = caps, past, kinds
		plan := caps.Plan(kinds, ds, past)
		all, by, acts := 0, map[owned]int{}, map[string]bool{}
		for range 2 {
			for _, a := range c.Carry(t.Context(), "S", ds) {
				acts[a.Candidate] = true
				if a.Outcome.Outcome != decision.Done {
					continue
				}
				owner, _, _ := strings.Cut(strings.TrimPrefix(a.Candidate, a.Kind+":"), "-")
				all++
				by[owned{a.Kind, owner + "-"}]++
			}
		}
		if all > caps.PerSweep {
			t.Fatalf("seed %d: %d acts with %+v", seed, all, caps)
		}
		for o, n := range by {
			if n > caps.PerOwner {
				t.Fatalf("seed %d: %d acts of %+v with %+v", seed, n, o, caps)
			}
		}
		for _, d := range ds {
			if acts[d.ID] != (d.Verdict == decision.Reap) {
				t.Fatalf("seed %d: %s, verdict %s: an act is reported: %t", seed, d.ID, d.Verdict, acts[d.ID])
			}
		}
		for _, h := range plan.Caps {
			if h.Stops {
				stopped++
				if n := len(plan.Go[h.Kind]); n > 0 || slices.ContainsFunc(s.calls, func(call string) bool { return strings.Contains(call, " "+h.Kind+":") }) {
					t.Fatalf("seed %d: %d of kind %s go although %s", seed, n, h.Kind, h.Why)
				}
			} else if len(plan.Go[h.Kind]) > 0 {
				sliced++
			}
		}
	}
	if stopped < 100 || sliced < 100 {
		t.Errorf("%d kinds stopped and %d sliced: these worlds test nothing", stopped, sliced)
	}
}
