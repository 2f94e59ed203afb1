package explain_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
)

// asker decides documents by one rule that reaps folders and one that keeps them, with stock OPA and nothing of the engine that decides.
type asker struct {
	query rego.PreparedEvalQuery
	// asked counts the decisions; broken is what every one gives instead of an answer from the second on.
	asked  int
	broken error
}

// ask prepares a policy of one rule that reaps, by these conditions, and one that keeps, by those.
func ask(t *testing.T, reaps, keeps string) (*policy.Policy, *asker) {
	t.Helper()
	files := rules.Finding(reaps)
	for name, text := range rules.Objection(keeps) {
		files[name] = text
	}
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "made up", FS: rules.Tree(files)}}})
	must.Do(t, err)
	q, err := rego.New(rego.Compiler(p.Compiler()), rego.Query("findings := data.policies.reap.dirs.mine.findings; objections := data.policies.protect.mine.objections; s := [x | x := data.policies.reap.dirs.mine.in_scope]")).
		PrepareForEval(t.Context())
	must.Do(t, err)
	return p, &asker{query: q}
}

// Decide implements explain.Decider.
func (a *asker) Decide(ctx context.Context, in ast.Value) (explain.Answer, error) {
	if a.asked++; a.asked > 1 && a.broken != nil {
		return explain.Answer{}, a.broken
	}
	rs, err := a.query.Eval(ctx, rego.EvalParsedInput(in))
	if err != nil {
		return explain.Answer{}, err
	}
	out := explain.Answer{Verdict: decision.Spare}
	if found, ok := rs[0].Bindings["findings"].([]any); ok && len(found) > 0 {
		out.Found, out.Findings = true, []string{"reap.dirs.mine"}
	}
	if objects, ok := rs[0].Bindings["objections"].([]any); ok && len(objects) > 0 {
		out.Objections = []string{"protect.mine"}
	}
	if out.Found && len(out.Objections) == 0 {
		out.Verdict = decision.Reap
	}
	return out, nil
}

// Trace implements explain.Decider.
func (a *asker) Trace(ctx context.Context, in ast.Value) (*explain.Trace, error) {
	t := explain.NewTrace()
	_, err := a.query.Eval(ctx, rego.EvalParsedInput(in), rego.EvalQueryTracer(t), rego.EvalRuleIndexing(false))
	return t, err
}

// document is a folder with these facts about its repository and these holders.
func document(t *testing.T, git, holders string) ast.Value {
	t.Helper()
	v, err := ast.ValueFromReader(strings.NewReader(fmt.Sprintf(
		`{"kind": "dir", "id": "dir:/w/x", "dir": {"name": "x", "path": "/w/x", "git": %s, "holders": %s}, "source": {"name": "dirs//w", "status": "ok"}}`, git, holders)))
	must.Do(t, err)
	return v
}

// told is what was found, in a line.
func told(o decision.Counterfactual) string {
	var ways []string
	for _, w := range o.Ways {
		var facts []string
		for _, c := range w {
			to := fmt.Sprint(c.To)
			if c.Gone {
				to = "gone"
			}
			facts = append(facts, strings.TrimSpace(fmt.Sprintf("%s %s to %s", c.Fact, c.Bound, to)))
		}
		ways = append(ways, strings.Join(facts, ", "))
	}
	return strings.Join(ways, "; ")
}

const never = `input.dir.name == "never"`

