package lint

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// typedParameters: the schema says nothing of a function's parameters, so that a misspelt field of one would be a condition
// that never holds. Functions take single facts, and lists of them. What is taken out of a parameter is as little known.
func typedParameters(m *ast.Module, _ string) Refusals {
	var refused Refusals
	for _, r := range m.Rules {
		if len(r.Head.Args) == 0 {
			continue
		}
		loose := map[ast.Var]bool{}
		for _, a := range r.Head.Args {
			ast.WalkVars(a, func(v ast.Var) bool { loose[v] = true; return false })
		}
		spread(r, loose)
		ast.WalkRefs(r, func(ref ast.Ref) bool {
			v, ok := ref[0].Value.(ast.Var)
			if !ok || !loose[v] {
				return false
			}
			for _, t := range ref[1:] {
				if _, constant := t.Value.(ast.String); constant {
					refused = append(refused, refusalAt(ClassParameter, r.Location, fmt.Sprintf("function %s reads %s of a parameter", r.Head.Name, ref),
						"pass that fact itself: the schema check cannot see into parameters"))
					return false
				}
			}
			return false
		})
	}
	return refused
}

// spread adds the variables that are assigned or unified from, or iterate over, what is already loose, until there are no more.
func spread(r *ast.Rule, loose map[ast.Var]bool) {
	for before := -1; before != len(loose); {
		before = len(loose)
		ast.WalkExprs(r, func(e *ast.Expr) bool {
			switch t := e.Terms.(type) {
			case *ast.SomeDecl:
				spreadSome(t, loose)
			case []*ast.Term:
				if e.IsAssignment() || e.IsEquality() {
					spreadBoth(e.Operand(0), e.Operand(1), loose)
				}
			}
			return false
		})
	}
}

// spreadSome handles `some x in xs` and `some k, x in xs`, which the parser leaves as a call of internal.member.
func spreadSome(d *ast.SomeDecl, loose map[ast.Var]bool) {
	for _, s := range d.Symbols {
		call, ok := s.Value.(ast.Call)
		if !ok {
			continue
		}
		if over := call[len(call)-1]; isLoose(over, loose) {
			for _, t := range call[1 : len(call)-1] {
				mark(t, loose)
			}
		}
	}
}

func spreadBoth(a, b *ast.Term, loose map[ast.Var]bool) {
	if isLoose(a, loose) {
		mark(b, loose)
	}
	if isLoose(b, loose) {
		mark(a, loose)
	}
}

func isLoose(t *ast.Term, loose map[ast.Var]bool) bool {
	switch v := t.Value.(type) {
	case ast.Var:
		return loose[v]
	case ast.Ref:
		head, ok := v[0].Value.(ast.Var)
		return ok && loose[head]
	default:
		return false
	}
}

func mark(t *ast.Term, loose map[ast.Var]bool) {
	ast.WalkVars(t, func(v ast.Var) bool {
		if !v.IsWildcard() {
			loose[v] = true
		}
		return false
	})
}
