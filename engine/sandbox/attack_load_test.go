package sandbox_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

func loadApart(t *testing.T, files map[string]string, l eval.Limits) (*eval.Engine, error) {
	t.Helper()
	e, _, err := sandbox.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{
		{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(files), Prefix: "my"},
	}}, l, sandbox.Self())
	if err == nil {
		t.Cleanup(func() { _ = e.Close() })
	}
	return e, err
}

// TestAttackLoading: policies that would take minutes, gigabytes or the whole stack to load are refused in a moment, with the file, or
// load and decide as others do. want is a part of what is said; empty for those that may load.
func TestAttackLoading(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	a := attack.New(t, "a policy takes memory or time while it is parsed, checked, compiled or prepared")
	many := func(n int, f string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, f, i)
		}
		return b.String()
	}
	bomb := "# METADATA\n# custom:\n#   a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("#   a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	cases := map[string]struct {
		files map[string]string
		want  string
	}{
		"helpers that ask twice, 16":       {rules.Lib(rules.Asks(16)), ""},
		"helpers that ask twice, 24":       {rules.Lib(rules.Asks(24)), ""},
		"helpers that ask twice, 400":      {rules.Lib(rules.Asks(400)), ""},
		"helpers that deny twice, 40":      {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\n" + rules.Diamond(40, "h", "%s0 if input.dir.name == \"\"", "N if {\n\tnot P\n\tnot P\n}") + "\nobjections contains {\"rule\": \"protect.mine\", \"message\": \"\", \"evidence\": {}} if {\n\th40\n\tnot h40\n}\n"}, ""},
		"a chain of helpers":               {rules.Lib(rules.Diamond(3000, "h", "%s0 if input.dir.name != \"\"", "N if P") + "\ntop if h3000\n"), ""},
		"brackets":                         {rules.Lib("top if " + strings.Repeat("[", 100000)), "nested deeper"},
		"braces":                           {rules.Lib("top if " + strings.Repeat("{", 100000) + strings.Repeat("}", 100000)), "nested deeper"},
		"parentheses":                      {rules.Lib("top if " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000)), "nested deeper"},
		"brackets after a quote in a rune": {rules.Lib("x := `\"`\n\ntop if " + strings.Repeat("[", 5000)), "nested deeper"},
		"brackets in a template":           {rules.Lib("top if $\"" + strings.Repeat("{$\"", 5000)), "my/lib/x/x.rego"},
		"minus signs":                      {rules.Lib("top if " + strings.Repeat("-", 100000) + "1 == 1\n"), "my/lib/x/x.rego"},
		"sums":                             {rules.Lib("top if 0" + strings.Repeat(" + 1", 20000) + " == 1\n"), ""},
		"else":                             {rules.Lib("top if input.age == 0" + strings.Repeat(" else := true if input.age == 1", 10000) + "\n"), ""},
		"nots":                             {rules.Lib("top if " + strings.Repeat("not ", 100000) + "input.age\n"), "my/lib/x/x.rego"},
		"a long reference":                 {rules.Lib("top if input" + strings.Repeat(".dir", 100000) + "\n"), ""},
		"comprehensions in each other":     {rules.Lib("top if count(" + strings.Repeat("[x | x := ", 90) + "1" + strings.Repeat("]", 90) + ") == 1\n"), ""},
		"a number of a billion digits":     {rules.Lib("top if input.age > 1e1000000000\n"), "too big"},
		"a number near nothing":            {rules.Lib("top if input.age > 1e-1000000000\n"), "too large to count with"},
		"a number written out":             {rules.Lib("top if input.age > 1" + strings.Repeat("0", 5000) + "\n"), "too large to count with"},
		"a set of 20,000 pairs":            {rules.Lib("s := {" + strings.TrimSuffix(many(20000, "[%d, 7],"), ",") + "}\n\ntop if [1, 2] in s\n"), ""},
		"10,000 rules":                     {rules.Lib(many(10000, "r%d if true\n") + "top if r0\n"), ""},
		"5,000 bodies of one rule":         {rules.Lib(many(5000, "top if input.age == %d\n")), ""},
		"types that double":                {rules.Lib(rules.Diamond(60, "v", "%s0 := [input.id, 1]", "N := [P, P]") + rules.Diamond(60, "w", "%s0 := [input.kind, 1]", "N := [P, P]") + "\ntop if v60 == w60\n"), ""},
		"types that double, objects":       {rules.Lib(rules.Diamond(60, "v", "%s0 := {\"a\": 1}", "N := {\"a\": P, \"b\": P}") + rules.Diamond(60, "w", "%s0 := {\"a\": 2}", "N := {\"a\": P, \"b\": P}") + "\ntop if v60 == w60\n"), ""},
		"aliases in METADATA":              {rules.Lib(bomb + "top if true\n"), "my/lib/x/x.rego"},
		"METADATA nested":                  {rules.Lib("# METADATA\n# custom: " + strings.Repeat("[", 50000) + "\ntop if true\n"), "my/lib/x/x.rego"},
		"a file of two megabytes":          {rules.Lib("#" + strings.Repeat("x", 2<<20) + "\ntop if true\n"), "are the most"},
		"a manifest of a megabyte":         {map[string]string{".manifest": "{\"x\": \"" + strings.Repeat("x", 1<<20) + "\"}", "lib/x/x.rego": "package policies.lib.x\n\ntop := 1\n"}, "are the most"},
		"a manifest that is nested":        {map[string]string{".manifest": strings.Repeat("[", 60000), "lib/x/x.rego": "package policies.lib.x\n\ntop := 1\n"}, "read manifest"},
		"a manifest of the old Rego":       {map[string]string{".manifest": `{"rego_version": 0}`, "lib/x/x.rego": "package policies.lib.x\n\ntop := 1\n"}, "rego_version 0"},
		"a revision that moves the cursor": {map[string]string{".manifest": `{"revision": "\u001b[2J"}`, "lib/x/x.rego": "package policies.lib.x\n\ntop := 1\n"}, "cannot be printed"},
		"folders without an end":           {map[string]string{strings.Repeat("a/", 200) + "x.rego": "package policies.lib.x\n"}, "nested deeper"},
		"the package of the engine":        {map[string]string{"winnow_fused/dirs/x.rego": "package winnow_fused.dirs\n\nin_scope := true\n"}, "write package"},
		"the package of the engine asked":  {rules.Finding("data.winnow_fused.dirs.in_scope"), "not defined"},
		"the system's package":             {map[string]string{"system/x.rego": "package system\n\nmain := 1\n"}, "write package"},
		"a part of the input by a name":    {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nimport input.dir as d\n\nobjections contains {\"rule\": \"protect.mine\", \"message\": \"\", \"evidence\": {}} if d.naem == \"\"\n"}, "naem"},
		"everything at once":               {rules.Lib(rules.Asks(24) + rules.Diamond(60, "v", "%s0 := [input.id, 1]", "N := [P, P]") + rules.Diamond(60, "w", "%s0 := [input.kind, 1]", "N := [P, P]") + "\ntop if v60 == w60\n"), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			e, err := loadApart(t, c.files, eval.Limits{Load: 1500 * time.Millisecond})
			took := time.Since(begin)
			text := fmt.Sprint(err)
			t.Logf("%s: %s, %.200s", name, took.Round(time.Millisecond), text)
			var refused lint.Refusals
			switch {
			case took > wait.Patience:
				a.Lost("%s: %s", name, took)
			case err != nil && !errors.As(err, &refused):
				a.Lost("%s: no refusal: %v", name, err)
			case c.want != "" && !strings.Contains(text, c.want):
				a.Lost("%s: want %q, have %.300s", name, c.want, text)
			case len(text) > 300000:
				a.Lost("%s: %d bytes were said", name, len(text))
			case err == nil && !decides(t, e):
				a.Lost("%s: it was loaded and does not decide", name)
			default:
				a.Held()
			}
		})
	}
}

