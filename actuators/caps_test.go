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

// TestCapsCountOnlyWhatIsInScope takes the share of what some policy claims, and not of everything that was seen.
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
