package config

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/schema"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data := must.Get(JSONSchema(reflect.TypeFor[Config](), "Winnow's config.yaml", "version"))(t)
	doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(data)))(t)
	c := jsonschema.NewCompiler()
	must.Do(t, c.AddResource("config.json", doc))
	return must.Get(c.Compile("config.json"))(t)
}

// valid holds a text of YAML against the schema.
func valid(s *jsonschema.Schema, text string) error {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	return s.Validate(v)
}

// TestShippedAgentsHaveTheirShape holds the agents' files to what those of an operator are held to.
func TestShippedAgentsHaveTheirShape(t *testing.T) {
	t.Parallel()
	d := must.Get(shipped())(t)
	for _, a := range slices.Clone(d.agents) {
		name := "agents/" + a.Name + ".yaml"
		must.Do(t, d.addAgent(Agent{File: name}, name, must.Get(winnow.Agents.ReadFile(name))(t)))
	}
	if err := d.addAgent(Agent{File: "x.yaml"}, "x.yaml", []byte("agent: x\ntitle: X\nrules: {agent: [x]}\n")); err == nil {
		t.Error("an unknown key is read")
	}
}

// TestSchemaIsCurrent keeps the schemas and the pages equal to the Go types, to the comments of the defaults, and to the agents' files.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.File(t, "../../docs/reference/schemas/config.json", string(must.Get(JSONSchema(reflect.TypeFor[Config](), "Winnow's config.yaml", "version"))(t)))
	schema.File(t, "../../docs/reference/schemas/agent.json", string(must.Get(JSONSchema(reflect.TypeFor[Agent](), "An agent's file", "agent", "title"))(t)))
	schema.File(t, "../../docs/reference/config.md", page(t))
	const agents = "../../docs/reference/agents.md"
	schema.File(t, agents, table.ReplaceAllString(string(must.Get(os.ReadFile(agents))(t)), "${1}"+agentTable(t)+"${2}"))
}

var table = regexp.MustCompile(`(?s)(<!-- agents -->\n).*(<!-- end -->)`)

// agentTable is a table of the agents' files.
func agentTable(t *testing.T) string {
	out := "| agent | programs | markers | folders of worktrees | seen |\n|---|---|---|---|---|\n"
	code := func(lists ...[]string) (texts string) {
		for _, text := range slices.Concat(lists...) {
			if text = ", `" + text + "`"; !strings.Contains(texts, text) {
				texts += text
			}
		}
		return strings.TrimPrefix(texts, ", ")
	}
	for _, a := range must.Get(shipped())(t).agents {
		markers := ""
		for _, m := range a.Collect.Processes.Markers {
			markers += ", `" + m.Name + "` (" + strings.TrimSuffix(m.Value+"; "+m.Since, "; ") + ")"
		}
		out += "| " + strings.Join([]string{a.Title, code(a.Rules.Agents, a.Rules.AgentScripts, a.Rules.AgentPackages),
			strings.TrimPrefix(markers, ", "), code(a.Collect.Dirs.AgentFolders, a.Rules.WorktreeFolders), a.Seen.Version}, " | ") + " |\n"
	}
	return out
}

var listing = regexp.MustCompile("(?ms)^```yaml\n(version: 1\n.*?)^```$")

// TestSchemaTakesWhatIsShown: config.yaml itself, and every whole configuration in the docs.
func TestSchemaTakesWhatIsShown(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	if err := valid(s, string(winnow.DefaultConfig)); err != nil {
		t.Errorf("config.yaml: %v", err)
	}
	pages := must.Get(filepath.Glob("../../docs/*/*.md"))(t)
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text := must.Get(os.ReadFile(page))(t)
		for _, m := range listing.FindAllSubmatch(text, -1) {
			found++
			if err := valid(s, string(m[1])); err != nil {
				t.Errorf("%s: %v:\n%s", page, err, m[1])
			}
			if _, err := load("/f.yaml", m[1], nil); err != nil {
				t.Errorf("%s: %v:\n%s", page, err, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("the docs show no whole configuration")
	}
}

// TestSchemaAgreesWithTheProgram: each key that the program takes is in the schema with a description where config.yaml has one, and what the
// program refuses by its form the schema refuses too.
func TestSchemaAgreesWithTheProgram(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	tried := 0
	for _, k := range keys(reflect.TypeFor[Config](), nil) {
		if !described(s, k.path) {
			t.Errorf("%s is not in the schema", k)
		}
		bad := key{append(k.path[:len(k.path)-1:len(k.path)-1], "zzzzqqqq"), k.of}
		if text, _ := bad.file("1"); valid(s, text) == nil {
			t.Errorf("%s: an unknown key beside it is taken", k)
		}
		for value := range k.wrong() {
			if value != "" && strings.Contains("&*!", value[:1]) { // the comment is about the text, which a schema does not see
				continue
			}
			tried++
			if text, _ := k.file(value); valid(s, text) == nil {
				t.Errorf("%s: the value %q is taken", k, value)
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d wrong values", tried)
	}
	if valid(s, "rules: {}") == nil {
		t.Error("a file without a version is taken")
	}
}

// described reports whether a key is in the schema.
func described(s *jsonschema.Schema, path []string) bool {
	for _, name := range path {
		if name == "[]" {
			items, ok := s.Items.(*jsonschema.Schema)
			if !ok {
				return false
			}
			s = items
			if len(s.AnyOf) > 0 { // one of the forms is an object
				s = s.AnyOf[len(s.AnyOf)-1]
			}
			continue
		}
		if s = s.Properties[name]; s == nil {
			return false
		}
	}
	return true
}
