package explain

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/policy"
)

// Trace notes of one evaluation which rules held, and of each that did not the condition that it got furthest to.
type Trace struct {
	query map[uint64]*ast.Rule
	held  map[*ast.Rule]bool
	gave  map[*ast.Rule][]ast.Value // the reasons that a rule added to its set
	far   map[*ast.Rule]*stop
}

// stop is a condition that did not hold, with the values of its operands.
type stop struct {
	expr     *ast.Expr
	operands []operand
}

// operand is one side of a condition: the reference into the input that it is, if it is one, and its value, nil for one that is
// missing.
type operand struct {
	ref   ast.Ref
	value ast.Value
}

// NewTrace is for one evaluation.
func NewTrace() *Trace {
	return &Trace{
		query: map[uint64]*ast.Rule{}, held: map[*ast.Rule]bool{}, gave: map[*ast.Rule][]ast.Value{}, far: map[*ast.Rule]*stop{},
	}
}

// Enabled is part of topdown.QueryTracer.
func (t *Trace) Enabled() bool { return true }

// Config is part of topdown.QueryTracer. Variables are looked up where they are needed, not copied for every event.
func (t *Trace) Config() topdown.TraceConfig { return topdown.TraceConfig{PlugLocalVars: false} }

// TraceEvent is part of topdown.QueryTracer.
func (t *Trace) TraceEvent(ev topdown.Event) {
	switch ev.Op {
	case topdown.EnterOp:
		if r, ok := ev.Node.(*ast.Rule); ok {
			t.query[ev.QueryID] = r
		}
	case topdown.ExitOp:
		if r, ok := ev.Node.(*ast.Rule); ok {
			t.held[r] = true
			if r.Head.Key != nil && (r.Head.Name == policy.FindingsRule || r.Head.Name == policy.ObjectionsRule) {
				t.gave[r] = append(t.gave[r], ev.Plug(r.Head.Key).Value)
			}
		}
	case topdown.FailOp:
		t.fail(&ev)
	}
}

// fail keeps the condition when it is further down its rule than the one before. Conditions inside a comprehension or a block
// have queries of their own and belong to no rule.
func (t *Trace) fail(ev *topdown.Event) {
	e, ok := ev.Node.(*ast.Expr)
	r := t.query[ev.QueryID]
	if !ok || r == nil || t.far[r] != nil && t.far[r].expr.Index >= e.Index {
		return
	}
	s := &stop{expr: e}
	terms := e.Operands()
	if single, ok := e.Terms.(*ast.Term); ok {
		terms = []*ast.Term{single}
	}
	for _, o := range terms {
		if v, ok := valueOf(ev, o); ok {
			if v.ref == nil {
				v.ref = assigned(r.Body, o)
			}
			s.operands = append(s.operands, v)
		}
	}
	t.far[r] = s
}

// valueOf is what an operand was; nothing for a constant, which is in the text, and for a variable that has no value yet.
func valueOf(ev *topdown.Event, o *ast.Term) (operand, bool) {
	switch o.Value.(type) {
	case ast.Ref, ast.Var:
	default:
		return operand{}, false
	}
	switch v := ev.Plug(o).Value.(type) {
	case ast.Ref:
		if !v.HasPrefix(ast.InputRootRef) {
			return operand{}, false
		}
		found, err := ev.Input().Value.Find(v[1:])
		if err != nil { // absent, or behind a variable that was tried with everything
			return operand{ref: v}, true
		}
		return operand{ref: v, value: found}, true
	case ast.Var:
		return operand{}, false
	default:
		return operand{value: v}, true
	}
}

// assigned is the reference into the input that the compiler put into a variable, to compare that instead.
func assigned(b ast.Body, o *ast.Term) ast.Ref {
	for _, e := range b {
		if !e.IsEquality() || !e.Operand(0).Equal(o) {
			continue
		}
		if ref, ok := e.Operand(1).Value.(ast.Ref); ok && ref.HasPrefix(ast.InputRootRef) {
			return ref
		}
	}
	return nil
}

// written is a reference as a person writes it, with _ for the names that the compiler gave to variables.
func written(r ast.Ref) string {
	if r == nil {
		return ""
	}
	out := slices.Clone(r)
	for i, t := range out {
		if v, ok := t.Value.(ast.Var); ok && i > 0 && v.IsGenerated() {
			out[i] = ast.VarTerm("_")
		}
	}
	return out.String()
}
