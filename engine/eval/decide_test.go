package eval_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// stock asks data.policies.main.decision of JSON documents, with nothing of the engine: what `opa eval` does.
func stock(t testing.TB) func(sub *subject.Subject) decision.Decision {
	ask := stockOf(t, nil)
	return func(sub *subject.Subject) decision.Decision { return ask(t, sub) }
}

// stockOf is stock with files of one's own beside the shipped ones.
func stockOf(t testing.TB, own map[string]string) func(t testing.TB, sub *subject.Subject) decision.Decision {
	t.Helper()
	options := []func(*rego.Rego){rego.Query("d := data.policies.main.decision"), rego.StrictBuiltinErrors(true)}
	files := rules.Texts(t, policies.Files)
	maps.Copy(files, own)
	for name, text := range files {
		options = append(options, rego.Module(name, text))
	}
	q := must.Get(rego.New(options...).PrepareForEval(t.Context()))(t)
	return func(t testing.TB, sub *subject.Subject) decision.Decision {
		var in any
		must.Do(t, json.Unmarshal(worlds.JSON(t, sub), &in))
		rs, err := q.Eval(context.Background(), rego.EvalInput(in))
		if err != nil || len(rs) != 1 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		var out struct {
			decision.Decision
			Scope bool `json:"in_scope"`
		}
		must.Do(t, json.Unmarshal(worlds.JSON(t, rs[0].Bindings["d"]), &out))
		out.InScope = out.Scope
		return out.Decision
	}
}

// reasons is what of a decision the policies say, in one order and with numbers of one type.
func reasons(t testing.TB, d decision.Decision) string {
	t.Helper()
	for _, rs := range [][]decision.Reason{d.Findings, d.Objections} {
		slices.SortFunc(rs, func(a, b decision.Reason) int {
			return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message), cmp.Compare(string(worlds.JSON(t, a.Evidence)), string(worlds.JSON(t, b.Evidence))))
		})
		for i := range rs {
			if len(rs[i].Evidence) == 0 {
				rs[i].Evidence = nil
			}
		}
	}
	plain := worlds.JSON(t, map[string]any{"verdict": d.Verdict, "findings": d.Findings, "objections": d.Objections})
	var loose any
	must.Do(t, json.Unmarshal(plain, &loose))
	return string(worlds.JSON(t, loose))
}

// TestDecideAgreesWithMain holds the engine's own verdict, made of sets it asks for by kind, to the policies' one line.
func TestDecideAgreesWithMain(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	e := worlds.Engine(t, rules.Shipped(t), eval.Limits{})
	main := stock(t)
	verdicts := map[string]int{}
	for _, missing := range []float64{0, 0.02, 0.2} {
		for seed := range uint64(stage.Trials(2, 4)) {
			m := worlds.New(seed, missing)
			s := m.World(120)
			have := must.Get(e.Decide(t.Context(), s, worlds.Config()))(t)
			if len(have.Errors) > 0 {
				t.Fatal(have.Errors)
			}
			decided := map[string]decision.Decision{}
			for _, d := range have.Decisions {
				decided[d.ID] = d
			}
			j := subject.Join(s, worlds.Config())
			for _, kind := range snapshot.KindNames() {
				for _, id := range j.IDs(kind) {
					sub, _ := j.Subject(id)
					want := main(sub)
					d, inScope := decided[id]
					if inScope != want.InScope {
						t.Fatalf("%s: in scope %v, main says %v", id, inScope, want.InScope)
					}
					if !inScope {
						continue
					}
					verdicts[kind+" "+d.Verdict]++
					if diff := gocmp.Diff(reasons(t, want), reasons(t, d)); diff != "" {
						t.Fatalf("%s (-main +engine):\n%s", id, diff)
					}
				}
			}
		}
	}
	for _, kind := range []string{"dir", "session", "process"} {
		for _, v := range []string{decision.Reap, decision.Spare} {
			if verdicts[kind+" "+v] == 0 {
				t.Errorf("no %s to %s among the generated ones: %v", kind, v, verdicts)
			}
		}
	}
}

// TestInputIsItsJSON holds the document that the policies get to the one that is published.
func TestInputIsItsJSON(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		s := worlds.New(seed, 0.1*float64(seed%3)).World(90)
		j := subject.Join(s, worlds.Config())
		input := eval.Inputs(j)
		for _, kind := range snapshot.KindNames() {
			for _, id := range j.IDs(kind) {
				sub, _ := j.Subject(id)
				want := must.Get(ast.InterfaceToValue(sub))(t)
				if have := input(sub); have.Compare(want) != 0 {
					t.Fatalf("%s: want\n%v\nhave\n%v", id, want, have)
				}
			}
		}
	}
}

// TestDecideIsTheSameWhoeverAsks decides one snapshot many times at once, on two workers each, and explains meanwhile.
func TestDecideIsTheSameWhoeverAsks(t *testing.T) {
	t.Parallel()
	e := worlds.Engine(t, rules.Shipped(t), eval.Limits{Workers: 2})
	s := worlds.New(5, 0.01).World(300)
	want := decided(t, e, s)
	j := subject.Join(s, defaults())
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			r, err := e.Decide(t.Context(), s, defaults())
			if err != nil {
				t.Error(err)
			}
			if diff := gocmp.Diff(want, r.Decisions); diff != "" {
				t.Errorf("(-first +later):\n%s", diff)
			}
		})
	}
	for _, id := range j.IDs(snapshot.KindDir)[:20] {
		sub, _ := j.Subject(id)
		if _, err := e.Explain(t.Context(), sub); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
}

