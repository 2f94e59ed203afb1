package engine

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

var (
	errFound    = errors.New("found") // ends a search, never leaves this file's callers
	errConflict = errors.New("a rule has two values")
	errCanceled = errors.New("canceled")
)

// machine is where one goroutine runs a program, one candidate after the other.
type machine struct {
	input     *ast.Term
	slots     []*ast.Term
	documents []made
	round     uint64
	builtins  topdown.BuiltinContext
	// operands is room for those of the built-ins that are being called.
	operands []*ast.Term
	// said is room for the reasons of a candidate.
	said []*ast.Term
}

// made is the value of a document in the round that it was made in.
type made struct {
	round uint64
	value *ast.Term
}

func newMachine(p *program) *machine {
	return &machine{slots: make([]*ast.Term, p.slots), documents: make([]made, p.documents)}
}

// begin takes the next candidate.
func (m *machine) begin(input ast.Value, cancel topdown.Cancel) {
	m.input, m.builtins.Cancel = ast.NewTerm(input), cancel
	m.round++
}

// holds reports whether a body holds at least once.
func (b block) holds(m *machine) (bool, error) {
	i, ok, err := b.until(m)
	if err != nil || !ok || i == len(b) {
		return ok, err
	}
	if err = b.each(m, i, func() error { return errFound }); err == errFound {
		return true, nil
	}
	return false, err
}

// run calls found each time that the body holds, until that gives an error.
func (b block) run(m *machine, found func() error) error {
	i, ok, err := b.until(m)
	switch {
	case err != nil || !ok:
		return err
	case i == len(b):
		return found()
	}
	return b.each(m, i, found)
}

// each is run from a step on that may hold many times.
func (b block) each(m *machine, i int, found func() error) error {
	return b[i].each(m, func() error { return b[i+1:].run(m, found) })
}

// until takes the steps that hold once or not at all, up to the first that may hold many times; false where one does not hold.
func (b block) until(m *machine) (int, bool, error) {
	for i := range b {
		if m.builtins.Cancel.Cancelled() {
			return 0, false, errCanceled
		}
		if b[i].each != nil {
			return i, true, nil
		}
		if ok, err := b[i].holds(m); err != nil || !ok {
			return 0, false, err
		}
	}
	return len(b), true, nil
}

// document is the value of a rule, nil where it has none.
func (m *machine) document(d *document) (*ast.Term, error) {
	at := &m.documents[d.index]
	if at.round == m.round {
		return at.value, nil
	}
	make := m.single
	if d.set {
		make = m.set
	}
	v, err := make(d)
	if err != nil {
		return nil, err
	}
	at.round, at.value = m.round, v
	return v, nil
}

func (m *machine) set(d *document) (*ast.Term, error) {
	var out ast.Set
	for _, c := range d.clauses {
		i, ok, err := c.body.until(m)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if out == nil {
			out = ast.NewSet()
		}
		if err := c.add(m, i, out); err != nil {
			return nil, err
		}
	}
	if out == nil {
		return ast.InternedEmptySet, nil
	}
	return ast.NewTerm(out), nil
}

// add adds what a clause gives whose body holds up to a step.
func (c *clause) add(m *machine, i int, to ast.Set) error {
	one := func() error {
		v, err := c.value(m)
		if v != nil && err == nil {
			to.Add(v)
		}
		return err
	}
	if i == len(c.body) {
		return one()
	}
	return c.body.each(m, i, one)
}

func (m *machine) single(d *document) (*ast.Term, error) {
	var value *ast.Term
	for _, c := range d.clauses {
		v, err := m.clause(c, d.same)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
		case value != nil && !ast.ValueEqual(value.Value, v.Value):
			return nil, errConflict
		case d.same:
			return v, nil
		default:
			value = v
		}
	}
	if value == nil {
		return d.other, nil
	}
	return value, nil
}

// clause is the value of the first in a chain whose body holds. With one set, that it holds once is enough.
func (m *machine) clause(c *clause, one bool) (*ast.Term, error) {
	for ; c != nil; c = c.orElse {
		i, ok, err := c.body.until(m)
		var v *ast.Term
		switch {
		case err != nil:
			return nil, err
		case !ok:
			continue
		case i == len(c.body):
			v, err = c.value(m)
		default:
			v, err = c.only(m, i, one)
		}
		if err != nil || v != nil {
			return v, err
		}
	}
	return nil, nil
}

// only is the one value that a clause has however often its body holds, from a step on.
func (c *clause) only(m *machine, i int, one bool) (*ast.Term, error) {
	var value *ast.Term
	err := c.body.each(m, i, func() error {
		v, err := c.value(m)
		switch {
		case err != nil || v == nil:
			return err
		case value != nil && !ast.ValueEqual(value.Value, v.Value):
			return errConflict
		}
		value = v
		if one {
			return errFound
		}
		return nil
	})
	if err == errFound {
		err = nil
	}
	return value, err
}

// each calls found with every value that the route leads to from one.
func (p route) each(m *machine, v *ast.Term, found func(*ast.Term) error) error {
	if len(p) == 0 {
		return found(v)
	}
	k, rest := &p[0], p[1:]
	if k.slot < 0 {
		key, err := k.value(m)
		if err != nil || key == nil {
			return err
		}
		if v = member(v, key); v == nil {
			return nil
		}
		return rest.each(m, v, found)
	}
	return members(v, func(key, value *ast.Term) error {
		if m.builtins.Cancel.Cancelled() {
			return errCanceled
		}
		m.slots[k.slot] = key
		return rest.each(m, value, found)
	})
}

// member is the value under a key; of a set, the key itself.
func member(v, key *ast.Term) *ast.Term {
	switch in := v.Value.(type) {
	case ast.Object:
		return in.Get(key)
	case *ast.Array:
		return in.Get(key)
	case ast.Set:
		if in.Contains(key) {
			return key
		}
	}
	return nil
}

// members calls found with every key and value, in order.
func members(v *ast.Term, found func(key, value *ast.Term) error) error {
	switch in := v.Value.(type) {
	case ast.Object:
		return in.Iter(found)
	case *ast.Array:
		for i := range in.Len() {
			if err := found(ast.InternedTerm(i), in.Elem(i)); err != nil {
				return err
			}
		}
	case ast.Set:
		return in.Iter(func(t *ast.Term) error { return found(t, t) })
	}
	return nil
}

func iterable(v *ast.Term) bool {
	switch v.Value.(type) {
	case ast.Object, *ast.Array, ast.Set:
		return true
	}
	return false
}

func isFalse(v *ast.Term) bool { return v.Value == ast.Boolean(false) }
