package scaffold

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestEveryScaffoldLoads holds that the rule of each kind, and one that keeps, is loaded beside the shipped ones, with any name that is taken, and
// is formatted.
func TestEveryScaffoldLoads(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{}
	names := []string{"protect.mine", "protect.a_1"}
	for _, folder := range Folders() {
		names = append(names, "reap."+folder+".mine", "reap."+folder+".two_words")
	}
	for _, id := range names {
		r := must.Get(Parse(id))(t)
		files := must.Get(r.Files())(t)
		if len(files) != 2 {
			t.Errorf("%s: %v", id, slices.Collect(maps.Keys(files)))
		}
		for name, data := range files {
			if _, twice := tree[name]; twice {
				t.Errorf("%s is written by two rules", name)
			}
			tree[name] = &fstest.MapFile{Data: data}
			for line := range strings.Lines(string(data)) {
				if strings.HasSuffix(name, ".rego") && len(line) > 160 {
					t.Errorf("%s has a long line: %s", name, line)
				}
				if strings.ContainsAny(line, "%") {
					t.Errorf("%s has a place that was not filled: %s", name, line)
				}
			}
		}
	}
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: policies.Files}, {Name: "mine", FS: tree, Prefix: "mine"}}})
	must.Do(t, err)
	for _, id := range names {
		if p.Rule(id).Title == "" {
			t.Errorf("%s is not among the rules, or has no title", id)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for id, says := range map[string]string{
		"":                       "begins neither",
		"reap":                   "has 1 part",
		"reap.dirs.a.b":          "has 4 parts",
		"reap.worktrees.a":       `"worktrees" is no kind; kinds are tabs, sessions, terminals, processes, dirs, content`,
		"reap.dir.a":             "did you mean dirs?",
		"reap.sesions.a":         "did you mean sessions?",
		"protect.A":              "no name of a rule",
		"protect.1":              "no name of a rule",
		"protect.":               "no name of a rule",
		"protect._a":             "no name of a rule",
		"protect.a-b":            "no name of a rule",
		"protect.every":          "a word of Rego",
		"protect.data":           "a word of Rego",
		"protect.count":          "a word of Rego",
		"protect.path":           "of the tests that are written",
		"protect.../../etc":      "has",
		"protect.a_test":         "nobody would load",
		"protect." + long("a"):   "64 are the most",
		"reap.dirs." + long("a"): "64 are the most",
	} {
		if _, err := Parse(id); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: want %q, have %v", id, says, err)
		}
	}
}

func long(letter string) string { return strings.Repeat(letter, maxLeaf+1) }

// TestExampleHasEveryKind holds the document that editors complete from to the schema.
func TestExampleHasEveryKind(t *testing.T) {
	t.Parallel()
	data := must.Get(Example())(t)
	var doc map[string]any
	must.Do(t, json.Unmarshal(data, &doc))
	for _, key := range []string{"tab", "session", "terminal", "dir", "process", "config", "lineage"} {
		if of, ok := doc[key].(map[string]any); !ok || len(of) == 0 {
			t.Errorf("%s is not in the example: %v", key, doc[key])
		}
	}
	if git, ok := doc["dir"].(map[string]any)["git"].(map[string]any); !ok || git["branch"] != "" {
		t.Errorf("dir.git: %v", git)
	}
}
