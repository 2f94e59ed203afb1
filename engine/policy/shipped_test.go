package policy_test

import (
	"io/fs"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

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
