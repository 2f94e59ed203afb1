package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"winnow/engine"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

// TestProgramAgrees holds what is made of the rules to what OPA says by them, to the last word of the evidence, in worlds of
// chance in which facts are missing.
func TestProgramAgrees(t *testing.T) {
	t.Parallel()
	e := ready(t, shipped(t), engine.Limits{})
	for seed := range uint64(12) {
		c := config()
		if seed%2 == 0 {
			c = defaults()
		}
		j := subject.Join(newMaker(100+seed, 0.05*float64(seed%4)).world(120), c)
		for _, kind := range snapshot.Kinds {
			for _, id := range j.IDs(kind) {
				sub, _ := j.Subject(id)
				program, opa, err := engine.AskBoth(e, sub)
				if err != nil {
					t.Fatalf("%s: %v", id, err)
				}
				if diff := cmp.Diff(opa, program); diff != "" {
					t.Fatalf("%s: (-opa +program):\n%s", id, diff)
				}
			}
		}
	}
}

// TestProgramReapsNothing: a program that knows no objection at all changes no verdict, because OPA is asked before anything goes.
func TestProgramReapsNothing(t *testing.T) {
	t.Parallel()
	p := shipped(t)
	whole, without := ready(t, p, engine.Limits{}), ready(t, p, engine.Limits{})
	engine.WithoutObjections(without)
	s := newMaker(11, 0.02).world(300)
	found := 0
	want, have := decided(t, whole, s), decided(t, without, s)
	if len(want) != len(have) {
		t.Fatalf("want %d decisions, have %d", len(want), len(have))
	}
	for i := range want {
		if len(want[i].Findings) > 0 && len(want[i].Objections) > 0 {
			found++
		}
		if want[i].Verdict != have[i].Verdict {
			t.Errorf("%s: want %s, have %s", want[i].ID, want[i].Verdict, have[i].Verdict)
		}
	}
	if found == 0 {
		t.Error("no candidate has both a finding and an objection")
	}
}
