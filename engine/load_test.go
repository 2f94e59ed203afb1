package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"winnow/engine"
)

// small is a whole policy: one reason to reap a folder and one to keep anything.
const (
	smallReap = `# METADATA
# title: Disposable
# description: A folder whose name says that it was made to be thrown away.
package policies.reap.dirs.disposable

# METADATA
# title: In scope
# description: True for a folder with a disposable name.
in_scope if {
	some pattern in input.config.disposable_dirs
	regex.match(pattern, input.dir.name)
}

# METADATA
# title: A disposable folder
# description: Its name says so.
findings contains {"rule": "reap.dirs.disposable", "message": $"{input.dir.name} is disposable", "evidence": {"name": input.dir.name}} if in_scope
`
	smallProtect = `# METADATA
# title: Held
# description: Somebody said keep this.
package policies.protect.held

# METADATA
# title: Held
# description: There is a hold on it.
objections contains {"rule": "protect.held", "message": $"held by {input.hold.owner}", "evidence": {}} if input.hold
`
)

func small(more map[string]string) fs.FS {
	files := map[string]string{
		"reap/dirs/disposable/disposable.rego": smallReap,
		"protect/held/held.rego":               smallProtect,
		".manifest":                            `{"revision": "1.2.3", "roots": ["policies"]}`,
	}
	maps.Copy(files, more)
	return tree(files)
}

