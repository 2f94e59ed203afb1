package lint

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// noDisguise: count([x | x := input.age]) == 0 is true where the age is missing, as a not is. So is the count of a set
// that a rule of the same package makes, unless the body that counts it fails by itself where a field that the set is
// made of is missing. A template string is defined even where a fact in it is missing, so no condition asks about one.
func noDisguise(modules []*ast.Module) check {
	named := map[string]map[string][]*ast.Rule{}
	for _, m := range modules {
		in := m.Package.Path.String()
		if named[in] == nil {
			named[in] = map[string][]*ast.Rule{}
		}
		for _, r := range m.Rules {
			name := r.Head.Ref()[0].String()
			named[in][name] = append(named[in][name], r)
		}
	}
	return func(m *ast.Module, family string) Refusals {
		var refused Refusals
		if !slices.Contains([]string{"reap", "protect", "lib"}, family) {
			return nil
		}
		ast.WalkBodies(m, func(b ast.Body) bool {
			for _, e := range b {
				ast.WalkTerms(e, func(t *ast.Term) bool {
					if _, filled := t.Value.(*ast.TemplateString); filled && e.IsCall() && !e.IsAssignment() {
						ast.WalkRefs(t, func(r ast.Ref) bool {
							refused = append(refused, refusalAt(ClassDisguise, e.Location, fmt.Sprintf("a not in disguise: a template string is defined even where %s is missing", r), "write concat, which is undefined then"))
							return true
						})
					}
					return false
				})
				counted := fewer(e, b)
				if counted == nil || family == "protect" {
					continue
				}
				if ast.IsComprehension(counted.Value) {
					refused = append(refused, refusalAt(ClassDisguise, e.Location, "a not in disguise: it counts what is found, and nothing is found where a fact is missing",
						"state positively what must be known, for instance with every"))
				} else if missing := unguarded(counted, named[m.Package.Path.String()], b); missing != "" {
					refused = append(refused, refusalAt(ClassDisguise, e.Location, fmt.Sprintf("a not in disguise: it counts %s, which is empty too where %s is missing", counted, missing),
						fmt.Sprintf("state in the same body that %s is known, or write the condition with every", missing)))
				}
			}
			return false
		})
		return refused
	}
}

// fewer is what an expression of a body counts to find that there are few or no members; nil for any other expression.
func fewer(e *ast.Expr, b ast.Body) *ast.Term {
	if !e.IsCall() || len(e.Operands()) != 2 {
		return nil
	}
	few, most := assigned(e.Operand(0), b), assigned(e.Operand(1), b)
	switch e.Operator().String() {
	case ast.Equal.Name, ast.Equality.Name:
		if _, number := few.Value.(ast.Number); number {
			few, most = most, few
		}
	case ast.GreaterThan.Name, ast.GreaterThanEq.Name:
		few, most = most, few
	case ast.LessThan.Name, ast.LessThanEq.Name:
	default:
		return nil
	}
	c, call := few.Value.(ast.Call)
	if _, number := most.Value.(ast.Number); !number || !call || len(c) != 2 || c[0].String() != ast.Count.Name {
		return nil
	}
	return assigned(c[1], b)
}

// assigned is what a body assigns to a variable, and any other term itself.
func assigned(t *ast.Term, b ast.Body) *ast.Term {
	for _, e := range b {
		if _, variable := t.Value.(ast.Var); variable && e.IsAssignment() && e.Operand(0).Equal(t) {
			return e.Operand(1)
		}
	}
	return t
}

// sources are what the rules of one name are made of.
type sources struct {
	rules  map[string][]*ast.Rule // of the package, by name
	seen   map[string]bool
	fields []ast.Ref
	// empties: a missing fact leaves the value empty and not undefined. beyond: a fact that no other body can show to be known,
	// such as a field of a list's element, or a rule of another package.
	empties bool
	beyond  string
}

// unguarded is a fact that may be missing without the body's failing, where what is counted is empty then; "" without one.
func unguarded(counted *ast.Term, rules map[string][]*ast.Rule, b ast.Body) string {
	s := &sources{rules: rules, seen: map[string]bool{}}
	s.read(counted)
	switch {
	case len(s.seen) == 0 || !s.empties:
		return ""
	case s.beyond != "":
		return s.beyond
	}
	known := needed(b)
	for _, f := range s.fields {
		if !slices.ContainsFunc(known, func(k ast.Ref) bool { return k.HasPrefix(f) }) {
			return f.String()
		}
	}
	return ""
}

// read gathers from a term, or from a rule with all that it consists of.
func (s *sources) read(x any) {
	ast.WalkTerms(x, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Var:
			s.rule(string(v))
		case ast.Ref:
			s.ref(v)
		default:
			s.empties = s.empties || ast.IsComprehension(v)
		}
		return false
	})
}

func (s *sources) rule(name string) {
	if s.seen[name] || s.rules[name] == nil {
		return
	}
	s.seen[name] = true
	for _, r := range s.rules[name] {
		s.empties = s.empties || r.Default || r.Else != nil || r.Head.RuleKind() == ast.MultiValue
		s.read(r)
	}
}

func (s *sources) ref(r ast.Ref) {
	field := func(t *ast.Term) bool { _, constant := t.Value.(ast.String); return constant }
	head, _ := r[0].Value.(ast.Var)
	fixed := r.ConstantPrefix()
	switch {
	case s.rules[string(head)] != nil && !slices.ContainsFunc(r[1:], field): // its rules are read with the head
	case r[0].Equal(ast.InputRootDocument) && len(fixed) > 1 && !slices.ContainsFunc(r[len(fixed):], field):
		s.fields = append(s.fields, fixed)
	case ast.BuiltinMap[r.String()] == nil:
		s.beyond = r.String()
	}
}

// needed are the fields of the input without which a body fails.
func needed(b ast.Body) (fields []ast.Ref) {
	for _, e := range b {
		var in any = e
		switch t := e.Terms.(type) {
		case *ast.Every:
			in = t.Domain
		case *ast.Term, []*ast.Term, *ast.SomeDecl:
		default:
			continue
		}
		if e.Negated {
			continue
		}
		ast.NewGenericVisitor(func(x any) bool {
			switch x := x.(type) {
			case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.TemplateString:
				return true // defined even where a fact in it is missing
			case ast.Ref:
				if x[0].Equal(ast.InputRootDocument) {
					fields = append(fields, x.ConstantPrefix())
				}
			}
			return false
		}).Walk(in)
	}
	return fields
}
