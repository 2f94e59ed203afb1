package actuators

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"winnow/engine/decision"
)

// some makes n candidates of a kind and owner, of which the first k are to be reaped.
func some(kind, owner string, k, n int) []decision.Decision {
	var ds []decision.Decision
	for i := range n {
		d := spare(kind, fmt.Sprintf("%s%d", owner, i), owner)
		if i < k {
			d.Verdict = decision.Reap
		}
		ds = append(ds, d)
	}
	return ds
}

func TestCaps(t *testing.T) {
	t.Parallel()
	usual := Caps{PerSweep: 50, Share: 0.5, ShareFrom: 4, PerOwner: 10}
	join := func(parts ...[]decision.Decision) []decision.Decision {
		var all []decision.Decision
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	for _, c := range []struct {
		name string
		caps Caps
		ds   []decision.Decision
		// held are the kinds that a cap holds, with the key that it names; every other kind is done.
		held map[string]string
	}{
		{"within all", usual, join(some("session", "a", 10, 20), some("session", "b", 10, 20)), nil},
		{"a sweep's", Caps{3, 1, 1, 9}, join(some("session", "a", 4, 9), some("dir", "a", 3, 9)), map[string]string{"session": "act.caps.per_sweep"}},
		{"a sweep's over all kinds", Caps{5, 1, 1, 9}, join(some("session", "a", 3, 9), some("process", "a", 3, 9), some("dir", "a", 2, 9)),
			map[string]string{"process": "act.caps.per_sweep"}},
		{"none a sweep", Caps{0, 1, 1, 9}, some("session", "a", 1, 9), map[string]string{"session": "act.caps.per_sweep"}},
		{"an owner's", usual, join(some("dir", "a", 11, 40), some("dir", "b", 1, 9), some("process", "a", 10, 40)), map[string]string{"dir": "act.caps.per_owner"}},
		{"none an owner", Caps{9, 1, 1, 0}, some("dir", "a", 1, 9), map[string]string{"dir": "act.caps.per_owner"}},
		{"without owners they are one", usual, some("dir", "", 11, 40), map[string]string{"dir": "act.caps.per_owner"}},
		{"a share", usual, join(some("session", "a", 3, 4), some("session", "b", 3, 5)), map[string]string{"session": "act.caps.share"}},
		{"a share exactly", usual, join(some("session", "a", 3, 5), some("session", "b", 2, 5)), nil},
		{"a share of few", usual, some("session", "a", 3, 3), nil},
		{"an owner's share", usual, join(some("session", "a", 4, 4), some("session", "b", 0, 40)), map[string]string{"session": "act.caps.share"}},
		{"no share", Caps{50, 0, 4, 10}, some("session", "a", 4, 40), map[string]string{"session": "act.caps.share"}},
		{"no share of few", Caps{50, 0, 4, 10}, some("session", "a", 3, 40), nil},
		{"no share from the first", Caps{50, 0, 0, 10}, some("session", "a", 1, 40), map[string]string{"session": "act.caps.share"}},
		{"a share that is no number", Caps{50, math.NaN(), 1, 10}, some("session", "a", 1, 40), map[string]string{"session": "act.caps.share"}},
		{"a share with a rest", Caps{50, 0.58, 4, 50}, some("session", "a", 29, 50), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			carrier := s.carrier()
			carrier.Caps = c.caps
			for _, a := range carrier.Carry(t.Context(), "S", c.ds, c.ds) {
				key, held := c.held[a.Kind]
				switch {
				case held && (a.Outcome.Outcome != decision.Capped || !strings.Contains(a.Detail, key+" ") || !strings.Contains(a.Detail, "nothing of this kind was done")):
					t.Errorf("%s: %+v, want it capped by %s", a.Candidate, a.Outcome, key)
				case !held && a.Outcome.Outcome != decision.Done:
					t.Errorf("%s: %+v, want it done", a.Candidate, a.Outcome)
				}
			}
			for _, call := range s.calls {
				for kind := range c.held {
					if strings.Contains(call, " "+kind+":") {
						t.Errorf("%s although a cap held", call)
					}
				}
			}
		})
	}
}

