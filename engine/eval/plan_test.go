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
	"github.com/winnow-reaper/winnow/test/kit/rules"
)

// TestDecidesWithoutAPlan: where a plan has something that is not known, OPA's evaluator is asked of everything, with the same decisions.
func TestDecidesWithoutAPlan(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	s := newMaker(5, 0.1).world(90)
	planned, stock := ready(t, shipped(t), eval.Limits{Timeout: time.Minute}), ready(t, shipped(t), eval.Limits{Timeout: time.Minute})
	if !eval.HasPlan(planned) {
		t.Fatal("the shipped rules have no plan that runs")
	}
	eval.WithoutPlan(stock)
	want, err := stock.Decide(t.Context(), s, config())
	if err != nil {
		t.Fatal(err)
	}
	have, err := planned.Decide(t.Context(), s, config())
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, have); diff != "" || len(want.Decisions) < 30 {
		t.Errorf("%d decisions (-topdown +plan):\n%s", len(want.Decisions), diff)
	}
}

// TestNobodyIsReapedByThePlanAlone: what the plan would let go and OPA's evaluator keeps stays, and it is said.
func TestNobodyIsReapedByThePlanAlone(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	s := newMaker(5, 0).world(300)
	e := ready(t, shipped(t), eval.Limits{Timeout: time.Minute})
	before, err := e.Decide(t.Context(), s, config())
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	for _, d := range before.Decisions {
		kept[d.ID] = d.Verdict == decision.Spare && len(d.Findings) > 0
	}
	eval.Forget(e)
	after, err := e.Decide(t.Context(), s, config())
	if err != nil {
		t.Fatal(err)
	}
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
	p := load(t, policy.Tree{Name: "embedded", FS: rules.Small(nil), Prefix: "p"},
		policy.Tree{Name: "mine", FS: rules.Tree(rules.Finding(`regex.match("(", input.id)`)), Prefix: "my"})
	e := ready(t, p, eval.Limits{Timeout: time.Minute})
	if !eval.HasPlan(e) {
		t.Fatal("no plan")
	}
	r, err := e.Decide(t.Context(), three(), config())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) != 3 || !strings.Contains(r.Errors[0].Err.Error(), "my/reap/dirs/mine/mine.rego:") {
		t.Errorf("have %v", r.Errors)
	}
}

