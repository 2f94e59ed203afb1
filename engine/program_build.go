package engine

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// composite is an array, a set or an object with something in it that has to be evaluated. Where that is undefined, so is it.
func (s *scope) composite(v ast.Value) (reader, error) {
	var parts []reader
	var err error
	add := func(t *ast.Term) {
		o, e := s.reader(t)
		if e != nil {
			err = e
		}
		parts = append(parts, o)
	}
	var build func([]*ast.Term) ast.Value
	switch v := v.(type) {
	case *ast.Array:
		v.Foreach(add)
		build = func(ts []*ast.Term) ast.Value { return ast.NewArray(ts...) }
	case ast.Set:
		v.Foreach(add)
		build = func(ts []*ast.Term) ast.Value { return ast.NewSet(ts...) }
	case ast.Object:
		v.Foreach(func(k, t *ast.Term) { add(k); add(t) })
		build = newObject
	default:
		return nil, fmt.Errorf("%w: %v", errUnsupported, v)
	}
	return func(m *machine) (*ast.Term, error) {
		terms := make([]*ast.Term, len(parts))
		for i, part := range parts {
			t, err := part(m)
			if err != nil || t == nil {
				return nil, err
			}
			terms[i] = t
		}
		return ast.NewTerm(build(terms)), nil
	}, err
}

// newObject takes keys and values in turn.
func newObject(ts []*ast.Term) ast.Value {
	pairs := make([][2]*ast.Term, len(ts)/2)
	for i := range pairs {
		pairs[i] = [2]*ast.Term{ts[2*i], ts[2*i+1]}
	}
	return ast.NewObject(pairs...)
}

// comprehension gathers what its head is each time that its body holds; it is never undefined.
func (s *scope) comprehension(v ast.Value) (reader, error) {
	in := s.inner()
	switch v := v.(type) {
	case *ast.ArrayComprehension:
		body, heads, err := in.gathered(v.Body, v.Term)
		return func(m *machine) (*ast.Term, error) {
			var out []*ast.Term
			err := body.all(m, heads, func(ts []*ast.Term) error { out = append(out, ts[0]); return nil })
			return ast.ArrayTerm(out...), err
		}, err
	case *ast.SetComprehension:
		body, heads, err := in.gathered(v.Body, v.Term)
		return func(m *machine) (*ast.Term, error) {
			out := ast.NewSet()
			err := body.all(m, heads, func(ts []*ast.Term) error { out.Add(ts[0]); return nil })
			return ast.NewTerm(out), err
		}, err
	case *ast.ObjectComprehension:
		body, heads, err := in.gathered(v.Body, v.Key, v.Value)
		return func(m *machine) (*ast.Term, error) {
			out := ast.NewObject()
			err := body.all(m, heads, func(ts []*ast.Term) error {
				if before := out.Get(ts[0]); before != nil && !ast.ValueEqual(before.Value, ts[1].Value) {
					return errConflict
				}
				out.Insert(ts[0], ts[1])
				return nil
			})
			return ast.NewTerm(out), err
		}, err
	}
	return nil, errUnsupported
}

func (s *scope) gathered(b ast.Body, heads ...*ast.Term) (block, []reader, error) {
	body, err := s.block(b)
	if err != nil {
		return nil, nil, err
	}
	out := make([]reader, len(heads))
	for i, t := range heads {
		if out[i], err = s.reader(t); err != nil {
			return nil, nil, err
		}
	}
	return body, out, nil
}

// all calls back with the heads each time that the body holds. What it calls with is only good until it returns.
func (b block) all(m *machine, heads []reader, found func([]*ast.Term) error) error {
	var room [2]*ast.Term
	return b.run(m, func() error {
		for i, head := range heads {
			t, err := head(m)
			if err != nil || t == nil {
				return err
			}
			room[i] = t
		}
		return found(room[:len(heads)])
	})
}
