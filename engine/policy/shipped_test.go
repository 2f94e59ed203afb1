package policy_test

import (
	"io/fs"
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
