package policy

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// CheckGlob says why a pattern is none that the policies can match with, by the very function that they match with.
func CheckGlob(pattern string) error {
	match := topdown.GetBuiltin(ast.GlobMatch.Name)
	if match == nil {
		return errors.New("there is no function to match it with")
	}
	operands := []*ast.Term{ast.StringTerm(pattern), ast.ArrayTerm(ast.StringTerm("/")), ast.StringTerm("x")}
	return match(topdown.BuiltinContext{}, operands, func(*ast.Term) error { return nil })
}