func tree(files map[string]string) fs.FS {
	out := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			out[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return out
}

func load(t testing.TB, trees ...engine.Tree) *engine.Policy {
	t.Helper()
	p, err := engine.Load(t.Context(), engine.LoadOptions{Trees: trees})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLoadSaysWhatItLoaded(t *testing.T) {
	t.Parallel()
	p := load(t, engine.Tree{Name: "embedded", FS: small(nil), Prefix: "policies"})
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
	rules := map[string]engine.Rule{
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
		return load(t, engine.Tree{Name: "x", FS: small(files), Prefix: "p"}).Digest
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
		"a comment":  {"protect/held/held.rego": smallProtect + "# one more\n"},
		"a manifest": {".manifest": `{"revision": "1.2.4", "roots": ["policies"]}`},
		"a file":     {"protect/held/more.rego": "package policies.protect.held\n"},
		"a name":     {"protect/held/held.rego": "", "protect/held/kept.rego": smallProtect},
	}
	for name, files := range other {
		if have := of(files); have == base {
			t.Errorf("%s did not change the digest", name)
		}
	}
}

// objection is a protect package with one rule's body, the body being on line 4.
func objection(body string) map[string]string {
	return map[string]string{"protect/mine/mine.rego": fmt.Sprintf(`package policies.protect.mine

objections contains {"rule": "protect.mine", "message": "mine", "evidence": {}} if {
	%s
}
`, body)}
}

func finding(body string) map[string]string {
	return map[string]string{"reap/dirs/mine/mine.rego": fmt.Sprintf(`package policies.reap.dirs.mine

in_scope if input.dir.name != ""

findings contains {"rule": "reap.dirs.mine", "message": "mine", "evidence": {}} if {
	%s
}
`, body)}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const mine, reap = "my/protect/mine/mine.rego", "my/reap/dirs/mine/mine.rego"
	cases := map[string]struct {
		files map[string]string
		place string
		says  []string
	}{
		"a syntax error":                   {objection("input.kind := := 1"), mine + ":4", []string{"syntax"}},
		"an unknown field":                 {objection("input.dir.naem == \"\""), mine + ":4", []string{"input.dir.naem", "did you mean name?"}},
		"an unknown field at the top":      {objection("input.hodl"), mine + ":4", []string{"input.hodl", "did you mean hold?"}},
		"an unknown field of a local":      {objection("d := input.dir.git\n\td.locket == true"), mine + ":5", []string{"locket", "did you mean locked?"}},
		"an unknown field in a list":       {objection("some e in input.entries\n\te.statsu == \"\""), mine + ":5", []string{"statsu", "did you mean status?"}},
		"an unknown field in the config":   {objection("input.config.grace.dirr > 0"), mine + ":4", []string{"dirr", "did you mean dir?"}},
		"an unknown field under a not":     {objection("not input.dir.symlin"), mine + ":4", []string{"symlin", "did you mean symlink?"}},
		"a field of a fact without fields": {objection("input.dir.name.first == \"\""), mine + ":4", []string{"input.dir.name.first"}},
		"a clock":                          {objection("time.now_ns() > 0"), mine + ":4", []string{"time.now_ns is not allowed", "input.now"}},
		"the network":                      {objection(`http.send({"method": "get", "url": "http://x"}).status_code == 1`), mine + ":4", []string{"http.send is not allowed"}},
		"the environment":                  {objection("opa.runtime().env.HOME == \"\""), mine + ":4", []string{"opa.runtime is not allowed"}},
		"chance":                           {objection(`rand.intn("x", 2) == 1`), mine + ":4", []string{"rand.intn is not allowed"}},
		"a shift without an end":           {objection("bits.lsh(1, 2) == 4"), mine + ":4", []string{"bits.lsh is not allowed"}},
		"object.get":                       {objection(`object.get(input, "typo", 1) == 1`), mine + ":4", []string{"object.get is not allowed", "misspelt"}},
		"an unknown function":              {objection("nosuch(1)"), mine + ":4", []string{"undefined function nosuch", "define"}},
		"an unknown rule":                  {objection("data.policies.lib.nosuch.rule"), mine + ":4", []string{"data.policies.lib.nosuch.rule is not defined"}},
		"other data":                       {objection("data.mine.list[_]"), mine + ":4", []string{"data.mine.list", "not defined"}},
		"an unused variable":               {objection("x := 1"), mine + ":4", []string{"x", "unused"}},
		"a number with a text":             {objection(`input.age == "old"`), mine + ":4", []string{"match error"}},
		"a with":                           {objection(`input.kind == "dir" with input.kind as "tab"`), mine + ":4", []string{"with"}},
		"sprintf where it keeps":           {objection(`sprintf("%s", [input.label]) == ""`), mine + ":4", []string{"sprintf", "template string"}},
		"a not where it reaps":             {finding("not input.dir.symlink"), reap + ":6", []string{"not in a rule that reaps"}},
		"a package that is not its folder": {map[string]string{"protect/mine/mine.rego": "package policies.protect.yours\n"}, mine + ":1", []string{"policies.protect.yours", "write package policies.protect.mine"}},
		"a package outside policies":       {map[string]string{"protect/mine/mine.rego": "package mine\n"}, mine + ":1", []string{"package mine", "write package policies.protect.mine"}},
		"a package outside its roots": {
			map[string]string{".manifest": `{"roots": ["policies/protect"]}`, "reap/dirs/mine/mine.rego": finding("true")["reap/dirs/mine/mine.rego"]},
			reap + ":1", []string{"outside the roots"},
		},
		"a manifest that is none":        {map[string]string{".manifest": "{", "lib/x/x.rego": "package policies.lib.x\n"}, "my/.manifest", []string{"read manifest"}},
		"a package that nobody asks":     {map[string]string{"guard/x/x.rego": "package policies.guard.x\n"}, "my/guard/x/x.rego:1", []string{"nothing asks package policies.guard.x"}},
		"a kind that there is not":       {map[string]string{"reap/files/x/x.rego": "package policies.reap.files.x\n"}, "my/reap/files/x/x.rego:1", []string{"nothing asks"}},
		"a package of another tree":      {map[string]string{"protect/held/more.rego": smallProtect}, "my/protect/held/more.rego:4", []string{"is also in policies/protect/held/held.rego"}},
		"a package without objections":   {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nx := 1\n"}, mine + ":1", []string{"no rule objections"}},
		"a package without in_scope":     {map[string]string{"reap/dirs/mine/mine.rego": "package policies.reap.dirs.mine\n\nfindings contains {\"rule\": \"reap.dirs.mine\", \"message\": \"\", \"evidence\": {}}\n"}, reap + ":1", []string{"no rule in_scope"}},
		"objections that are no set":     {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nobjections := {1}\n"}, mine + ":3", []string{"not a set of reasons"}},
		"objections of something else":   {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nobjections contains \"no\"\n"}, mine + ":3", []string{"not written as a reason"}},
		"a reason without a message":     {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nobjections contains {\"rule\": \"protect.mine\", \"evidence\": {}}\n"}, mine + ":3", []string{"a reason with evidence, rule"}},
		"a rule that is not its package": {map[string]string{"protect/mine/mine.rego": "package policies.protect.mine\n\nobjections contains {\"rule\": \"protect.held\", \"message\": \"\", \"evidence\": {}}\n"}, mine + ":3", []string{`rule "protect.held" is not its package`}},
		"in_scope that is a number":      {map[string]string{"reap/dirs/mine/mine.rego": strings.Replace(finding("true")["reap/dirs/mine/mine.rego"], "in_scope if", "in_scope := 7 if", 1)}, reap + ":3", []string{"in_scope"}},
		"an object built key by key":     {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nby_id[e.id] := e if some e in input.entries\n"}, "my/lib/x/x.rego:3", []string{"key by key"}},
		"a set built key by key":         {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nby_id[e.id] contains e if some e in input.entries\n"}, "my/lib/x/x.rego:3", []string{"key by key"}},
		"a field of a parameter":         {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nover(e) if e.terminal == true\n"}, "my/lib/x/x.rego:3", []string{"reads e.terminal of a parameter"}},
		"a field of a parameter's item":  {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nover(es) if {\n\tsome e in es\n\tx := e\n\tx.terminal == true\n}\n"}, "my/lib/x/x.rego:3", []string{"of a parameter"}},
		"a not in disguise":              {finding(`count([x | x := input.age]) == 0`), reap + ":6", []string{"not in disguise", "state positively"}},
		"one the other way round":        {finding(`1 > count({x | some x in input.holders})`), reap + ":6", []string{"not in disguise"}},
		"one that a library has":         {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nnone if count([x | x := input.age]) < 1\n"}, "my/lib/x/x.rego:3", []string{"not in disguise"}},
		"rules that need each other":     {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\na if b\n\nb if a\n"}, "my/lib/x/x.rego:3", []string{"recursive"}},
		"an empty tree":                  {nil, "my", []string{"no policies in it"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := engine.Load(t.Context(), engine.LoadOptions{Trees: []engine.Tree{
				{Name: "embedded", FS: small(nil), Prefix: "policies"}, {Name: "mine", FS: tree(c.files), Prefix: "my"},
			}})
			var refused engine.Refusals
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
			}
		})
	}
}

func TestLoadRefusesAPolicyThatCouldOnlyFail(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"no package under policies.protect": {"protect/held/held.rego": "", ".manifest": ""},
		"no package under policies.reap":    {"reap/dirs/disposable/disposable.rego": ""},
	} {
		_, err := engine.Load(t.Context(), engine.LoadOptions{Trees: []engine.Tree{{Name: "x", FS: small(files), Prefix: "p"}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, have %v", want, err)
		}
	}
	if _, err := engine.Load(t.Context(), engine.LoadOptions{}); err == nil {
		t.Error("no trees at all were loaded")
	}
}
