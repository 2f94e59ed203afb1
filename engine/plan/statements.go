package plan

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// How a statement ends. Above left it leaves so many blocks more.
const (
	next     = 0  // the next statement follows
	left     = 1  // it is undefined, or leaves its block
	returned = -1 // the function has its value
	failed   = -2 // there is no answer; the machine has the error
)

// statement is one that is ready to run.
type statement func(*frame) int

type block []statement

func (b block) run(f *frame) int {
	for _, s := range b {
		if end := s(f); end != next {
			return end
		}
	}
	return next
}

// runAll runs blocks one after the other: the next one follows also where one is left.
func runAll(f *frame, bs []block) int {
	for _, b := range bs {
		if end := b.run(f); end < next || end > left {
			return outer(end)
		}
	}
	return next
}

// outer is how the statement ends in which a block ended so.
func outer(end int) int {
	if end <= next {
		return end
	}
	return end - 1
}

var (
	// errConflict is that a rule has two values.
	errConflict = errors.New("a rule or a key has two values")
	// errUndefined is a plan that reads what it has not written, errType one that takes a value for what it is not.
	errUndefined = errors.New("the plan reads an undefined value")
	errType      = errors.New("the plan has another type of value than it needs")
)

func (f *frame) fail(err error) int {
	f.m.err = err
	return failed
}

// emptySet and emptyObject stand for new ones until something is put into them. They are never changed.
var emptySet, emptyObject = ast.NewTerm(ast.NewSet()), ast.NewTerm(ast.NewObject())

// there stands in a local for a part of the input of which only its fields are read.
var there = ast.StringTerm("there")

func equal(a, b *ast.Term) bool {
	if a == b {
		return true
	}
	switch x := a.Value.(type) {
	case ast.String:
		y, ok := b.Value.(ast.String)
		return ok && x == y
	case ast.Boolean:
		y, ok := b.Value.(ast.Boolean)
		return ok && x == y
	}
	return ast.Compare(a.Value, b.Value) == 0
}

// dot is the member of a value with that key; nil when it is missing.
func dot(of, key *ast.Term) *ast.Term {
	if of == nil || key == nil {
		return nil
	}
	switch v := of.Value.(type) {
	case ast.Object:
		return v.Get(key)
	case *ast.Array:
		return v.Get(key)
	case ast.Set:
		if v.Contains(key) {
			return key
		}
	}
	return nil
}

// only ends a statement that is defined where ok.
func only(ok bool) int {
	if ok {
		return next
	}
	return left
}