// decides reports whether every candidate gets a decision.
func decides(t *testing.T, e *eval.Engine) bool {
	t.Helper()
	r, err := e.Decide(t.Context(), worlds.Three(), worlds.Config())
	if err != nil || len(r.Decisions) != 3 {
		t.Errorf("%v %v", r, err)
		return false
	}
	return true
}

// TestManyHelpersDecideTheSame: helpers that ask helpers twice over are asked once each, with the answer of the few.
func TestManyHelpersDecideTheSame(t *testing.T) {
	t.Parallel()
	of := func(n int) eval.Result {
		p := rules.Load(t, policy.Tree{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, policy.Tree{Name: "mine", FS: rules.Tree(rules.Lib(rules.Asks(n))), Prefix: "my"})
		s := worlds.New(1, 0.1).World(60)
		maps.Copy(s.Dirs, worlds.Three().Dirs)
		r, err := worlds.Engine(t, p, eval.Limits{}).Decide(t.Context(), s, worlds.Config())
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(err, r.Errors)
		}
		return r
	}
	want, found := of(1), 0
	for _, d := range want.Decisions {
		if len(d.Findings) > 0 {
			found++
		}
	}
	if found < 3 {
		t.Fatalf("%d candidates with a finding", found)
	}
	for _, n := range []int{12, 24, 200} {
		if diff := gocmp.Diff(want, of(n)); diff != "" {
			t.Errorf("%d helpers (-one +many):\n%s", n, diff)
		}
	}
}

// TestAttackEveryCandidate: a rule that never ends takes its deadline of some candidates, and not of every one.
func TestAttackEveryCandidate(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	a := attack.New(t, "a rule that never ends, or ends its process, for every one of many candidates")
	for _, name := range []string{"every of every without an end", "sprintf wide", "shared lists in a message"} {
		files := rules.ViolentRule(name)
		for path := range files {
			files[path] = strings.Replace(files[path], `input.dir.name == "bad-review-0000000b"`, `input.dir.name != "good"`, 1)
		}
		e, err := loadApart(t, files, eval.Limits{Timeout: 100 * time.Millisecond, HeapBytes: 64 << 20})
		must.Do(t, err)
		s := worlds.Three()
		for i := range 300 {
			n := fmt.Sprintf("n-review-%08x", i)
			s.Dirs["dir:/w/"+n] = snapshot.Dir{Source: "dirs//w", Name: n, Path: "/w/" + n}
		}
		begin := time.Now()
		r, err := e.Decide(t.Context(), s, worlds.Config())
		spared := 0
		for _, d := range r.Decisions {
			if d.Verdict == "spare" && d.Unknown() {
				spared++
			}
		}
		t.Logf("%s: %s, %v ... %v", name, time.Since(begin), r.Errors[0].Err, r.Errors[len(r.Errors)-1].Err)
		if err != nil || len(r.Errors) != 303 || spared != 303 || time.Since(begin) > time.Minute {
			a.Lost("%s: %v, %d errors, %d spared, %s", name, err, len(r.Errors), spared, time.Since(begin))
			continue
		}
		a.Held()
	}
}