func TestDecideCountsWhatItSaw(t *testing.T) {
	t.Parallel()
	s := worlds.New(5, 0).World(30)
	s.Tabs = map[string]snapshot.Tab{"tab:herdr/default/w1:t1": {Source: "herdr/default"}}
	r := must.Get(worlds.Engine(t, rules.Shipped(t), eval.Limits{}).Decide(t.Context(), s, defaults()))(t)
	want := map[string]int{"dir": 10, "session": 10, "process": 12, "tab": 1, "terminal": 0}
	if diff := gocmp.Diff(want, r.Seen); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if !slices.IsSortedFunc(r.Decisions, func(a, b decision.Decision) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("the decisions are not sorted by id")
	}
	j := subject.Join(s, defaults())
	for _, d := range r.Decisions {
		if diff := gocmp.Diff(j.Identity(d.ID), d.Identity); diff != "" || d.Label == "" || d.Owner == "" {
			t.Errorf("%+v: %s", d, diff)
		}
	}
}

func TestDecideStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := worlds.Engine(t, rules.Shipped(t), eval.Limits{}).Decide(ctx, worlds.New(1, 0).World(30), worlds.Config())
	if !errors.Is(err, context.Canceled) || len(r.Decisions) > 0 {
		t.Errorf("%v, %d decisions", err, len(r.Decisions))
	}
}

// twice is a judge that keeps everything, and then says that all of it may go.
type twice struct{ eval.Judge }

func (twice) AskAll(_ context.Context, r *eval.Round) error {
	for _, i := range r.Unanswered() {
		r.Answer(i, nil, errors.New("it was not evaluated"))
		r.Answer(i, &eval.Reasons{Findings: []decision.Reason{{Rule: "reap.dirs.disposable", Message: "it may go"}}}, nil)
	}
	return nil
}

// TestTheFirstAnswerCounts: a judge that answers again changes nothing.
func TestTheFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	e := eval.NewFor(rules.Shipped(t), eval.Limits{}, []string{"dir"}, "", twice{})
	r, err := e.Decide(t.Context(), worlds.Three(), worlds.Config())
	if err != nil || len(r.Decisions) != 3 || len(r.Errors) != 3 {
		t.Fatalf("%d decisions, %d errors, %v", len(r.Decisions), len(r.Errors), err)
	}
	for _, d := range r.Decisions {
		if d.Verdict != decision.Spare {
			t.Errorf("%s: %s", d.ID, d.Verdict)
		}
	}
}

// about is a rule for a kind, with what its METADATA says besides.
func about(plural, name, more string) map[string]string {
	return map[string]string{"reap/" + plural + "/" + name + "/" + name + ".rego": `# METADATA
# title: A rule
# description: It is about some candidates.
` + more + "package policies.reap." + plural + "." + name + `

in_scope if input.label

findings contains {"rule": "reap.` + plural + "." + name + `", "message": "m", "evidence": {}} if in_scope
`}
}

// TestCandidates: a collector reads in full what some rule can be about, and everything once a rule does not say.
func TestCandidates(t *testing.T) {
	t.Parallel()
	const marked, deleted = "# custom:\n#   candidates: [marked]\n", "# custom:\n#   candidates: [cwd_deleted, marked]\n"
	cases := map[string]struct {
		files []map[string]string
		want  []string
		all   bool
	}{
		"no rule":               {},
		"one class":             {files: []map[string]string{about("processes", "a", marked)}, want: []string{"marked"}},
		"the union":             {files: []map[string]string{about("processes", "a", marked), about("processes", "b", deleted)}, want: []string{"cwd_deleted", "marked"}},
		"one does not say":      {files: []map[string]string{about("processes", "a", marked), about("processes", "b", "")}, all: true},
		"another kind does not": {files: []map[string]string{about("processes", "a", marked), about("tabs", "b", "")}, want: []string{"marked"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more := map[string]string{}
			for _, f := range c.files {
				for path, text := range f {
					more[path] = text
				}
			}
			o := policy.LoadOptions{Trees: []policy.Tree{{Name: "x", FS: rules.Small(more), Prefix: "p"}}}
			here := must.Get(policy.Load(t.Context(), o))(t)
			e, there, err := sandbox.Load(t.Context(), o, eval.Limits{}, sandbox.Self())
			must.Do(t, err)
			_ = e.Close()
			for _, p := range []*policy.Policy{here, there} {
				if of, all := p.Candidates("process"); !slices.Equal(of, c.want) || all != c.all {
					t.Errorf("%q, %v, want %q, %v", of, all, c.want, c.all)
				}
			}
		})
	}
}

func TestCandidatesThatNothingPicksOut(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"misspelt":             about("processes", "a", "# custom:\n#   candidates: [market]\n"),
		"of another kind":      about("tabs", "a", "# custom:\n#   candidates: [marked]\n"),
		"of a kind without":    about("dirs", "a", "# custom:\n#   candidates: [marked]\n"),
		"no list":              about("processes", "a", "# custom:\n#   candidates: marked\n"),
		"empty":                about("processes", "a", "# custom:\n#   candidates: []\n"),
		"in a rule that keeps": {"protect/a/a.rego": "# METADATA\n# custom:\n#   candidates: [marked]\npackage policies.protect.a\n\nobjections contains {\"rule\": \"protect.a\", \"message\": \"m\", \"evidence\": {}} if input.hold\n"},
	} {
		_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "x", FS: rules.Small(files), Prefix: "p"}}})
		if err == nil || !strings.Contains(err.Error(), "candidates") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
