package engine_test

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"winnow/engine"
	"winnow/policies"
)

// shipped is the policy that Winnow comes with.
func shipped(t testing.TB) *engine.Policy {
	t.Helper()
	return load(t, engine.Tree{Name: "embedded", FS: policies.Files, Prefix: "policies"})
}

// TestShippedPoliciesAreClean holds the policies that Winnow comes with to the whole lint, of which Load asks only a part.
func TestShippedPoliciesAreClean(t *testing.T) {
	t.Parallel()
	var modules []*ast.Module
	for name, text := range sources(t) {
		m, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{ProcessAnnotation: true})
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, m)
	}
	for _, r := range engine.Lint(modules...) {
		t.Error(r)
	}
}
