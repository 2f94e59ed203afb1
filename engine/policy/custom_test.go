package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/test/kit/rules"
)

// own is a rule about folders with METADATA and a body of its own.
func own(metadata, body string) map[string]string {
	return map[string]string{"reap/dirs/mine/mine.rego": fmt.Sprintf(`# METADATA
# title: Mine
# custom:
#   own: %s
package policies.reap.dirs.mine

in_scope if input.dir.name != ""

findings contains {"rule": "reap.dirs.mine", "message": "mine", "evidence": {}} if {
	%s
}
`, metadata, body)}
}

const after = "{after: {type: duration, default: 3d, description: how long}}"

// TestParameters gives what rules of one's own declare.
func TestParameters(t *testing.T) {
	t.Parallel()
	p := load(t, policy.Tree{Name: "mine", FS: rules.Small(own(`
#     after: {type: duration, default: 3d, description: how long}
#     most: {type: number, default: 0.5}
#     word: {type: text, default: x}
#     on: {type: boolean, default: false}
#     names: {type: list, default: [a, b]}`, `
	input.idle >= input.config.custom.after
	input.age > input.config.custom.most
	input.dir.name == input.config.custom.word
	input.config.custom.on == true
	input.dir.name in input.config.custom.names`))})
	var got []policy.Parameter
	for _, x := range p.Parameters() {
		if x.Package != "reap.dirs.mine" || x.File == "" || x.Line != 1 {
			t.Errorf("%+v", x)
		}
		x.Package, x.File, x.Line = "", "", 0
		got = append(got, x)
	}
	want := []policy.Parameter{
		{Name: "after", Type: "duration", Default: 259200.0, Description: "how long"}, {Name: "most", Type: "number", Default: 0.5},
		{Name: "names", Type: "list", Default: []string{"a", "b"}}, {Name: "on", Type: "boolean", Default: false}, {Name: "word", Type: "text", Default: "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if none := load(t, policy.Tree{Name: "small", FS: rules.Small(nil)}).Parameters(); len(none) != 0 {
		t.Errorf("rules that declare none have %v", none)
	}
}

// TestWrongParametersAreRefused wants of each slip that no policy is loaded, with the file and what to write instead.
func TestWrongParametersAreRefused(t *testing.T) {
	t.Parallel()
	good := "input.idle >= input.config.custom.after"
	also := func(files map[string]string, path, text string) map[string]string { files[path] = text; return files }
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"misspelt in the rule":      {own(after, "input.idle >= input.config.custom.afterr"), "did you mean after?"},
		"declared by no rule":       {rules.Finding("input.idle >= input.config.custom.after"), "no rule declares input.config.custom.after"},
		"a text for a number":       {own(after, `input.config.custom.after == "3d"`), "left is a number, right is a text"},
		"read by a computed name":   {own(after, `some name in ["after"]`+"\n\tinput.idle >= input.config.custom[name]"), "is no single parameter"},
		"read as a whole":           {own(after, "count(input.config.custom) == 1"), "is no single parameter"},
		"read through a local":      {own(after, "c := input.config\n\tinput.idle >= c.custom.afterr"), "did you mean after?"},
		"an unknown type":           {own("{after: {type: time, default: 3d}}", good), `own: after has the type "time": write one of boolean, duration, list, number, text`},
		"no type":                   {own("{after: {default: 3d}}", good), "own: after has the type empty"},
		"no default":                {own("{after: {type: duration}}", good), "own: after has no default"},
		"a default of another type": {own("{after: {type: duration, default: 3}}", good), "own: the default of after: 3 "},
		"a list of numbers":         {own("{after: {type: list, default: [1]}}", good), "own: the default of after: it is a list; it wants a list of texts"},
		"an empty text":             {own("{after: {type: text, default: ''}}", good), `own: the default of after: it is ""`},
		"an unknown key":            {own("{after: {type: duration, defualt: 3d}}", good), `own: after has an unknown key "defualt"`},
		"a description of numbers":  {own("{after: {type: duration, default: 3d, description: 3}}", good), "own: the description of after is no text"},
		"a list of parameters":      {own("[after]", good), "own: a list is no section of parameters"},
		"a parameter without parts": {own("{after: 3d}", good), `own: after is "3d"`},
		"a name with capitals":      {own("{After: {type: duration, default: 3d}}", "true"), `own: "After" is no name of a parameter`},
		"declared otherwise elsewhere": {also(own(after, good), "protect/mine/mine.rego", `# METADATA
# custom:
#   own: {after: {type: duration, default: 4d}}
package policies.protect.mine

objections contains {"rule": "protect.mine", "message": "mine", "evidence": {}} if input.kind == "dir"
`), "own: after is declared otherwise in"},
		"declared by a library": {also(rules.Finding("true"), "lib/mine/mine.rego", `# METADATA
# custom:
#   own: {after: {type: duration, default: 4d}}
package policies.lib.mine

x := 1
`), "own: parameters are declared by a package under reap or protect"},
	} {
		_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "mine", FS: rules.Small(c.files)}}})
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "mine.rego:") {
			t.Errorf("%s: want %q, got %v", name, c.says, err)
		}
	}
}