// TestCapsTakeTheirShareOfWhatWasSeen has all agents of a machine be dead: what they left behind is all that is in scope, and goes, as long
// as it is not a large part of what the user runs. Where it is not known what was seen, what is in scope is all.
func TestCapsTakeTheirShareOfWhatWasSeen(t *testing.T) {
	t.Parallel()
	usual := Caps{PerSweep: 50, Share: 0.5, ShareFrom: 4, PerOwner: 10}
	orphans := func(of ...int) []decision.Decision {
		var ds []decision.Decision
		for i, n := range of {
			ds = append(ds, some("process", fmt.Sprintf("dead%d-", i), n, n)...)
		}
		return ds
	}
	processes := func(n int) map[string]decision.Seen { return map[string]decision.Seen{"process": {Total: n}} }
	sessions := func(byOwner map[string]int) map[string]decision.Seen {
		total := 0
		for _, n := range byOwner {
			total += n
		}
		return map[string]decision.Seen{"session": {Total: total, ByOwner: byOwner}}
	}
	for _, c := range []struct {
		name string
		ds   []decision.Decision
		seen map[string]decision.Seen
		// held is the key of the cap that holds, with what it is a part of; nothing where all is done.
		held string
	}{
		{"30 orphans of four dead agents among 200 processes", orphans(8, 8, 7, 7), processes(200), ""},
		{"half of them exactly", orphans(8, 8, 7, 7), processes(60), ""},
		{"more than half of them", orphans(8, 8, 7, 7), processes(59), "30 of the 59 candidates of kind process that are this user's are wanted and act.caps.share "},
		{"it is not known what was seen", orphans(8, 8, 7, 7), nil, "30 of the 30 candidates of kind process in scope are wanted and act.caps.share "},
		{"it is not known what was seen of that kind", orphans(5), sessions(map[string]int{"dead0-": 200}), "act.caps.share "},
		{"none was seen of this user's", orphans(5), processes(0), "5 of the 0 candidates of kind process that are this user's are wanted and act.caps.share "},
		{"one dead agent with many", orphans(11), processes(200), "act.caps.per_owner "},
		{"more than a sweep may do", orphans(9, 9, 9, 9, 9, 9), processes(2000), "act.caps.per_sweep "},
		{"every session of one server among many", some("session", "a", 9, 9), sessions(map[string]int{"a": 9, "b": 40}), "9 of the 9 candidates of kind session that are this user's for a are wanted and act.caps.share "},
		{"some sessions of one server", some("session", "a", 9, 9), sessions(map[string]int{"a": 20, "b": 4}), ""},
		{"14 of 14 sessions of one project among many", some("session", "a", 14, 14), sessions(map[string]int{"a": 14, "b": 40}), "act.caps.per_owner "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			carrier := s.carrier()
			carrier.Caps, carrier.Seen = usual, c.seen
			for _, a := range carrier.Carry(t.Context(), "S", c.ds, c.ds) {
				switch {
				case c.held == "" && a.Outcome.Outcome != decision.Done:
					t.Fatalf("%s: %+v, want it done", a.Candidate, a.Outcome)
				case c.held != "" && (a.Outcome.Outcome != decision.Capped || !strings.Contains(a.Detail, c.held)):
					t.Fatalf("%s: %+v, want it held by %q", a.Candidate, a.Outcome, c.held)
				}
			}
		})
	}
}

// TestCapsCountOnlyWhatIsInScope takes the share of what some policy claims where it is not known what was seen.
func TestCapsCountOnlyWhatIsInScope(t *testing.T) {
	t.Parallel()
	ds := some("session", "a", 4, 40)
	for i := range ds[4:] {
		ds[4+i].InScope = false
	}
	s := newStage()
	c := s.carrier()
	c.Caps = Caps{PerSweep: 50, Share: 0.5, ShareFrom: 4, PerOwner: 10}
	for _, a := range c.Carry(t.Context(), "S", ds, ds) {
		if a.Outcome.Outcome != decision.Capped {
			t.Errorf("act: %+v", a)
		}
	}
}
