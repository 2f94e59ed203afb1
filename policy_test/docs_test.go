package policy_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/tester"
	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

const ownRule = "../docs/guides/write-a-rule.md"

// listing is a file in a page: its name in backquotes on a line of its own, and then its text.
var listing = regexp.MustCompile("(?m)^`([^`\n]+\\.rego)`\n\n```rego\n((?s:.*?))^```$")

// written writes the files of a page into a folder of its own and returns it.
func written(t *testing.T, page string) string {
	t.Helper()
	text := must.Get(os.ReadFile(page))(t)
	dir := t.TempDir()
	for _, m := range listing.FindAllStringSubmatch(string(text), -1) {
		file := filepath.Join(dir, m[1])
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, []byte(m[2]), 0o644))
	}
	return filepath.Join(dir, "mine")
}

// TestOwnRuleDecides loads what docs/guides/write-a-rule.md tells people to write on top of the shipped policies and decides by it.
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
		{"scratch-7", "refs/heads/topic", "reap reap.dirs.scratch "},
		{"scratch-7", "refs/heads/wip/topic", "spare reap.dirs.scratch protect.wip"},
		{"feature", "refs/heads/topic", "spare  "},
	} {
		c := rename(test.name, test.branch)
		config := configOf(t, c)
		config.Custom = map[string]any{"scratch_after": 86400.0}
		got := decide(t, e, config, worldOf(t, c))["dir:/w/feature"]
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
		must.Do(t, err)
		txn := must.Get(store.NewTransaction(t.Context()))(t)
		results, err := tester.NewRunner().SetStore(store).SetModules(modules).SetTimeout(time.Minute).RunTests(t.Context(), txn)
		must.Do(t, err)
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

var update = flag.Bool("update", false, "write docs/reference/rules again from the METADATA of the rules")

// ruleDoc is what the METADATA of a rule's package says.
type ruleDoc struct {
	id, description string
	custom          struct {
		Kinds             string
		Waits, Parameters []string
	}
}

// ruleDocs reads the METADATA of all shipped rules, those that reap first.
func ruleDocs(t *testing.T) []ruleDoc {
	t.Helper()
	var out []ruleDoc
	err := fs.WalkDir(policies.Files, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".rego") || strings.HasSuffix(path, "_test.rego") {
			return err
		}
		text, err := fs.ReadFile(policies.Files, path)
		if err != nil {
			return err
		}
		m, err := ast.ParseModuleWithOpts(path, string(text), ast.ParserOptions{ProcessAnnotation: true})
		if err != nil {
			return err
		}
		family, _, _ := strings.Cut(path, "/")
		for _, a := range m.Annotations {
			if a.Scope != "package" || family != "reap" && family != "protect" {
				continue
			}
			d := ruleDoc{id: strings.TrimPrefix(m.Package.Path.String(), "data.policies."), description: a.Description}
			data, err := json.Marshal(a.Custom)
			if err := errors.Join(err, json.Unmarshal(data, &d.custom)); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			out = append(out, d)
		}
		return nil
	})
	must.Do(t, err)
	slices.SortStableFunc(out, func(a, b ruleDoc) int { return strings.Compare(b.id[:1], a.id[:1]) })
	return out
}

// defaults are config.yaml, the lists that are not in it, and what agents' files add to these.
func defaults(t *testing.T) *yaml.Node {
	t.Helper()
	all := &yaml.Node{Kind: yaml.MappingNode}
	for _, glob := range []string{"../config.yaml", "../internal/config/defaults/*.yaml", "../agents/*.yaml"} {
		for _, file := range must.Get(filepath.Glob(glob))(t) {
			var doc yaml.Node
			must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile(file))(t), &doc))
			join(all, doc.Content[0])
		}
	}
	return all
}

func join(into, from *yaml.Node) {
	for i := 0; i+1 < len(from.Content); i += 2 {
		at := slices.IndexFunc(into.Content, func(n *yaml.Node) bool { return n.Value == from.Content[i].Value })
		switch {
		case at < 0 || into.Kind != yaml.MappingNode:
			into.Content = append(into.Content, from.Content[i], from.Content[i+1])
		case from.Content[i+1].Kind == yaml.MappingNode:
			join(into.Content[at+1], from.Content[i+1])
		default:
			into.Content[at+1].Content = append(into.Content[at+1].Content, from.Content[i+1].Content...)
		}
	}
}

// defaultOf is a parameter's value in config.yaml, short; of several keys, with commas between them, each has its own.
func defaultOf(t *testing.T, config *yaml.Node, keys string) string {
	t.Helper()
	var all []string
	for key := range strings.SplitSeq(keys, ", ") {
		node := config
		for step := range strings.SplitSeq(key, ".") {
			i := slices.IndexFunc(node.Content, func(n *yaml.Node) bool { return n.Value == step })
			if node.Kind != yaml.MappingNode || i < 0 {
				t.Fatalf("config.yaml has no %s", key)
			}
			node = node.Content[i+1]
		}
		all = append(all, short(node))
	}
	return strings.Join(all, "; ")
}

const fewest = 3