func (c *compiler) statement(s ir.Stmt) statement {
	switch s := s.(type) {
	case *ir.ReturnLocalStmt:
		v := c.read(ir.Operand{Value: s.Source})
		return func(f *frame) int { f.out = v(f); return returned }
	case *ir.BlockStmt:
		bs := make([]block, len(s.Blocks))
		for i, b := range s.Blocks {
			bs[i] = c.block(b)
		}
		if len(bs) == 1 {
			b := bs[0]
			return func(f *frame) int { return outer(b.run(f)) }
		}
		return func(f *frame) int { return runAll(f, bs) }
	case *ir.BreakStmt:
		n := int(s.Index) + left
		return func(*frame) int { return n }
	case *ir.NotStmt:
		b := c.block(s.Block)
		return func(f *frame) int {
			if end := b.run(f); end != next {
				return outer(end)
			}
			return left
		}
	case *ir.NopStmt:
		return func(*frame) int { return next }
	case *ir.CallStmt:
		return c.call(s)
	case *ir.DotStmt:
		return c.dot(s)
	case *ir.ScanStmt:
		return c.scan(s)
	case *ir.AssignVarOnceStmt:
		t, v := int(s.Target), c.read(s.Source)
		return func(f *frame) int {
			x := v(f)
			if have := f.l[t]; have != nil && x != nil && !equal(have, x) {
				return f.fail(errConflict)
			}
			f.l[t] = x
			return next
		}
	case *ir.IsDefinedStmt:
		if s.Source == ir.Input {
			return func(*frame) int { return next }
		}
		l := int(s.Source)
		return func(f *frame) int { return only(f.l[l] != nil) }
	case *ir.IsUndefinedStmt:
		if s.Source == ir.Input {
			return func(*frame) int { return left }
		}
		l := int(s.Source)
		return func(f *frame) int { return only(f.l[l] == nil) }
	case *ir.EqualStmt:
		return c.compares(s.A, s.B, true)
	case *ir.NotEqualStmt:
		return c.compares(s.A, s.B, false)
	case *ir.IsArrayStmt:
		return c.is(s.Source, func(v ast.Value) bool { _, ok := v.(*ast.Array); return ok })
	case *ir.IsObjectStmt:
		return c.is(s.Source, func(v ast.Value) bool { _, ok := v.(ast.Object); return ok })
	case *ir.IsSetStmt:
		return c.is(s.Source, func(v ast.Value) bool { _, ok := v.(ast.Set); return ok })
	case *ir.ArrayAppendStmt:
		t, v := int(s.Array), c.read(s.Value)
		return func(f *frame) int {
			x := v(f)
			list, ok := valueOf[*ast.Array](f.l[t])
			if !ok || x == nil {
				return f.fail(errType)
			}
			f.l[t] = ast.NewTerm(list.Append(x))
			return next
		}
	case *ir.ObjectInsertStmt:
		return c.insert(s.Object, s.Key, s.Value, false)
	case *ir.ObjectInsertOnceStmt:
		return c.insert(s.Object, s.Key, s.Value, true)
	case *ir.SetAddStmt:
		t, v := int(s.Set), c.read(s.Value)
		return func(f *frame) int {
			x := v(f)
			set, ok := valueOf[ast.Set](f.l[t])
			switch {
			case !ok || x == nil:
				return f.fail(errType)
			case f.l[t] == emptySet:
				f.l[t] = ast.NewTerm(ast.NewSet(x))
			default:
				set.Add(x)
			}
			return next
		}
	default:
		return c.sets(s)
	}
}

// sets is a statement that gives a local a value, with any values of the others.
func (c *compiler) sets(s ir.Stmt) statement {
	set := func(l ir.Local, v *ast.Term) statement {
		t := int(l)
		return func(f *frame) int { f.l[t] = v; return next }
	}
	switch s := s.(type) {
	case *ir.AssignVarStmt:
		t, v := int(s.Target), c.read(s.Source)
		if k := c.constant(s.Source); k != nil {
			return set(s.Target, k)
		}
		return func(f *frame) int { f.l[t] = v(f); return next }
	case *ir.LenStmt:
		t, v := int(s.Target), c.read(s.Source)
		return func(f *frame) int {
			n, ok := length(v(f))
			if !ok {
				return left
			}
			f.l[t] = ast.InternedTerm(n)
			return next
		}
	case *ir.ResetLocalStmt:
		return set(s.Target, nil)
	case *ir.AssignIntStmt:
		return set(s.Target, ast.InternedTerm(int(s.Value)))
	case *ir.MakeNullStmt:
		return set(s.Target, ast.InternedNullTerm)
	case *ir.MakeNumberIntStmt:
		return set(s.Target, ast.InternedTerm(int(s.Value)))
	case *ir.MakeNumberRefStmt:
		text, _ := c.p.strings[s.Index].Value.(ast.String)
		return set(s.Target, ast.NewTerm(ast.Number(text)))
	case *ir.MakeArrayStmt:
		return set(s.Target, ast.InternedEmptyArray)
	case *ir.MakeObjectStmt:
		return set(s.Target, emptyObject)
	case *ir.MakeSetStmt:
		return set(s.Target, emptySet)
	default: // New refuses the others
		return func(f *frame) int { return f.fail(errType) }
	}
}

// valueOf is the value of a term as a T.
func valueOf[T ast.Value](t *ast.Term) (v T, ok bool) {
	if t != nil {
		v, ok = t.Value.(T)
	}
	return v, ok
}

