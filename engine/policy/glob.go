package policy

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// CheckGlob says why the policies cannot match with a pattern, by the very function that they match with.
func CheckGlob(pattern string) error {
	_, err := matchGlob(pattern, "x")
	return err
}

// matchGlob reports whether a pattern matches a text, by the function that policies match with and with a slash between parts.
func matchGlob(pattern, text string) (matches bool, err error) {
	match := topdown.GetBuiltin(ast.GlobMatch.Name)
	if match == nil {
		return false, errors.New("there is no function to match it with")
	}
	operands := []*ast.Term{ast.StringTerm(pattern), ast.ArrayTerm(ast.StringTerm("/")), ast.StringTerm(text)}
	err = match(topdown.BuiltinContext{}, operands, func(t *ast.Term) error {
		matches = t.Equal(ast.InternedBooleanTrue)
		return nil
	})
	return matches, err
}
