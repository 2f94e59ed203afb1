package eval_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// TestDecidesWithoutAPlan: where a plan has something that is not known, OPA's evaluator is asked of everything, with the same decisions.
func TestDecidesWithoutAPlan(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	s := worlds.New(5, 0.1).World(90)
	planned, stock := worlds.Engine(t, rules.Shipped(t), eval.Limits{Timeout: time.Minute}), worlds.Engine(t, rules.Shipped(t), eval.Limits{Timeout: time.Minute})
	if !eval.HasPlan(planned) {
		t.Fatal("the shipped rules have no plan that runs")
	}
	eval.WithoutPlan(stock)
	want := must.Get(stock.Decide(t.Context(), s, worlds.Config()))(t)
	have := must.Get(planned.Decide(t.Context(), s, worlds.Config()))(t)
	if diff := gocmp.Diff(want, have); diff != "" || len(want.Decisions) < 30 {
		t.Errorf("%d decisions (-topdown +plan):\n%s", len(want.Decisions), diff)
	}
}

// TestNobodyIsReapedByThePlanAlone: what the plan would let go and OPA's evaluator keeps stays, and it is said.
func TestNobodyIsReapedByThePlanAlone(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	s := worlds.New(5, 0).World(300)
	e := worlds.Engine(t, rules.Shipped(t), eval.Limits{Timeout: time.Minute})
	before := must.Get(e.Decide(t.Context(), s, worlds.Config()))(t)
	kept := map[string]bool{}
	for _, d := range before.Decisions {
		kept[d.ID] = d.Verdict == decision.Spare && len(d.Findings) > 0
	}
	eval.Forget(e)
	after := must.Get(e.Decide(t.Context(), s, worlds.Config()))(t)
	wrong := 0
	for _, d := range after.Decisions {
		if !kept[d.ID] {
			continue
		}
		wrong++
		if d.Verdict != decision.Spare || len(d.Objections) != 1 || d.Objections[0].Rule != decision.PolicyError || !strings.Contains(d.Objections[0].Message, "do not agree") {
			t.Fatalf("%s: %s, %v", d.ID, d.Verdict, d.Objections)
		}
	}
	if wrong < 5 || len(after.Errors) < wrong {
		t.Errorf("%d candidates with objections that were forgotten, %d errors", wrong, len(after.Errors))
	}
}

// TestAnErrorOfThePlanIsTopdowns: what a rule is an error for is said in OPA's own words, with file and line.
func TestAnErrorOfThePlanIsTopdowns(t *testing.T) {
	t.Parallel()
	p := rules.Load(t, policy.Tree{Name: "embedded", FS: rules.Small(nil), Prefix: "p"},
		policy.Tree{Name: "mine", FS: rules.Tree(rules.Finding(`regex.match("(", input.id)`)), Prefix: "my"})
	e := worlds.Engine(t, p, eval.Limits{Timeout: time.Minute})
	if !eval.HasPlan(e) {
		t.Fatal("no plan")
	}
	r := must.Get(e.Decide(t.Context(), worlds.Three(), worlds.Config()))(t)
	if len(r.Errors) != 3 || !strings.Contains(r.Errors[0].Err.Error(), "my/reap/dirs/mine/mine.rego:") {
		t.Errorf("have %v", r.Errors)
	}
}

// TestPreparedPoliciesDecideTheSame: policies that were prepared when the program was built decide, explain and search as those do that are compiled now, and are
// compiled when somebody asks for more than their plan.
func TestPreparedPoliciesDecideTheSame(t *testing.T) {
	t.Parallel()
	o := policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: policies.Files}}}
	built := must.Get(policy.Load(t.Context(), o))(t)
	o.Prepared = policies.Prepared
	prepared := must.Get(policy.Load(t.Context(), o))(t)
	if prepared.Plan() == nil {
		t.Fatal("what was prepared was not used")
	}
	if diff := gocmp.Diff(built.Rules(), prepared.Rules()); diff != "" {
		t.Errorf("rules (-built +prepared):\n%s", diff)
	}
	if prepared.Revision != built.Revision || !slices.Equal(prepared.Kinds(), built.Kinds()) {
		t.Errorf("revision %q, kinds %q", prepared.Revision, prepared.Kinds())
	}
	s := worlds.New(5, 0).World(300)
	a, b := worlds.Engine(t, built, eval.Limits{Timeout: time.Minute}), worlds.Engine(t, prepared, eval.Limits{Timeout: time.Minute})
	want := must.Get(a.Decide(t.Context(), s, worlds.Config()))(t)
	have := must.Get(b.Decide(t.Context(), s, worlds.Config()))(t)
	goes := func(d decision.Decision) bool { return d.Verdict == decision.Reap }
	if diff := gocmp.Diff(want, have); diff != "" || !slices.ContainsFunc(want.Decisions, goes) {
		t.Errorf("(-built +prepared):\n%s", diff)
	}
	sub, _ := subject.Join(s, worlds.Config()).Subject(want.Decisions[0].ID)
	x := must.Get(a.Explain(t.Context(), sub))(t)
	y := must.Get(b.Explain(t.Context(), sub))(t)
	if diff := gocmp.Diff(x, y, gocmp.FilterPath(func(p gocmp.Path) bool { return p.Last().String() == ".File" }, gocmp.Ignore())); diff != "" {
		t.Errorf("explained (-built +prepared):\n%s", diff)
	}
	if prepared.Compiler() == nil {
		t.Error("an explanation did not compile the rules")
	}
}

// TestPreparedOfOtherFilesIsPassedOver: what was prepared counts for the very files that it was made of.
func TestPreparedOfOtherFilesIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]policy.LoadOptions{
		"other files":   {Trees: []policy.Tree{{Name: "embedded", FS: rules.Small(nil)}}, Prepared: policies.Prepared},
		"more files":    {Trees: []policy.Tree{{Name: "embedded", FS: policies.Files}, {Name: "mine", FS: rules.Tree(rules.Finding("true"))}}, Prepared: policies.Prepared},
		"another place": {Trees: []policy.Tree{{Name: "embedded", FS: policies.Files, Prefix: "p"}}, Prepared: policies.Prepared},
		"damaged":       {Trees: []policy.Tree{{Name: "embedded", FS: policies.Files}}, Prepared: policies.Prepared[:100]},
	} {
		p, err := policy.Load(t.Context(), o)
		if err != nil {
			t.Fatal(name, err)
		}
		if p.Plan() != nil || p.Compiler() == nil {
			t.Errorf("%s: it was not built", name)
		}
	}
}
