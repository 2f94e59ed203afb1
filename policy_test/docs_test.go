package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/tester"

	"winnow/engine/policy"
)

const ownRule = "../docs/own-rule.md"

// listing is a file in a page: its name in backquotes on a line of its own, and then its text.
var listing = regexp.MustCompile("(?m)^`([^`\n]+\\.rego)`\n\n```rego\n((?s:.*?))^```$")

// written writes the files of a page into a folder of its own and returns it.
func written(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, m := range listing.FindAllStringSubmatch(string(text), -1) {
		file := filepath.Join(dir, m[1])
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(m[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "mine")
}

// TestOwnRuleDecides loads what docs/own-rule.md tells people to write on top of the shipped policies and decides by it.
func TestOwnRuleDecides(t *testing.T) {
	t.Parallel()
	dir := written(t, ownRule)
	e := shipped(t, policy.Tree{Name: "mine", FS: os.DirFS(dir), Prefix: dir})
	rename := func(name, branch string) Case {
		return Case{Change: map[string]any{"dirs": map[string]any{"dir:/w/feature": map[string]any{
			"name": name, "git": map[string]any{"landed": false, "branch": branch},
		}}}}
	}
	for _, test := range []struct {
		name, branch string
		want         string
	}{
		{"scratch-7", "topic", "reap reap.dirs.scratch "},
		{"scratch-7", "wip/topic", "spare reap.dirs.scratch protect.wip"},
		{"feature", "topic", "spare  "},
	} {
		c := rename(test.name, test.branch)
		got := decide(t, e, c.config(t), c.world(t))["dir:/w/feature"]
		if got == nil {
			t.Fatalf("%s is out of scope", test.name)
		}
		if line := got.Verdict + " " + strings.Join(got.Findings, ",") + " " + strings.Join(got.Objections, ","); line != test.want {
			t.Errorf("%s on %s: want %q, got %q", test.name, test.branch, test.want, line)
		}
	}
}

// TestRegoTestsPass runs the tests that stand beside the shipped rules, and the page's own, as `opa test` does.
func TestRegoTestsPass(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dir   string
		least int
	}{"shipped": {"../policies", 300}, "own rule": {written(t, ownRule), 3}} {
		modules, store, err := tester.Load([]string{test.dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		txn, err := store.NewTransaction(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		results, err := tester.NewRunner().SetStore(store).SetModules(modules).SetTimeout(time.Minute).RunTests(t.Context(), txn)
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for r := range results {
			if ran++; !r.Pass() {
				t.Errorf("%s: %s", name, r)
			}
		}
		store.Abort(t.Context(), txn)
		if ran < test.least {
			t.Errorf("%s: %d tests, want %d or more", name, ran, test.least)
		}
	}
}

// page is the file of a rule's page: called like the rule, those for tabs and terminals with their kind before it, since they share names with
// those for sessions.
func page(rule string) string {
	name := rule[strings.LastIndexByte(rule, '.')+1:] + ".md"
	for _, kind := range []string{"tab", "terminal"} {
		if strings.HasPrefix(rule, "reap."+kind+"s.") {
			return kind + "-" + name
		}
	}
	return name
}

// TestEveryRuleHasAPage wants a page for each rule, listed in the table, and no page for a rule that is not there.
func TestEveryRuleHasAPage(t *testing.T) {
	t.Parallel()
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: embedded})
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile("../docs/policies/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{"README.md": true}
	for rule := range p.Rules() {
		name := page(rule)
		pages[name] = true
		text, err := os.ReadFile(filepath.Join("../docs/policies", name))
		if err != nil || !strings.HasPrefix(string(text), "# "+rule+"\n") {
			t.Errorf("%s: no page docs/policies/%s that begins with its name: %v", rule, name, err)
		}
		if !strings.Contains(string(index), "["+rule+"]("+name+")") {
			t.Errorf("%s: not in docs/policies/README.md", rule)
		}
	}
	entries, err := os.ReadDir("../docs/policies")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range entries {
		if !pages[f.Name()] {
			t.Errorf("docs/policies/%s: no such rule", f.Name())
		}
	}
}