// TestPreparedPoliciesDecideTheSame: policies that were prepared when the program was built decide, explain and search as those do that are compiled now, and are
// compiled when somebody asks for more than their plan.
func TestPreparedPoliciesDecideTheSame(t *testing.T) {
	t.Parallel()
	o := policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: policies.Files}}}
	built, err := policy.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Prepared = policies.Prepared
	prepared, err := policy.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if prepared.Plan() == nil {
		t.Fatal("what was prepared was not used")
	}
	if diff := gocmp.Diff(built.Rules(), prepared.Rules()); diff != "" {
		t.Errorf("rules (-built +prepared):\n%s", diff)
	}
	if prepared.Revision != built.Revision || !slices.Equal(prepared.Kinds(), built.Kinds()) {
		t.Errorf("revision %q, kinds %q", prepared.Revision, prepared.Kinds())
	}
	s := newMaker(6, 0.1).world(90)
	a, b := ready(t, built, eval.Limits{Timeout: time.Minute}), ready(t, prepared, eval.Limits{Timeout: time.Minute})
	want, err := a.Decide(t.Context(), s, config())
	if err != nil {
		t.Fatal(err)
	}
	have, err := b.Decide(t.Context(), s, config())
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, have); diff != "" {
		t.Errorf("(-built +prepared):\n%s", diff)
	}
	j := subject.Join(s, config())
	sub, _ := j.Subject(want.Decisions[0].ID)
	x, err := a.Explain(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Explain(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
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

// cache keeps what it is given.
type cache struct {
	data   map[string][]byte
	stored int
}

func (c *cache) Load(digest string) []byte { return c.data[digest] }

func (c *cache) Store(digest string, data []byte) {
	c.data[digest] = data
	c.stored++
}

// TestACachedPlanDecidesTheSame: policies of one's own are compiled once, and then only where something may go; what is damaged or of other files is passed over.
func TestACachedPlanDecidesTheSame(t *testing.T) {
	t.Parallel()
	trees := []policy.Tree{{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(rules.Finding(`input.dir.name == "x-review-0000000a"`)), Prefix: "my"}}
	kept := &cache{data: map[string][]byte{}}
	decide := func(c policy.Cache, trees []policy.Tree) (eval.Result, bool) {
		t.Helper()
		e, p, err := eval.LoadApart(t.Context(), policy.LoadOptions{Trees: trees, Cache: c}, eval.Limits{Timeout: time.Minute}, eval.Self())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		unbuilt := eval.Unbuilt(e)
		r, err := e.Decide(t.Context(), three(), config())
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(err, r.Errors)
		}
		if eval.Unbuilt(e) {
			t.Error("something goes that the rules themselves did not say")
		}
		if len(p.Rules()) == 0 {
			t.Error("no rules")
		}
		j := subject.Join(three(), config())
		sub, _ := j.Subject("dir:/w/x-review-0000000a")
		if x, err := e.Explain(t.Context(), sub); err != nil || x.Verdict != decision.Reap {
			t.Errorf("explained: %+v, %v", x, err)
		}
		return r, unbuilt
	}
	want, unbuilt := decide(kept, trees)
	if unbuilt || kept.stored != 1 {
		t.Fatalf("the first time: not built %v, kept %d", unbuilt, kept.stored)
	}
	have, unbuilt := decide(kept, trees)
	if !unbuilt || kept.stored != 1 {
		t.Errorf("the second time: not built %v, kept %d", unbuilt, kept.stored)
	}
	if diff := gocmp.Diff(want, have); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	reaped := 0
	for _, d := range have.Decisions {
		if d.Verdict == decision.Reap {
			reaped++
		}
	}
	if reaped == 0 {
		t.Error("nothing goes, so nothing had to be said by the rules themselves")
	}
	for digest, data := range kept.data {
		kept.data[digest] = data[:len(data)/3]
	}
	if _, unbuilt := decide(kept, trees); unbuilt {
		t.Error("what is damaged was used")
	}
	for digest, data := range kept.data {
		kept.data[digest] = data[:len(data)-1]
	}
	if have, _ := decide(kept, trees); !gocmp.Equal(want, have) {
		t.Error("a damaged plan decided")
	}
	other := &cache{data: map[string][]byte{}}
	decide(other, append(trees[:1:1], policy.Tree{Name: "mine", FS: rules.Tree(rules.Finding(`input.dir.name != "y"`)), Prefix: "my"}))
	for _, data := range other.data {
		for digest := range kept.data {
			kept.data[digest] = data
		}
	}
	if have, unbuilt := decide(kept, trees); unbuilt || !gocmp.Equal(want, have) {
		t.Error("what was prepared of other files was used")
	}
}

// TestAGuessNeedsNoCompiledRules: what is only asked to learn what is worth a question is not asked of the rules themselves, here or in a process apart; what is decided
// after it is.
func TestAGuessNeedsNoCompiledRules(t *testing.T) {
	t.Parallel()
	trees := []policy.Tree{{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(rules.Objection(`input.dir.name != "x-review-0000000a"`)), Prefix: "my"}}
	kept := &cache{data: map[string][]byte{}}
	for _, again := range []bool{false, true} {
		e, _, err := eval.LoadApart(t.Context(), policy.LoadOptions{Trees: trees, Cache: kept}, eval.Limits{Timeout: time.Minute}, eval.Self())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		settled, err := e.Prejudge(t.Context(), three(), config(), func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		for id, f := range settled {
			if want := id != "dir:/w/x-review-0000000a"; (f.Why != "") != want {
				t.Errorf("%s stays because %q, want that it is settled %v", id, f.Why, want)
			}
		}
		if len(settled) != len(three().Dirs) {
			t.Errorf("settled: %v", settled)
		}
		if eval.Unbuilt(e) != again {
			t.Errorf("not built: %v, want %v", eval.Unbuilt(e), again)
		}
		r, err := e.Decide(t.Context(), three(), config())
		if err != nil || len(r.Errors) > 0 || eval.Unbuilt(e) {
			t.Error("something goes that the rules themselves did not say", err, r.Errors)
		}
	}
}
