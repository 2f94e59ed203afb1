package plan

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// What a machine remembers of functions that rest on nothing but their arguments: rules say the same spans of time and ask for the same constants again
// and again. It is bounded, since the rules may be anybody's.
const (
	memoCalls = 1024 // all are forgotten when there are more
	memoArgs  = 2
	memoText  = 256 // bytes of a text
	memoElems = 8   // members of a list or an object
)

// memoKey is a call with arguments that are no lists, sets or objects.
type memoKey struct {
	rule  int
	kinds [memoArgs]byte
	args  [memoArgs]string
}

// keyOf is false for a call that is not remembered.
func (m *Machine) keyOf(rule *Rule, locals []*ast.Term, params []ir.Local) (k memoKey, ok bool) {
	k.rule = rule.n
	for i, l := range params {
		a := locals[l]
		if a == nil {
			return k, false
		}
		switch v := a.Value.(type) {
		case ast.String:
			k.kinds[i], k.args[i] = 's', string(v)
		case ast.Number:
			k.kinds[i], k.args[i] = 'n', string(v)
		default:
			return k, false
		}
		if len(k.args[i]) > memoText {
			return k, false
		}
	}
	return k, true
}

// remember keeps what a call gave, nil where it is undefined. What it gives must not be changed.
func (m *Machine) remember(k memoKey, out *ast.Term) {
	if !small(out) {
		return
	}
	if len(m.memo) >= memoCalls {
		clear(m.memo)
	}
	if m.memo == nil {
		m.memo = map[memoKey]*ast.Term{}
	}
	m.memo[k] = out
}

// small reports whether a value takes little memory.
func small(t *ast.Term) bool {
	if t == nil {
		return true
	}
	switch v := t.Value.(type) {
	case ast.Object:
		if v.Len() > memoElems {
			return false
		}
		for _, k := range v.Keys() {
			if !smallText(k) || !smallText(v.Get(k)) {
				return false
			}
		}
		return true
	case *ast.Array, ast.Set:
		return false
	default:
		return smallText(t)
	}
}

func smallText(t *ast.Term) bool {
	switch v := t.Value.(type) {
	case ast.String:
		return len(v) <= memoText
	case ast.Number:
		return len(v) <= memoText
	case ast.Boolean, ast.Null:
		return true
	default:
		return false
	}
}

// pure reports whether a statement with these operands rests on nothing but the locals of its function: neither on the input, nor on data, nor on a built-in function that may
// say two things of the same arguments.
func (c *compiler) pure(s ir.Stmt, reads []ir.Operand) bool {
	if call, calls := s.(*ir.CallStmt); calls {
		if asked := c.p.funcs[call.Func]; asked != nil {
			if !asked.pure {
				return false
			}
			reads = reads[2:]
		} else if b := ast.BuiltinMap[call.Func]; b == nil || b.IsNondeterministic() {
			return false
		}
	}
	for _, o := range reads {
		if l, is := localOf(o); is && (l == int(ir.Input) || l == int(ir.Data)) {
			return false
		}
	}
	return true
}
