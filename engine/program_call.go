package engine

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// builtin calls a built-in of OPA.
func builtin(function topdown.BuiltinFunc, operands []reader) reader {
	return func(m *machine) (*ast.Term, error) {
		from := len(m.operands)
		defer func() { m.operands = m.operands[:from] }()
		for _, o := range operands {
			t, err := o(m)
			if err != nil || t == nil {
				return nil, err
			}
			m.operands = append(m.operands, t)
		}
		var out *ast.Term
		err := function(m.builtins, m.operands[from:], func(t *ast.Term) error { out = t; return nil })
		return out, err
	}
}

// quick is a built-in that is asked in nearly every rule, without the cost of a call: what compares, what counts,
// and `in`. Any other is the slow one.
func quick(name string, operands []reader, slow reader) reader {
	switch {
	case name == "count":
		return count(operands[0], slow)
	case len(operands) != 2:
		return slow
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
	return slow
}

// count counts members; anything else is for OPA to count or refuse.
func count(of, slow reader) reader {
	return func(m *machine) (*ast.Term, error) {
		t, err := of(m)
		if err != nil || t == nil {
			return nil, err
		}
		switch v := t.Value.(type) {
		case *ast.Array:
			return ast.InternedTerm(v.Len()), nil
		case ast.Object:
			return ast.InternedTerm(v.Len()), nil
		case ast.Set:
			return ast.InternedTerm(v.Len()), nil
		}
		return slow(m)
	}
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
