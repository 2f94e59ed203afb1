package engine

import (
	"fmt"
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// block is a body: its steps hold one after the other, in the order that OPA's compiler gave them.
type block []step

// step is a condition. One of its two is set: holds for a step that holds once or not at all, each for one that may hold many
// times, and calls what comes after it every time.
type step struct {
	holds func(*machine) (bool, error)
	each  func(*machine, func() error) error
}

// scope knows the variables of a rule: the slot of each, and which have a value once the steps so far have held. That is known
// before anything runs, since OPA's compiler has ordered the steps; nothing has to be unbound.
type scope struct {
	*assembler
	slots map[ast.Var]int
	bound map[ast.Var]bool
}

// inner is for a body inside: what it binds is not bound outside.
func (s *scope) inner() *scope {
	return &scope{assembler: s.assembler, slots: s.slots, bound: maps.Clone(s.bound)}
}

// bind gives a variable its slot and says that it has a value from here on.
func (s *scope) bind(v ast.Var) int {
	at, known := s.slots[v]
	if !known {
		at = s.assembler.slots
		s.slots[v] = at
		s.assembler.slots++
	}
	s.bound[v] = true
	return at
}

// free reports whether a term is a variable without a value.
func (s *scope) free(t *ast.Term) (ast.Var, bool) {
	v, ok := t.Value.(ast.Var)
	return v, ok && !s.bound[v] && !ast.RootDocumentNames.Contains(t)
}

func (s *scope) block(b ast.Body) (block, error) {
	out := make(block, 0, len(b))
	for _, e := range b {
		step, err := s.expr(e)
		if err != nil {
			return nil, err
		}
		out = append(out, step)
	}
	return out, nil
}

func (s *scope) expr(e *ast.Expr) (step, error) {
	if len(e.With) > 0 {
		return step{}, fmt.Errorf("%w: with, %v", errUnsupported, e.Location)
	}
	if e.Negated {
		positive := *e
		positive.Negated = false
		return s.not(ast.Body{&positive})
	}
	switch t := e.Terms.(type) {
	case *ast.Not:
		return s.not(t.Body)
	case *ast.Every:
		return s.every(t)
	case *ast.Term:
		return s.truth(t)
	case []*ast.Term:
		if e.IsEquality() {
			return s.equality(t[1], t[2])
		}
		return s.call(t)
	}
	return step{}, fmt.Errorf("%w: %v", errUnsupported, e.Location)
}

func (s *scope) not(b ast.Body) (step, error) {
	inside, err := s.inner().block(b)
	return step{holds: func(m *machine) (bool, error) {
		found, err := inside.holds(m)
		return !found, err
	}}, err
}

// every holds where its body does for each member; it fails over what has no members at all.
func (s *scope) every(e *ast.Every) (step, error) {
	domain, err := s.reader(e.Domain)
	if err != nil {
		return step{}, err
	}
	in := s.inner()
	at := route{{slot: -1}}
	if v, ok := e.Key.Value.(ast.Var); ok {
		at[0].slot = in.bind(v)
	}
	v, ok := e.Value.Value.(ast.Var)
	if !ok || at[0].slot < 0 {
		return step{}, fmt.Errorf("%w: every, %v", errUnsupported, e.Location)
	}
	value := in.bind(v)
	body, err := in.block(e.Body)
	return step{holds: func(m *machine) (bool, error) {
		over, err := domain(m)
		if err != nil || over == nil || !iterable(over) {
			return false, err
		}
		err = at.each(m, over, func(t *ast.Term) error {
			m.slots[value] = t
			ok, err := body.holds(m)
			if err == nil && !ok {
				return errFound
			}
			return err
		})
		if err == errFound { // one for which the body does not hold
			return false, nil
		}
		return err == nil, err
	}}, err
}

// truth is a term that stands by itself: it must be defined, and not false.
func (s *scope) truth(t *ast.Term) (step, error) {
	one, many, err := s.source(t)
	if err != nil || many == nil {
		return step{holds: func(m *machine) (bool, error) {
			v, err := one(m)
			return v != nil && !isFalse(v), err
		}}, err
	}
	return step{each: func(m *machine, then func() error) error {
		return many(m, func(v *ast.Term) error {
			if isFalse(v) {
				return nil
			}
			return then()
		})
	}}, nil
}

// equality gives a variable its value, or compares. The side that is a variable without a value takes what the other gives, and
// so does one with a single value where the other may have many.
func (s *scope) equality(a, b *ast.Term) (step, error) {
	_, takes := s.free(a)
	if _, free := s.free(b); !takes && (free || !s.single(a)) {
		a, b = b, a
	}
	one, many, err := s.source(b)
	if err != nil {
		return step{}, err
	}
	take, err := s.target(a)
	if err != nil {
		return step{}, err
	}
	if many == nil {
		return step{holds: func(m *machine) (bool, error) {
			v, err := one(m)
			if err != nil || v == nil {
				return false, err
			}
			return take(m, v)
		}}, nil
	}
	return step{each: func(m *machine, then func() error) error {
		return many(m, func(v *ast.Term) error {
			if ok, err := take(m, v); err != nil || !ok {
				return err
			}
			return then()
		})
	}}, nil
}

// target takes a value: a variable that has none, or something to compare with.
func (s *scope) target(t *ast.Term) (func(*machine, *ast.Term) (bool, error), error) {
	if v, free := s.free(t); free {
		at := s.bind(v)
		return func(m *machine, v *ast.Term) (bool, error) { m.slots[at] = v; return true, nil }, nil
	}
	other, err := s.reader(t)
	return func(m *machine, v *ast.Term) (bool, error) {
		o, err := other(m)
		return o != nil && ast.ValueEqual(v.Value, o.Value), err
	}, err
}

// call asks a built-in. With a term more than it has operands, that one takes what it gives; otherwise it must not give false.
func (s *scope) call(t []*ast.Term) (step, error) {
	name := t[0].Value.String()
	b, function := ast.BuiltinMap[name], topdown.GetBuiltin(name)
	if b == nil || function == nil {
		return step{}, fmt.Errorf("%w: %s", errUnsupported, name)
	}
	count := len(b.Decl.FuncArgs().Args)
	if len(t)-1 < count {
		return step{}, fmt.Errorf("%w: %s", errUnsupported, name)
	}
	operands := make([]reader, count)
	for i := range operands {
		var err error
		if operands[i], err = s.reader(t[1+i]); err != nil {
			return step{}, err
		}
	}
	take := func(_ *machine, v *ast.Term) (bool, error) { return !isFalse(v), nil }
	if len(t)-1 > count {
		var err error
		if take, err = s.target(t[1+count]); err != nil {
			return step{}, err
		}
	}
	apply := quick(name, operands, builtin(function, operands))
	return step{holds: func(m *machine) (bool, error) {
		v, err := apply(m)
		if err != nil || v == nil {
			return false, err
		}
		return take(m, v)
	}}, nil
}
