package engine

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// builtin calls a built-in of OPA.
func builtin(function topdown.BuiltinFunc, operands []reader) reader {
	return func(m *machine) (*ast.Term, error) {
		terms := make([]*ast.Term, len(operands))
		for i, o := range operands {
			t, err := o(m)
			if err != nil || t == nil {
				return nil, err
			}
			terms[i] = t
		}
		var out *ast.Term
		err := function(m.builtins, terms, func(t *ast.Term) error { out = t; return nil })
		return out, err
	}
}

// quick is a built-in that is asked in nearly every rule, without the cost of a call: what compares, and `in`. Nil is any other.
func quick(name string, operands []reader) reader {
	if len(operands) != 2 {
		return nil
	}
	compare := func(holds func(int) bool) reader {
		return pair(operands, func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(holds(ast.Compare(a.Value, b.Value))) })
	}
	switch name {
	case "equal":
		return compare(func(c int) bool { return c == 0 })
	case "neq":
		return compare(func(c int) bool { return c != 0 })
	case "gt":
		return compare(func(c int) bool { return c > 0 })
	case "gte":
		return compare(func(c int) bool { return c >= 0 })
	case "lt":
		return compare(func(c int) bool { return c < 0 })
	case "lte":
		return compare(func(c int) bool { return c <= 0 })
	case "internal.member_2":
		return pair(operands, isMember)
	}
	return nil
}

func pair(operands []reader, of func(a, b *ast.Term) *ast.Term) reader {
	left, right := operands[0], operands[1]
	return func(m *machine) (*ast.Term, error) {
		a, err := left(m)
		if err != nil || a == nil {
			return nil, err
		}
		b, err := right(m)
		if err != nil || b == nil {
			return nil, err
		}
		return of(a, b), nil
	}
}

func isMember(x, in *ast.Term) *ast.Term {
	found := false
	switch c := in.Value.(type) {
	case ast.Set:
		found = c.Contains(x)
	case *ast.Array:
		for i := 0; i < c.Len() && !found; i++ {
			found = ast.ValueEqual(c.Elem(i).Value, x.Value)
		}
	case ast.Object:
		found = c.Until(func(_, v *ast.Term) bool { return ast.ValueEqual(v.Value, x.Value) })
	}
	return ast.InternedTerm(found)
}
