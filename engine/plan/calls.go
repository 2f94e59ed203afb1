package plan

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

func (c *compiler) call(s *ir.CallStmt) statement {
	t := int(s.Result)
	if rule := c.p.funcs[s.Func]; rule != nil {
		if len(rule.params) == 2 {
			return func(f *frame) int {
				out, ok := f.m.value(rule)
				if !ok {
					return failed
				}
				f.l[t] = out
				return only(out != nil)
			}
		}
		args, params := make([]func(*frame) *ast.Term, len(s.Args)-2), rule.params[2:]
		for i, o := range s.Args[2:] {
			args[i] = c.read(o)
		}
		remembered := rule.pure && len(args) <= memoArgs
		return func(f *frame) int {
			if f.m.cancel.Cancelled() {
				return f.fail(errCancelled)
			}
			in := f.m.push(rule.locals)
			for i, a := range args {
				in.l[params[i]] = a(f)
			}
			var key memoKey
			keyed := false
			if remembered {
				if key, keyed = f.m.keyOf(rule, in.l, params); keyed {
					if out, known := f.m.memo[key]; known {
						f.m.pop(rule.locals)
						f.l[t] = out
						return only(out != nil)
					}
				}
			}
			end := runAll(in, rule.blocks)
			out := in.out
			f.m.pop(rule.locals)
			if end == failed {
				return failed
			}
			if keyed {
				f.m.remember(key, out)
			}
			f.l[t] = out
			return only(out != nil)
		}
	}
	if holds := ordering(s.Func); holds != nil && len(s.Args) == 2 {
		a, b := c.read(s.Args[0]), c.read(s.Args[1])
		return func(f *frame) int {
			x, y := a(f), b(f)
			if x == nil || y == nil {
				return f.fail(errUndefined)
			}
			f.l[t] = ast.InternedTerm(holds(ast.Compare(x.Value, y.Value)))
			return next
		}
	}
	args := c.reads(s.Args)
	if quick := quickly(s.Func, len(args)); quick != nil {
		return func(f *frame) int {
			var given [2]*ast.Term
			for i, a := range args {
				if given[i] = a(f); given[i] == nil {
					return f.fail(errUndefined)
				}
			}
			out := quick(given[0], given[1])
			if out == nil {
				return f.fail(errType)
			}
			f.l[t] = out
			return next
		}
	}
	builtin := topdown.GetBuiltin(s.Func)
	return func(f *frame) int {
		if f.m.cancel.Cancelled() { // one after the other may double what they are given
			return f.fail(errCancelled)
		}
		given := make([]*ast.Term, len(args)) // a function may keep it
		for i, a := range args {
			if given[i] = a(f); given[i] == nil {
				return f.fail(errUndefined)
			}
		}
		f.m.result = nil
		if err := builtin(f.m.context, given, f.m.take); err != nil {
			return f.fail(err)
		}
		f.l[t] = f.m.result
		return only(f.m.result != nil)
	}
}

func (c *compiler) reads(os []ir.Operand) []func(*frame) *ast.Term {
	out := make([]func(*frame) *ast.Term, len(os))
	for i, o := range os {
		out[i] = c.read(o)
	}
	return out
}

// quickly is a built-in function that rules call at almost every step, without what OPA wraps around it; nil for all others. What it gives nothing for is an
// error of OPA's own, and so for topdown to say.
func quickly(name string, args int) func(a, b *ast.Term) *ast.Term {
	if name == "count" && args == 1 {
		return func(a, _ *ast.Term) *ast.Term {
			if n, ok := length(a); ok {
				return ast.InternedTerm(n)
			}
			return nil
		}
	}
	if args != 2 {
		return nil
	}
	switch name {
	case "equal":
		return func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(equal(a, b)) }
	case "neq":
		return func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(!equal(a, b)) }
	case "internal.member_2":
		return func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(member(a, b)) }
	case "startswith":
		return func(a, b *ast.Term) *ast.Term {
			text, ok := a.Value.(ast.String)
			prefix, is := b.Value.(ast.String)
			if !ok || !is {
				return nil
			}
			return ast.InternedTerm(strings.HasPrefix(string(text), string(prefix)))
		}
	default:
		return nil
	}
}

// ordering says of a built-in function that compares which order it holds for; nil for all others.
func ordering(name string) func(order int) bool {
	switch name {
	case "gt":
		return func(c int) bool { return c > 0 }
	case "gte":
		return func(c int) bool { return c >= 0 }
	case "lt":
		return func(c int) bool { return c < 0 }
	case "lte":
		return func(c int) bool { return c <= 0 }
	default:
		return nil
	}
}

// member reports whether a value is one of a collection's.
func member(x, in *ast.Term) bool {
	switch in := in.Value.(type) {
	case *ast.Array:
		for i := range in.Len() {
			if equal(in.Elem(i), x) {
				return true
			}
		}
	case ast.Set:
		return in.Contains(x)
	case ast.Object:
		return slices.ContainsFunc(in.Keys(), func(k *ast.Term) bool { return equal(in.Get(k), x) })
	}
	return false
}

// length is how many members a value has, or characters a text.
func length(t *ast.Term) (int, bool) {
	if t == nil {
		return 0, false
	}
	switch x := t.Value.(type) {
	case *ast.Array:
		return x.Len(), true
	case ast.Set:
		return x.Len(), true
	case ast.Object:
		return x.Len(), true
	case ast.String:
		return utf8.RuneCountInString(string(x)), true
	default:
		return 0, false
	}
}
