package eval_test

import (
	"context"
	"maps"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/wait"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// FuzzLoad: loading any policy ends, does not panic, and what it accepts is clean.
func FuzzLoad(f *testing.F) {
	attack.WithoutRaces(f)
	for _, text := range rules.Texts(f, policies.Files) {
		f.Add(text)
	}
	for _, body := range hostile {
		f.Add(rules.Objection(body)["protect/mine/mine.rego"])
	}
	for name := range rules.Violent {
		f.Add(rules.ViolentRule(name)["reap/dirs/mine/mine.rego"])
	}
	f.Add("package policies.protect.mine\n\n# METADATA\n# schemas:\n# - input: {}\nobjections contains {\"rule\": \"protect.mine\", \"message\": \"\", \"evidence\": {}} if input.dir.naem\n")
	f.Add("package policies.protect.mine\nimport rego.v1\nimport data.policies.lib.x as y\nx[k] := 1e999 if some k, v in input.dir\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 8<<10 { // the process apart bounds the time; here it is the size
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
		defer cancel()
		begin := time.Now()
		o := policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(map[string]string{"protect/mine/mine.rego": text + "\n"}), Prefix: "my"}}}
		p, err := policy.Load(ctx, o)
		if took := time.Since(begin); took > time.Minute {
			t.Fatalf("%s", took)
		}
		if err != nil {
			return
		}
		m, err := ast.ParseModuleWithOpts("x", text, ast.ParserOptions{ProcessAnnotation: true})
		if err != nil {
			t.Fatalf("loaded, and cannot be parsed: %v", err)
		}
		if bad := lint.Safety(m); len(bad) > 0 {
			t.Errorf("loaded in spite of %v", bad)
		}
		e := worlds.Engine(t, p, eval.Limits{Timeout: 200 * time.Millisecond, HeapBytes: 32 << 20, Workers: 1})
		r, err := e.Decide(ctx, worlds.Three(), worlds.Config())
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		for _, d := range r.Decisions { // it may object, and that is all that it may do
			if len(d.Findings) > 1 || len(d.Findings) == 1 && d.Findings[0].Rule != "reap.dirs.disposable" {
				t.Errorf("%s: %v", d.ID, d.Findings)
			}
		}
	})
}

// FuzzPlan: the plan of the rules that the engine asks, and the rules as they are written, which main gathers, come to the same decision,
// whatever is missing, with the shipped policies and with some of one's own beside them.
func FuzzPlan(f *testing.F) {
	attack.WithoutRaces(f)
	own := map[string]string{}
	for _, files := range []map[string]string{
		rules.Lib(rules.Asks(20)),
		{"protect/mine/mine.rego": "package policies.protect.mine\n\n" + rules.Diamond(14, "h", "%s0 if input.dir.name == \"\"", "N if {\n\tnot P\n\tinput.age > 0\n}\n\nN if input.idle < 10") + "\nobjections contains {\"rule\": \"protect.mine\", \"message\": $\"{input.label}\", \"evidence\": {}} if not h14\n"},
	} {
		maps.Copy(own, files)
	}
	mine := policy.Tree{Name: "mine", FS: rules.Tree(own), Prefix: "my"}
	e, both := worlds.Engine(f, rules.Shipped(f), eval.Limits{Timeout: time.Minute}), worlds.Engine(f, rules.Load(f, embedded, mine), eval.Limits{Timeout: time.Minute})
	main, mains := stockOf(f, nil), stockOf(f, own)
	for seed := range uint64(8) {
		f.Add(seed, byte(seed*30))
	}
	f.Fuzz(func(t *testing.T, seed uint64, missing byte) {
		s := worlds.New(seed, float64(missing)/512).World(24)
		same(t, e, main, s)
		same(t, both, mains, s)
	})
}

// same holds the engine's decisions on a snapshot to main's.
func same(t *testing.T, e *eval.Engine, main func(testing.TB, *subject.Subject) decision.Decision, s *snapshot.Snapshot) {
	t.Helper()
	r, err := e.Decide(t.Context(), s, worlds.Config())
	if err != nil || len(r.Errors) > 0 {
		t.Fatal(err, r.Errors)
	}
	have := map[string]decision.Decision{}
	for _, d := range r.Decisions {
		have[d.ID] = d
	}
	j := subject.Join(s, worlds.Config())
	for _, kind := range snapshot.KindNames() {
		for _, id := range j.IDs(kind) {
			sub, _ := j.Subject(id)
			want, d := main(t, sub), have[id]
			if want.InScope != d.InScope {
				t.Fatalf("%s: in scope %v, main says %v", id, d.InScope, want.InScope)
			}
			if diff := gocmp.Diff(reasons(t, want), reasons(t, d)); want.InScope && diff != "" {
				t.Fatalf("%s (-main +engine):\n%s", id, diff)
			}
		}
	}
}