func (c *compiler) compares(a, b ir.Operand, want bool) statement {
	if l, is := localOf(a); is && l != int(ir.Input) {
		if k := c.constant(b); k != nil { // most of them
			return func(f *frame) int {
				if f.l[l] == nil {
					return f.fail(errUndefined)
				}
				return only(equal(f.l[l], k) == want)
			}
		}
	}
	x, y := c.read(a), c.read(b)
	return func(f *frame) int {
		x, y := x(f), y(f)
		if x == nil || y == nil {
			return f.fail(errUndefined)
		}
		return only(equal(x, y) == want)
	}
}

func (c *compiler) is(of ir.Operand, like func(ast.Value) bool) statement {
	v := c.read(of)
	return func(f *frame) int {
		x := v(f)
		return only(x != nil && like(x.Value))
	}
}

func (c *compiler) insert(into ir.Local, key, value ir.Operand, once bool) statement {
	t, k, v := int(into), c.read(key), c.read(value)
	return func(f *frame) int {
		k, v := k(f), v(f)
		o, ok := valueOf[ast.Object](f.l[t])
		if !ok || k == nil || v == nil {
			return f.fail(errType)
		}
		if f.l[t] == emptyObject {
			f.l[t] = ast.NewTerm(ast.NewObject([2]*ast.Term{k, v}))
			return next
		}
		if once {
			if have := o.Get(k); have != nil {
				if !equal(have, v) {
					return f.fail(errConflict)
				}
				return next
			}
		}
		o.Insert(k, v)
		return next
	}
}

func (c *compiler) dot(s *ir.DotStmt) statement {
	t, k := int(s.Target), c.constant(s.Key)
	from, isLocal := localOf(s.Source)
	if !isLocal { // a text, or true or false
		return func(*frame) int { return left }
	}
	if parent, known := c.at[from]; known && k != nil {
		if name, is := k.Value.(ast.String); is {
			id := c.p.slot(parent, k, string(name))
			if c.written[t] == 1 {
				c.at[t] = id
				if !c.used[t] && !c.carried[t] {
					return func(f *frame) int {
						if !f.m.has(id) {
							return left
						}
						f.l[t] = there
						return next
					}
				}
			}
			return func(f *frame) int {
				v := f.m.slot(id)
				f.l[t] = v
				return only(v != nil)
			}
		}
	}
	of, key := c.read(s.Source), c.read(s.Key)
	if k != nil && from != int(ir.Input) {
		return func(f *frame) int {
			v := dot(f.l[from], k)
			f.l[t] = v
			return only(v != nil)
		}
	}
	return func(f *frame) int {
		v := dot(of(f), key(f))
		f.l[t] = v
		return only(v != nil)
	}
}

func (c *compiler) scan(s *ir.ScanStmt) statement {
	of, k, v, body := c.read(ir.Operand{Value: s.Source}), int(s.Key), int(s.Value), c.block(s.Block)
	// A loop counts for two blocks: the one that is run again, and the one around it.
	one := func(f *frame, key, value *ast.Term) (end int, goes bool) {
		if f.m.cancel.Cancelled() {
			return f.fail(errCancelled), false
		}
		f.l[k], f.l[v] = key, value
		if end := body.run(f); end < next || end > left {
			return outer(outer(end)), false
		}
		return next, true
	}
	return func(f *frame) int {
		x := of(f)
		if x == nil {
			return next
		}
		switch x := x.Value.(type) {
		case *ast.Array:
			for i := range x.Len() {
				if end, goes := one(f, ast.InternedTerm(i), x.Elem(i)); !goes {
					return end
				}
			}
		case ast.Set:
			for _, t := range x.Slice() {
				if end, goes := one(f, t, t); !goes {
					return end
				}
			}
		case ast.Object:
			for _, key := range x.Keys() {
				if end, goes := one(f, key, x.Get(key)); !goes {
					return end
				}
			}
		}
		return next
	}
}
