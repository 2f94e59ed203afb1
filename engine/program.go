package engine

import (
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// errUnsupported says that a rule uses something that no program is made of; OPA evaluates its kind alone.
var errUnsupported = errors.New("not made into a program")

// program is what is asked of every candidate of a kind, as closures made once of the rules that OPA parsed, checked, ordered
// and compiled. General evaluation costs OPA some hundred allocations a candidate, most of them to keep track of what might be
// rewritten, traced or evaluated in part; none of that is needed to judge.
//
// A program has no say of its own: where it errs, or would reap, OPA is asked, and OPA's answer is the one that counts. What it
// says of the others is held to OPA's word by tests.
type program struct {
	scope, findings, objections []*document
	slots, documents            int
}

// document is a rule's value, made at most once a candidate.
type document struct {
	index   int
	set     bool // a partial set; otherwise a single value
	clauses []*clause
	// other is the default; nil is none.
	other *ast.Term
	// same is set where every clause gives the same constant, so that the first that holds is enough.
	same bool
}

// clause is a body and what it gives; orElse is tried where the body never holds.
type clause struct {
	body   block
	value  reader
	orElse *clause
}

// assembler makes the program of a kind.
type assembler struct {
	compiler  *ast.Compiler
	documents map[string]*document
	slots     int
}

// assemble makes the program of a kind out of the rules as they are written.
func assemble(c *ast.Compiler, reaps, protects []pkg) (*program, error) {
	a := &assembler{compiler: c, documents: map[string]*document{}}
	p := &program{}
	for _, part := range []struct {
		into *[]*document
		from []pkg
		name string
	}{{&p.scope, reaps, scopeRule}, {&p.findings, reaps, findingsRule}, {&p.objections, protects, objectionsRule}} {
		for _, from := range part.from {
			ref := from.ref.Append(ast.StringTerm(part.name))
			if len(c.GetRulesExact(ref)) == 0 {
				continue
			}
			d, err := a.document(ref)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", from.id, err)
			}
			*part.into = append(*part.into, d)
		}
	}
	p.slots, p.documents = a.slots, len(a.documents)
	return p, nil
}

// document is the one of all rules of a name. No rule can refer to itself, so that one slot a variable is enough.
func (a *assembler) document(ref ast.Ref) (*document, error) {
	name := ref.String()
	if d := a.documents[name]; d != nil {
		return d, nil
	}
	d := &document{index: len(a.documents)}
	a.documents[name] = d
	rules := a.compiler.GetRulesExact(ref)
	for _, r := range rules {
		kind := r.Head.RuleKind()
		if len(r.Head.Args) > 0 || kind == ast.MultiValue && r.Head.Key == nil || len(r.Head.Ref()) > 1 && kind == ast.SingleValue {
			return nil, fmt.Errorf("%w: %s", errUnsupported, name)
		}
		d.set = kind == ast.MultiValue
		if r.Default {
			d.other = r.Head.Value
			continue
		}
		c, err := a.clause(r)
		if err != nil {
			return nil, err
		}
		d.clauses = append(d.clauses, c)
	}
	d.same = !d.set && sameConstant(rules)
	return d, nil
}

func (a *assembler) clause(r *ast.Rule) (*clause, error) {
	s := &scope{assembler: a, slots: map[ast.Var]int{}, bound: map[ast.Var]bool{}}
	body, err := s.block(r.Body)
	if err != nil {
		return nil, err
	}
	head := r.Head.Value
	if r.Head.RuleKind() == ast.MultiValue {
		head = r.Head.Key
	}
	c := &clause{body: body}
	if c.value, err = s.reader(head); err != nil {
		return nil, err
	}
	if r.Else != nil {
		c.orElse, err = a.clause(r.Else)
	}
	return c, err
}

// sameConstant reports whether no clause of a rule can contradict another.
func sameConstant(rules []*ast.Rule) bool {
	var value *ast.Term
	for _, r := range rules {
		if r.Default {
			continue
		}
		if r.Else != nil || !ast.IsConstant(r.Head.Value.Value) || value != nil && !value.Equal(r.Head.Value) {
			return false
		}
		value = r.Head.Value
	}
	return true
}