// TestSearch looks for ways to the other verdict of one folder.
func TestSearch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reaps, keeps, git, holders string
		verdict, want, limit       string
	}{
		"one fact that must be true":         {`input.dir.git.landed == true`, never, `{"landed": false}`, `[]`, decision.Reap, "input.dir.git.landed  to true", ""},
		"one number":                         {`input.dir.git.ahead == 0`, never, `{"ahead": 3}`, `[]`, decision.Reap, "input.dir.git.ahead  to 0", ""},
		"two facts together":                 {"input.dir.git.landed == true\n\tinput.dir.git.ahead == 0", never, `{"landed": false, "ahead": 2}`, `[]`, decision.Reap, "input.dir.git.ahead  to 0, input.dir.git.landed  to true", ""},
		"a fact that is enough, of two":      {"input.dir.git.landed == true\n\tinput.dir.git.ahead == 0", never, `{"landed": true, "ahead": 2}`, `[]`, decision.Reap, "input.dir.git.ahead  to 0", ""},
		"a reason and what keeps":            {`input.dir.git.landed == true`, `input.dir.git.locked == true`, `{"landed": false, "locked": true}`, `[]`, decision.Reap, "input.dir.git.landed  to true, input.dir.git.locked  to false", ""},
		"what keeps alone":                   {`input.dir.git.landed == true`, `input.dir.git.locked == true`, `{"landed": true, "locked": true}`, `[]`, decision.Reap, "input.dir.git.locked  to false", ""},
		"what would keep it":                 {`input.dir.git.landed == true`, never, `{"landed": true}`, `[]`, decision.Spare, "input.dir.git.landed  to false", ""},
		"a name is not tried":                {never, never, `{}`, `[]`, decision.Reap, "", "no single fact would change this"},
		"a name that keeps is not tried":     {`input.dir.git.landed == true`, `input.dir.name == "x"`, `{"landed": true}`, `[]`, decision.Reap, "", "it would not get past protect.mine"},
		"one of a list, and not all of them": {`input.dir.git.landed == true`, "some holder in input.dir.holders\n\tholder.pid == 7", `{"landed": true}`, `[{"pid": 7, "name": "a", "how": "cwd"}, {"pid": 8, "name": "b", "how": "cwd"}]`, decision.Reap, "input.dir.holders[0]  to gone", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, a := ask(t, c.reaps, c.keeps)
			in := document(t, c.git, c.holders)
			o := must.Get(explain.Search(t.Context(), p, "dir", in, a, 500, nil))(t)
			if o.Verdict != c.verdict || told(o) != c.want || !strings.HasPrefix(o.Limit, c.limit) || (o.Limit == "") != (c.limit == "") {
				t.Errorf("to %s: %q (%s), want to %s: %q (%s)", o.Verdict, told(o), o.Limit, c.verdict, c.want, c.limit)
			}
			if o.Decided < 1 || o.Decided > 500 {
				t.Errorf("%d decisions", o.Decided)
			}
			// The same way is found at once where it is tried first.
			if len(o.Ways) == 1 && c.verdict == decision.Reap {
				again, err := explain.Search(t.Context(), p, "dir", in, a, 500, o.Ways)
				if err != nil || told(again) != told(o) || again.Decided > o.Decided {
					t.Errorf("%q in %d decisions, and at first %q in %d (%v)", told(again), again.Decided, told(o), o.Decided, err)
				}
			}
		})
	}
}

// TestSearchEnds: at its number of decisions, at its time, and with what went wrong.
func TestSearchEnds(t *testing.T) {
	t.Parallel()
	const reaps, git = "input.dir.git.landed == true\n\tinput.dir.git.ahead == 0", `{"landed": false, "ahead": 2}`
	const cut = "what would change this was not found: the search was cut short"
	p, a := ask(t, reaps, never)
	in := document(t, git, `[]`)
	for most := 1; most < 4; most++ {
		o, err := explain.Search(t.Context(), p, "dir", in, a, most, nil)
		if err != nil || len(o.Ways) > 0 || o.Limit != cut || o.Decided > most {
			t.Errorf("after %d decisions: %+v, %v", most, o, err)
		}
	}
	over, end := context.WithCancel(t.Context())
	end()
	if o, err := explain.Search(over, p, "dir", in, a, 500, nil); err != nil || len(o.Ways) > 0 || o.Limit != cut {
		t.Errorf("out of time: %+v, %v", o, err)
	}
	a.asked, a.broken = 0, errors.New("broken")
	if o, err := explain.Search(t.Context(), p, "dir", in, a, 500, nil); !errors.Is(err, a.broken) || len(o.Ways) > 0 {
		t.Errorf("broken: %+v, %v", o, err)
	}
}
