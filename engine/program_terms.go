package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// reader gives the one value of a term; nil is undefined.
type reader func(*machine) (*ast.Term, error)

// values gives every value of a term.
type values func(*machine, func(*ast.Term) error) error

// source is a term that gives values: one at most, or, where a reference has variables without a value in it, many.
func (s *scope) source(t *ast.Term) (reader, values, error) {
	if ref, ok := t.Value.(ast.Ref); ok && !s.single(t) {
		many, err := s.ref(ref)
		return nil, many, err
	}
	one, err := s.reader(t)
	return one, nil, err
}

// single reports whether a term has one value at most.
func (s *scope) single(t *ast.Term) bool {
	ref, ok := t.Value.(ast.Ref)
	if !ok {
		return true
	}
	for _, p := range ref[1:] {
		if _, free := s.free(p); free {
			return false
		}
	}
	if ref.HasPrefix(ast.DefaultRootRef) {
		return len(s.compiler.GetRulesExact(s.rule(ref))) > 0
	}
	return true
}

func (s *scope) reader(t *ast.Term) (reader, error) {
	switch v := t.Value.(type) {
	case ast.Var:
		at := s.slots[v]
		if !s.bound[v] {
			return nil, fmt.Errorf("%w: %v has no value", errUnsupported, v)
		}
		return func(m *machine) (*ast.Term, error) { return m.slots[at], nil }, nil
	case ast.Ref:
		if !s.single(t) {
			return nil, fmt.Errorf("%w: %v", errUnsupported, v)
		}
		return s.one(v)
	case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
		return s.comprehension(v)
	case ast.Call, *ast.TemplateString:
		return nil, fmt.Errorf("%w: %v", errUnsupported, v)
	}
	if ast.IsConstant(t.Value) {
		return func(*machine) (*ast.Term, error) { return t, nil }, nil
	}
	return s.composite(t.Value)
}

// one is a reference with one value at most.
func (s *scope) one(ref ast.Ref) (reader, error) {
	head, rest, err := s.head(ref)
	if err != nil {
		return nil, err
	}
	at, err := s.route(rest)
	if err != nil {
		return nil, err
	}
	return func(m *machine) (*ast.Term, error) {
		v, err := head(m)
		for i := 0; i < len(at) && v != nil && err == nil; i++ {
			var key *ast.Term
			if key, err = at[i].value(m); err != nil || key == nil {
				return nil, err
			}
			v = member(v, key)
		}
		return v, err
	}, nil
}

// head is what a reference begins with, and what comes after it.
func (s *scope) head(ref ast.Ref) (reader, ast.Ref, error) {
	switch {
	case ref.HasPrefix(ast.InputRootRef):
		return func(m *machine) (*ast.Term, error) { return m.input, nil }, ref[1:], nil
	case ref.HasPrefix(ast.DefaultRootRef):
		name := s.rule(ref)
		if len(s.compiler.GetRulesExact(name)) == 0 {
			return nil, nil, fmt.Errorf("%w: %v", errUnsupported, ref)
		}
		d, err := s.document(name)
		return func(m *machine) (*ast.Term, error) { return m.document(d) }, ref[len(name):], err
	}
	head, err := s.reader(ref[0])
	return head, ref[1:], err
}

// rule is the part of a reference that names a rule.
func (s *scope) rule(ref ast.Ref) ast.Ref {
	for i := 2; i <= len(ref); i++ {
		if _, constant := ref[i-1].Value.(ast.String); !constant {
			break
		}
		if len(s.compiler.GetRulesExact(ref[:i])) > 0 {
			return ref[:i]
		}
	}
	return ref[:1]
}

// ref is a reference that may have many values.
func (s *scope) ref(ref ast.Ref) (values, error) {
	if ref.HasPrefix(ast.DefaultRootRef) && len(s.rule(ref)) == 1 {
		return s.packages(ref)
	}
	head, rest, err := s.head(ref)
	if err != nil {
		return nil, err
	}
	at, err := s.route(rest)
	return func(m *machine, found func(*ast.Term) error) error {
		v, err := head(m)
		if err != nil || v == nil {
			return err
		}
		return at.each(m, v, found)
	}, err
}

// packages is a reference that leaves open which package it means: each rule that it can mean is one more source.
func (s *scope) packages(ref ast.Ref) (values, error) {
	names := map[string]ast.Ref{}
	for _, r := range s.compiler.GetRulesDynamic(ref) {
		if name := r.Ref().GroundPrefix(); len(name) <= len(ref) {
			names[name.String()] = name
		} else { // it means packages as a whole
			return nil, fmt.Errorf("%w: %v", errUnsupported, ref)
		}
	}
	at, err := s.route(ref[1:])
	if err != nil {
		return nil, err
	}
	var sources []values
	for _, text := range slices.Sorted(maps.Keys(names)) {
		name := names[text]
		d, err := s.document(name)
		if err != nil {
			return nil, err
		}
		sources = append(sources, at.below(name[1:], d))
	}
	return func(m *machine, found func(*ast.Term) error) error {
		for _, source := range sources {
			if err := source(m, found); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// below is what a route gives where it leads through the name of a document.
func (p route) below(name ast.Ref, d *document) values {
	return func(m *machine, found func(*ast.Term) error) error {
		for i, word := range name {
			k := p[i]
			if k.slot >= 0 {
				m.slots[k.slot] = word
				continue
			}
			here, err := k.value(m)
			if err != nil || here == nil || !ast.ValueEqual(here.Value, word.Value) {
				return err
			}
		}
		v, err := m.document(d)
		if err != nil || v == nil {
			return err
		}
		return p[len(name):].each(m, v, found)
	}
}

// route is how to come from a value to one in it.
type route []key

// key is a step on a route: a constant, something to be evaluated, or the slot of a variable that takes each key in turn.
type key struct {
	constant *ast.Term
	key      reader
	slot     int
}

func (s *scope) route(ref ast.Ref) (route, error) {
	out := make(route, len(ref))
	for i, t := range ref {
		out[i] = key{slot: -1}
		v, free := s.free(t)
		switch {
		case free:
			out[i].slot = s.bind(v)
		case ast.IsConstant(t.Value):
			out[i].constant = t
		default:
			var err error
			if out[i].key, err = s.reader(t); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// value is the key of a step that takes no variable.
func (k *key) value(m *machine) (*ast.Term, error) {
	if k.constant != nil {
		return k.constant, nil
	}
	return k.key(m)
}
