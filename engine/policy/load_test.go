package policy_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
)

func load(t testing.TB, trees ...policy.Tree) *policy.Policy {
	t.Helper()
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: trees})
	must.Do(t, err)
	return p
}

func TestLoadSaysWhatItLoaded(t *testing.T) {
	t.Parallel()
	p := load(t, policy.Tree{Name: "embedded", FS: rules.Small(nil), Prefix: "policies"})
	if diff := cmp.Diff("1.2.3", p.Revision); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, f := range p.Files {
		names = append(names, f.Name)
	}
	want := []string{"policies/.manifest", "policies/protect/held/held.rego", "policies/reap/dirs/disposable/disposable.rego"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	rules := map[string]policy.Rule{
		"reap.dirs.disposable": {
			ID: "reap.dirs.disposable", File: "policies/reap/dirs/disposable/disposable.rego", Line: 17,
			Title: "A disposable folder", Description: "Its name says so.",
		},
		"protect.held": {
			ID: "protect.held", File: "policies/protect/held/held.rego", Line: 9, Title: "Held", Description: "There is a hold on it.",
		},
	}
	if diff := cmp.Diff(rules, p.Rules()); diff != "" {
		t.Error(diff)
	}
}

func TestDigestIsOfWhatWasLoaded(t *testing.T) {
	t.Parallel()
	of := func(files map[string]string) string {
		return load(t, policy.Tree{Name: "x", FS: rules.Small(files), Prefix: "p"}).Digest
	}
	base := of(nil)
	if !strings.HasPrefix(base, "sha256:") || len(base) != len("sha256:")+64 {
		t.Fatalf("digest %q", base)
	}
	same := map[string]map[string]string{
		"a test":           {"protect/held/held_test.rego": "package policies.protect.held_test\n"},
		"some other file":  {"README.md": "hello"},
		"a hidden folder":  {".git/x.rego": "nonsense"},
		"the same, loaded": nil,
	}
	for name, files := range same {
		if have := of(files); have != base {
			t.Errorf("%s changed the digest", name)
		}
	}
	other := map[string]map[string]string{
		"a comment":  {"protect/held/held.rego": rules.SmallProtect + "# one more\n"},
		"a manifest": {".manifest": `{"revision": "1.2.4", "roots": ["policies"]}`},
		"a file":     {"protect/held/more.rego": "package policies.protect.held\n"},
		"a name":     {"protect/held/held.rego": "", "protect/held/kept.rego": rules.SmallProtect},
	}
	for name, files := range other {
		if have := of(files); have == base {
			t.Errorf("%s did not change the digest", name)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const mine, reap = "my/protect/mine/mine.rego", "my/reap/dirs/mine/mine.rego"
	cases := map[string]struct {
		files map[string]string
		place string
		says  []string
	}{
		"a syntax error":                   {rules.Objection("input.kind := := 1"), mine + ":4", []string{":= is not expected here"}},
		"an unknown field":                 {rules.Objection("input.dir.naem == \"\""), mine + ":4", []string{"input.dir.naem", "did you mean name?"}},
		"an unknown field at the top":      {rules.Objection("input.hodl"), mine + ":4", []string{"input.hodl", "did you mean hold?"}},
		"an unknown field of a local":      {rules.Objection("d := input.dir.git\n\td.locket == true"), mine + ":5", []string{"locket", "did you mean locked?"}},
		"an unknown field in a list":       {rules.Objection("some e in input.entries\n\te.statsu == \"\""), mine + ":5", []string{"statsu", "did you mean status?"}},
		"an unknown field in the config":   {rules.Objection("input.config.grace.dirr > 0"), mine + ":4", []string{"dirr", "did you mean dir?"}},
		"an unknown field under a not":     {rules.Objection("not input.dir.symlin"), mine + ":4", []string{"symlin", "did you mean symlink?"}},
		"a field of a fact without fields": {rules.Objection("input.dir.name.first == \"\""), mine + ":4", []string{"input.dir.name.first"}},
		"a clock":                          {rules.Objection("time.now_ns() > 0"), mine + ":4", []string{"time.now_ns is not allowed", "input.now"}},
		"the network":                      {rules.Objection(`http.send({"method": "get", "url": "http://x"}).status_code == 1`), mine + ":4", []string{"http.send is not allowed"}},
		"the environment":                  {rules.Objection("opa.runtime().env.HOME == \"\""), mine + ":4", []string{"opa.runtime is not allowed"}},
		"chance":                           {rules.Objection(`rand.intn("x", 2) == 1`), mine + ":4", []string{"rand.intn is not allowed"}},
		"a shift without an end":           {rules.Objection("bits.lsh(1, 2) == 4"), mine + ":4", []string{"bits.lsh is not allowed"}},
		"object.get":                       {rules.Objection(`object.get(input, "typo", 1) == 1`), mine + ":4", []string{"object.get is not allowed", "misspelt"}},
		"an unknown function":              {rules.Objection("nosuch(1)"), mine + ":4", []string{"undefined function nosuch", "define"}},
		"an unknown rule":                  {rules.Objection("data.policies.lib.nosuch.rule"), mine + ":4", []string{"data.policies.lib.nosuch.rule is not defined"}},
		"other data":                       {rules.Objection("data.mine.list[_]"), mine + ":4", []string{"data.mine.list", "not defined"}},
		"an unused variable":               {rules.Objection("x := 1"), mine + ":4", []string{"x gets a value that nothing uses"}},
		"a number with a text":             {rules.Objection(`input.age == "old"`), mine + ":4", []string{"different types", "left is a number, right is a text"}},
		"a with":                           {rules.Objection(`input.kind == "dir" with input.kind as "tab"`), mine + ":4", []string{"with"}},
		"sprintf where it keeps":           {rules.Objection(`sprintf("%s", [input.label]) == ""`), mine + ":4", []string{"sprintf", "template string"}},
		"a not where it reaps":             {rules.Finding("not input.dir.symlink"), reap + ":6", []string{"not in a rule that reaps"}},
		"a package that is not its folder": {map[string]string{"protect/mine/mine.rego": "package policies.protect.yours\n"}, mine + ":1", []string{"policies.protect.yours", "write package policies.protect.mine"}},
		"a package outside policies":       {map[string]string{"protect/mine/mine.rego": "package mine\n"}, mine + ":1", []string{"package mine", "write package policies.protect.mine"}},
		"a package outside its roots": {
			map[string]string{".manifest": `{"roots": ["policies/protect"]}`, "reap/dirs/mine/mine.rego": rules.Finding("true")["reap/dirs/mine/mine.rego"]},
			reap + ":1", []string{"outside the roots"},
		},
		"a broken manifest":          {map[string]string{".manifest": "{", "lib/x/x.rego": "package policies.lib.x\n"}, "my/.manifest", []string{"read manifest"}},
		"a package that nobody asks": {map[string]string{"guard/x/x.rego": "package policies.guard.x\n"}, "my/guard/x/x.rego:1", []string{"nothing asks package policies.guard.x", "move the file to lib/x/"}},
		"a kind that there is not":   {map[string]string{"reap/files/x/x.rego": "package policies.reap.files.x\n"}, "my/reap/files/x/x.rego:1", []string{"files is no kind; kinds are tabs, sessions"}},
		"a rule in the root": {
			map[string]string{"mine.rego": rules.Objection("true")["protect/mine/mine.rego"]}, "my/mine.rego:1", []string{"move the file to protect/mine/, and write package policies.protect.mine"},
		},
		"a rule in the root of another package": {
			map[string]string{"own.rego": "package own\n\nin_scope if input.dir.name\n"}, "my/own.rego:1", []string{"move the file to reap/dirs/own/, and write package policies.reap.dirs.own"},
		},
		"a rule in the root of no kind": {
			map[string]string{"own.rego": "package own\n\nin_scope if input.label\n"}, "my/own.rego:1", []string{"move the file to reap/<kind>/own/", "<kind> is one of tabs, sessions, terminals, processes, dirs"},
		},
		"the worst first": {
			map[string]string{"mine.rego": "package policies\n\nobjections contains 1 if http.send({}).x\n"}, "nothing was loaded:\nmy/mine.rego:3", []string{"http.send is not allowed", "move the file to protect/mine/"},
		},
		"a package of another tree":      {map[string]string{"protect/held/more.rego": rules.SmallProtect}, "my/protect/held/more.rego:4", []string{"is also in policies/protect/held/held.rego"}},
		"a package without objections":   {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nx := 1\n"}, mine + ":1", []string{"no rule objections"}},
		"a package without in_scope":     {map[string]string{"reap/dirs/mine/mine.rego": "package policies.reap.dirs.mine\n\nfindings contains {\"rule\": \"reap.dirs.mine\", \"message\": \"\", \"evidence\": {}}\n"}, reap + ":1", []string{"no rule in_scope"}},
		"objections that are no set":     {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nobjections := {1}\n"}, mine + ":3", []string{"not a set of reasons"}},
		"objections of something else":   {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nobjections contains \"no\"\n"}, mine + ":3", []string{"not written as a reason"}},
		"a reason without a message":     {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nobjections contains {\"rule\": \"protect.mine\", \"evidence\": {}}\n"}, mine + ":3", []string{"a reason without message"}},
		"a rule that is not its package": {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nobjections contains {\"rule\": \"protect.held\", \"message\": \"\", \"evidence\": {}}\n"}, mine + ":3", []string{`rule "protect.held" is not its package`}},
		"in_scope that is a number":      {map[string]string{"reap/dirs/mine/mine.rego": strings.Replace(rules.Finding("true")["reap/dirs/mine/mine.rego"], "in_scope if", "in_scope := 7 if", 1)}, reap + ":3", []string{"in_scope"}},
		"an object built key by key":     {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nby_id[e.id] := e if some e in input.entries\n"}, "my/lib/x/x.rego:3", []string{"key by key"}},
		"a set built key by key":         {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nby_id[e.id] contains e if some e in input.entries\n"}, "my/lib/x/x.rego:3", []string{"key by key"}},
		"a field of a parameter":         {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nover(e) if e.terminal == true\n"}, "my/lib/x/x.rego:3", []string{"reads e.terminal of a parameter"}},
		"a field of a parameter's item":  {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nover(es) if {\n\tsome e in es\n\tx := e\n\tx.terminal == true\n}\n"}, "my/lib/x/x.rego:3", []string{"of a parameter"}},
		"a not in disguise":              {rules.Finding(`count([x | x := input.age]) == 0`), reap + ":6", []string{"not in disguise", "state positively"}},
		"one the other way round":        {rules.Finding(`1 > count({x | some x in input.holders})`), reap + ":6", []string{"not in disguise"}},
		"one that a library has":         {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nnone if count([x | x := input.age]) < 1\n"}, "my/lib/x/x.rego:3", []string{"not in disguise"}},
		"one by a rule's name":           {disguised("count(_old) == 0"), reap + ":6", []string{"not in disguise: it counts _old", "input.age is missing", "state in the same body"}},
		"one by a local name":            {rules.Finding("found := [x | x := input.age]\n\tn := count(found)\n\tn < 1"), reap + ":8", []string{"not in disguise"}},
		"one by the name of a union":     {disguised("0 == count(_either)"), reap + ":6", []string{"it counts _either", "input.age is missing"}},
		"one of a default":               {disguised("count(_listed) == 0"), reap + ":6", []string{"input.config.protected is missing"}},
		"one whose guard is another's":   {disguised("input.idle > 0\n\tcount(_old) == 0"), reap + ":7", []string{"input.age is missing"}},
		"one whose guard always holds":   {disguised("[x | x := input.age] != [1]\n\t$\"{input.age}\" != \"\"\n\tcount(_old) == 0"), reap + ":8", []string{"input.age is missing"}},
		"one of elements":                {disguised("count(input.holders) > 0\n\tcount(_using) == 0"), reap + ":7", []string{"holder.name is missing"}},
		"one of another package's rule":  {disguised("count(_shaped) == 0"), reap + ":6", []string{"data.policies.lib.x.shapes is missing"}},
		"rules that need each other":     {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\na if b\n\nb if a\n"}, "my/lib/x/x.rego:3", []string{"a rule needs itself: lib.x.a -> lib.x.b -> lib.x.a"}},
		"an empty tree":                  {nil, "my", []string{"no policies in it"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{
				{Name: "embedded", FS: rules.Small(nil), Prefix: "policies"}, {Name: "mine", FS: rules.Tree(c.files), Prefix: "my"},
			}})
			var refused lint.Refusals
			if !errors.As(err, &refused) {
				t.Fatalf("want refusals, have %v", err)
			}
			for _, want := range append(c.says, c.place+": ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in:\n%v", want, err)
				}
			}
			for _, r := range refused {
				if r.Fix == "" {
					t.Errorf("no word of what to do in: %v", r)
				}
				if !slices.ContainsFunc(lint.Classes, func(c lint.Class) bool { return c.ID == r.Class }) {
					t.Errorf("no known class, but %q: %v", r.Class, r)
				}
				if r.Line > 0 && (r.Column == 0 || r.Text == "") && r.Class != lint.ClassSyntax && r.Class != lint.ClassLimit && r.Class != lint.ClassCustom {
					t.Errorf("no column or no text of the line: %+v", r)
				}
			}
		})
	}
}

// disguised is a rule with this body in a package that has sets to count, below it.
func disguised(body string) map[string]string {
	files := rules.Finding(body)
	files["reap/dirs/mine/mine.rego"] += `
_old contains input.age if input.age > 5

_either := _old | {x | some x in input.holders}

default _listed := []

_listed := input.config.protected

_plain := input.holders

_using contains holder.pid if {
	some holder in input.holders
	holder.name == "vi"
}

_shaped contains shape if some shape in data.policies.lib.x.shapes
`
	files["lib/x/x.rego"] = "package policies.lib.x\n\nshapes contains input.dir.name\n"
	return files
}

// TestLoadTakesACountOfWhatIsKnown: the body that counts fails by itself where a fact is missing, or the count asks for more and not for less.
func TestLoadTakesACountOfWhatIsKnown(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"input.age >= 0\n\tcount(_old) == 0",
		"count(_old) == 0\n\tinput.age < input.config.grace.dir",
		"count(input.holders) >= 0\n\tis_number(input.age)\n\tcount(_either) < 1",
		"every h in input.holders {\n\t\th.pid > 0\n\t}\n\tinput.age > 0\n\tcount(_either) == 0",
		"count(_plain) == 0", "count(_old) > 0", "1 <= count(_using)", "count(input.holders) == 0",
	} {
		load(t, policy.Tree{Name: "embedded", FS: rules.Small(nil), Prefix: "policies"}, policy.Tree{Name: "mine", FS: rules.Tree(disguised(body)), Prefix: "my"})
	}
}

func TestLoadRefusesAPolicyThatCouldOnlyFail(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"no package under policies.protect": {"protect/held/held.rego": "", ".manifest": ""},
		"no package under policies.reap":    {"reap/dirs/disposable/disposable.rego": ""},
	} {
		_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "x", FS: rules.Small(files), Prefix: "p"}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, have %v", want, err)
		}
	}
	if _, err := policy.Load(t.Context(), policy.LoadOptions{}); err == nil {
		t.Error("no trees at all were loaded")
	}
}

// FuzzManifest: any manifest is read or refused with its name, and what is read can be printed.
func FuzzManifest(f *testing.F) {
	for _, text := range []string{
		`{"revision": "1", "roots": ["policies"]}`, `{}`, `[]`, `null`, `{"roots": [""]}`, `{"roots": ["policies/protect"], "rego_version": 1}`,
		`{"rego_version": 0}`, `{"file_rego_versions": {"/x": 1}}`, `{"revision": "\u0000"}`, `{"roots": null}`, `{"Revision": "x", "revision": "y"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "x", FS: rules.Small(map[string]string{".manifest": string(data)}), Prefix: "p"}}})
		if err == nil {
			if len(p.Revision) > 256 || strings.ContainsFunc(p.Revision, func(c rune) bool { return c < ' ' }) {
				t.Errorf("revision %q", p.Revision)
			}
			return
		}
		var refused lint.Refusals
		if !errors.As(err, &refused) {
			t.Fatalf("no refusal: %v", err)
		}
	})
}

// TestShippedPoliciesAreClean holds the policies that Winnow comes with to the whole lint, of which Load asks only a part.
func TestShippedPoliciesAreClean(t *testing.T) {
	t.Parallel()
	var modules []*ast.Module
	for _, tree := range []fs.FS{policies.Files, policies.Observing} {
		for name, text := range rules.Texts(t, tree) {
			m, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{ProcessAnnotation: true})
			must.Do(t, err)
			modules = append(modules, m)
		}
	}
	for _, r := range append(lint.Safety(modules...), lint.Advice(modules...)...) {
		t.Error(r)
	}
}

// TestTextsIn finds texts of both forms, and none in comments, tests and other files.
func TestTextsIn(t *testing.T) {
	t.Parallel()
	got, err := policy.TextsIn(fstest.MapFS{
		"a/a.rego":      {Data: []byte("# it's \"no text\"\npackage x # \"nor this\"\nr if {\n\tx == \"a # b\"; y == `raw \" \\w`; z == \"\\\"q\\u00e9\"; f(\"a # b\")\n}\n")},
		"a/a_test.rego": {Data: []byte(`x := "test"`)},
		"a/a.txt":       {Data: []byte(`"other"`)},
	})
	if d := cmp.Diff([]string{`"qé`, "a # b", `raw " \w`}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