func short(n *yaml.Node) string {
	var items []string
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value
	case yaml.SequenceNode:
		for _, item := range n.Content {
			items = append(items, short(item))
		}
	case yaml.MappingNode: // the first value names what it is
		if len(n.Content) > 0 && n.Content[1].Kind == yaml.ScalarNode {
			return n.Content[1].Value
		}
		for i := 1; i < len(n.Content); i += 2 {
			if text := short(n.Content[i]); text != "none" {
				items = append(items, text)
			}
		}
	}
	switch {
	case len(items) == 0:
		return "none"
	case len(items) > fewest:
		items = append(items[:fewest], "...")
	}
	return strings.Join(items, ", ")
}

// parametersOf is the section of a page that METADATA gives, but for the meaning in each row; the rest of a page, but its first two paragraphs,
// is written by hand too.
var (
	parametersOf = regexp.MustCompile(`(?s)\n## Parameters\n.*?(\n## |\z)`)
	parameterRow = regexp.MustCompile("(?m)^\\| `(.+?)` \\| .* \\| (.*) \\|$")
)

// page is a rule's page with what METADATA says in its places; of a new rule it has nothing else.
func (d ruleDoc) page(t *testing.T, have string, config *yaml.Node) string {
	lead, _, _ := strings.Cut(d.description, "\n\n")
	_, rest, _ := strings.Cut(strings.TrimLeft(have, "\n"), "\n\n") // the heading
	if _, after, more := strings.Cut(rest, "\n\n"); more {
		rest = "\n" + after
	} else {
		rest = ""
	}
	var b strings.Builder
	if len(d.custom.Parameters)+len(d.custom.Waits) > 0 {
		meanings := map[string]string{}
		for _, row := range parameterRow.FindAllStringSubmatch(have, -1) {
			meanings[row[1]] = row[2]
		}
		b.WriteString("\n## Parameters\n\n| parameter | default | meaning |\n|---|---|---|\n")
		for _, key := range d.custom.Parameters {
			if meanings[key] == "" {
				t.Errorf("%s: write what %s means for it: | `%s` | %s | ... |", page(d.id), key, key, cell(defaultOf(t, config, key)))
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, cell(defaultOf(t, config, key)), meanings[key])
		}
		for _, key := range d.custom.Waits {
			fmt.Fprintf(&b, "| `%s` | %s | it waits for this in any case |\n", key, cell(defaultOf(t, config, key)))
		}
	}
	section := b.String()
	if parametersOf.MatchString(rest) {
		rest = parametersOf.ReplaceAllStringFunc(rest, func(old string) string { return section + parametersOf.FindStringSubmatch(old)[1] })
	} else {
		rest += section
	}
	return fmt.Sprintf("# %s\n\n%s\n%s", d.id, lead, rest)
}

// cell keeps a | in a table's cell.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, `\|`, "|"), "|", `\|`)
}

// table is the table of one family, for docs/reference/rules/README.md.
func table(t *testing.T, docs []ruleDoc, family string, config *yaml.Node) string {
	out := "| rule | kind | what | parameters and defaults |\n|---|---|---|---|\n"
	for _, d := range docs {
		kind := d.custom.Kinds
		if path := strings.Split(d.id, "."); path[0] != family {
			continue
		} else if family == "reap" {
			kind = map[string]string{"tabs": "tab", "sessions": "session", "terminals": "terminal", "dirs": "dir", "content": "dir", "processes": "process"}[path[1]]
		}
		var parameters []string
		for _, key := range d.custom.Parameters {
			parameters = append(parameters, fmt.Sprintf("`%s` %s", strings.ReplaceAll(key, "rules.", ""), cell(defaultOf(t, config, key))))
		}
		lead, _, _ := strings.Cut(d.description, "\n\n")
		out += fmt.Sprintf("| [%s](%s) | %s | %s | %s |\n", d.id, page(d.id), kind, lead, cmp.Or(strings.Join(parameters, "<br>"), "none"))
	}
	return out
}

// TestPagesAreCurrent holds docs/reference/rules to what the METADATA of the rules says: a page for each rule with its heading, its first paragraph
// and its parameters, and the tables of all.
func TestPagesAreCurrent(t *testing.T) {
	t.Parallel()
	config := defaults(t)
	const dir = "../docs/reference/rules"
	index := must.Get(os.ReadFile(filepath.Join(dir, "README.md")))(t)
	docs := ruleDocs(t)
	want := map[string]string{"README.md": string(index)}
	for _, d := range docs {
		have, err := os.ReadFile(filepath.Join(dir, page(d.id)))
		if err != nil && !*update {
			t.Error(err)
		}
		want[page(d.id)] = d.page(t, string(have), config)
	}
	for _, family := range []string{"reap", "protect"} {
		between := regexp.MustCompile(`(?s)(<!-- ` + family + ` -->\n).*?(<!-- end -->)`)
		rows := table(t, docs, family, config)
		want["README.md"] = between.ReplaceAllStringFunc(want["README.md"], func(old string) string {
			parts := between.FindStringSubmatch(old)
			return parts[1] + rows + parts[2]
		})
	}
	for name, text := range want {
		file := filepath.Join(dir, name)
		have, err := os.ReadFile(file)
		if string(have) == text {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the METADATA says (%v): go test ./policy_test -run Pages -update", file, err)
		} else if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	entries := must.Get(os.ReadDir(dir))(t)
	for _, f := range entries {
		if _, ok := want[f.Name()]; !ok {
			t.Errorf("docs/reference/rules/%s: no such rule", f.Name())
		}
	}
}
