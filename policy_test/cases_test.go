package policy_test

import (
	"bytes"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
	kit "github.com/winnow-reaper/winnow/test/kit/worlds"
)

// TestMain collects garbage as seldom as the program does: a decision makes much of it.
func TestMain(m *testing.M) {
	kit.JudgeApart()
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// TestCases holds the shipped policies, as the program has them, to every case.
func TestCases(t *testing.T) {
	t.Parallel()
	p := must.Get(policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: policies.Files}}, Prepared: policies.Prepared}))(t)
	e := eval.New(p, eval.Limits{Timeout: time.Minute})
	t.Cleanup(func() {
		if p.Built() {
			t.Error("what may go was confirmed by more rules than those of its kind")
		}
	})
	for name, c := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.Sentence == "" || len(c.Want)+len(c.Remembered) == 0 {
				t.Fatal("a case needs a sentence and what it wants")
			}
			world, config := parse(t, worldOf(t, c)), configOf(t, c)
			got := decide(t, e, config, worldOf(t, c))
			j := subject.Join(world, config)
			for id, want := range c.Want {
				if _, ok := j.Subject(id); !ok {
					t.Errorf("%s: no such candidate in this world", id)
				}
				must.Equal(t, want, got[id], "%s: %s", c.Sentence, id)
			}
		})
	}
}

// TestSightings looks at each world that says so, and holds what is remembered afterwards to the case.
func TestSightings(t *testing.T) {
	t.Parallel()
	e := shipped(t)
	for name, c := range cases(t) {
		if c.Remembered == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := parse(t, worldOf(t, c))
			r := must.Get(e.Decide(t.Context(), world, configOf(t, c)))(t)
			next := eval.Sightings(world.Sightings, world, r.Decisions)
			for id, want := range c.Remembered {
				if _, left := next[id]; left != want {
					t.Errorf("%s: %s: a sighting is left: %v", c.Sentence, id, left)
				}
			}
		})
	}
}

// TestEveryRuleHasItsCases wants of every rule a case in which it speaks and one in which it does not, of every reason to reap
// a case in which it reaps, and of every reason to keep one in which nothing else keeps.
func TestEveryRuleHasItsCases(t *testing.T) {
	t.Parallel()
	reaps, alone := map[string]bool{}, map[string]bool{}
	for _, c := range cases(t) {
		for _, w := range c.Want {
			if w == nil {
				continue
			}
			if w.Verdict == decision.Reap {
				for _, f := range w.Findings {
					reaps[f] = true
				}
			}
			if len(w.Findings) > 0 && len(w.Objections) == 1 {
				alone[w.Objections[0]] = true
			}
		}
	}
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: embedded})
	must.Do(t, err)
	for rule := range p.Rules() {
		if !reaps[rule] && !alone[rule] {
			t.Errorf("%s: no case in which it alone decides", rule)
		}
	}
}

func decide(t *testing.T, e *eval.Engine, c *subject.Config, world document) map[string]*Want {
	t.Helper()
	return judged(t, e, c, parse(t, world))
}

func judged(t *testing.T, e *eval.Engine, c *subject.Config, s *snapshot.Snapshot) map[string]*Want {
	t.Helper()
	r := must.Get(e.Decide(t.Context(), s, c))(t)
	for _, f := range r.Errors {
		t.Errorf("%s: %v", f.ID, f.Err)
	}
	got := map[string]*Want{}
	for _, d := range r.Decisions {
		got[d.ID] = &Want{Verdict: d.Verdict, Level: d.Level, Findings: rules(d.Findings), Objections: rules(d.Objections)}
	}
	return got
}

func rules(reasons []decision.Reason) []string {
	out := []string{}
	for _, r := range reasons {
		out = append(out, r.Rule)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestShippedPlan: what was prepared of the shipped policies is what their rules give. A stale one costs time at every start and nothing else, since it is passed over.
func TestShippedPlan(t *testing.T) {
	const file = "../policies/shipped.plan"
	tree := policy.Tree{Name: "embedded", FS: policies.Files}
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{tree}})
	must.Do(t, err)
	planned := must.Get(eval.Plan(p))(t)
	code := must.Get(plan.Encode(planned))(t)
	want := must.Get(p.Prepare(code))(t)
	if *update {
		must.Do(t, os.WriteFile(file, want, 0o644))
		return
	}
	if !bytes.Equal(want, policies.Prepared) {
		t.Fatalf("%s is stale: run go generate ./policies, and commit it", file)
	}
	ready, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{tree}, Prepared: policies.Prepared})
	must.Do(t, err)
	if ready.Plan() == nil || ready.Compiler() != nil {
		t.Error("the policies were built although they were prepared")
	}
}
