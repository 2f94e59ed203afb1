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
		args, params := c.reads(s.Args[2:]), rule.params[2:]
		return func(f *frame) int {
			if f.m.cancel.Cancelled() {
				return f.fail(errCancelled)
			}
			in := f.m.push(rule.locals)
			for i, a := range args {
				in.l[params[i]] = a(f)
			}
			key, keyed := keyOf(rule, in.l)
			if keyed {
				if out, known := f.m.memo[key]; known {
					f.m.pop(rule.locals)
					f.l[t] = out
					return only(out != nil)
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
	args := c.reads(s.Args)
	if quick := quickly[s.Func]; quick.gives != nil && quick.args == len(args) {
		return func(f *frame) int {
			var given [2]*ast.Term
			for i, a := range args {
				if given[i] = a(f); given[i] == nil {
					return f.fail(errUndefined)
				}
			}
			out := quick.gives(given[0], given[1])
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

// quickly are the built-in functions that rules call at almost every step, without what OPA wraps around them, with their arguments. What one gives nothing for
// is an error of OPA's own, and so for topdown to say.
var quickly = map[string]struct {
	args  int
	gives func(a, b *ast.Term) *ast.Term
}{
	"count": {1, func(a, _ *ast.Term) *ast.Term {
		if n, ok := length(a); ok {
			return ast.InternedTerm(n)
		}
		return nil
	}},
	"equal":             {2, func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(equal(a, b)) }},
	"neq":               {2, func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(!equal(a, b)) }},
	"gt":                {2, func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(ast.Compare(a.Value, b.Value) > 0) }},
	"gte":               {2, func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(ast.Compare(a.Value, b.Value) >= 0) }},
	"lt":                {2, func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(ast.Compare(a.Value, b.Value) < 0) }},
	"lte":               {2, func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(ast.Compare(a.Value, b.Value) <= 0) }},
	"internal.member_2": {2, func(a, b *ast.Term) *ast.Term { return ast.InternedTerm(member(a, b)) }},
	"startswith": {2, func(a, b *ast.Term) *ast.Term {
		text, ok := a.Value.(ast.String)
		prefix, is := b.Value.(ast.String)
		if !ok || !is {
			return nil
		}
		return ast.InternedTerm(strings.HasPrefix(string(text), string(prefix)))
	}},
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
