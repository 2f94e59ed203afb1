// Package plan runs rules by the plan that OPA's own planner makes of them (github.com/open-policy-agent/opa/v1/ir): a few dozen
// statements on values, functions and loops, where topdown binds and unifies terms. Values, built-in functions and comparisons are OPA's.
// A document is read as far as the rules ask for it, straight from the Go value.
//
// Nothing is reaped by this answer alone: package eval asks OPA's topdown too before a verdict is to reap, and of whatever a machine
// came to no answer. What a plan says otherwise is an error.
package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/rego"
)

// Build plans the rules that references name, with all that these ask. The compiler has the rules compiled, and must not be used elsewhere meanwhile.
func Build(ctx context.Context, c *ast.Compiler, refs []ast.Ref) (*ir.Policy, error) {
	register()
	body := make([]*ast.Expr, len(refs))
	for i, ref := range refs {
		// Every one is planned, whether those before it are defined or not.
		body[i] = ast.Equality.Expr(ast.VarTerm(fmt.Sprintf("x%d", i)), ast.NewTerm(&ast.ArrayComprehension{
			Term: ast.InternedTerm(true), Body: ast.NewBody(ast.NewExpr(ast.NewTerm(ref))),
		}))
	}
	var out *ir.Policy
	// A target makes the compiler one that plans; what it compiled stays as it is.
	defer c.WithEvalMode(ast.EvalModeTopdown)
	_, err := rego.New(rego.Target(target), rego.Compiler(c), rego.ParsedQuery(ast.NewBody(body...))).
		PrepareForEval(context.WithValue(ctx, planned{}, &out))
	if err != nil {
		return nil, fmt.Errorf("plan rules: %w", err)
	}
	if out == nil {
		return nil, errors.New("plan rules: OPA gave no plan")
	}
	return out, nil
}

// target is the name under which OPA hands its plan over: it plans only for a registered target of evaluations.
const target = "winnow-plan"

var register = sync.OnceFunc(func() { rego.RegisterPlugin(target, planned{}) })

// planned takes the plan over, and is the key under which a context says where to.
type planned struct{}

// IsTarget implements rego.TargetPlugin.
func (planned) IsTarget(name string) bool { return name == target }

// PrepareForEval implements rego.TargetPlugin. It prepares nothing: no evaluation goes through rego.
func (planned) PrepareForEval(ctx context.Context, p *ir.Policy, _ ...rego.PrepareOption) (rego.TargetPluginEval, error) {
	if to, ok := ctx.Value(planned{}).(**ir.Policy); ok {
		*to = p
	}
	return nil, nil
}

// Program is a plan that is ready to run. It may be used by many machines at once.
type Program struct {
	funcs   map[string]*Rule
	byPath  map[string]*Rule
	strings []*ast.Term

	mu    sync.Mutex // for what is below, and what Prepare fills in
	idle  sync.Pool  // of machines
	slots []slot
}

// Rule is what gives the value of one rule of a Rego package, or of one function.
type Rule struct {
	Path string // where it stands: policies/protect/live/objections
	// body gives the statements, once; it is nil when they are ready.
	body func() ([]*ir.Block, error)
	// n is its place among all functions, where machines keep its value.
	n      int
	params []ir.Local
	locals int
	blocks []block
	// common says that it rests on nothing of the input but what all candidates of a snapshot have in common.
	common bool
	// pure says of a function that it rests on nothing but its arguments.
	pure bool
}

func newProgram(funcs int) *Program {
	return &Program{funcs: make(map[string]*Rule, funcs), byPath: make(map[string]*Rule, funcs)}
}

func (p *Program) add(name, path string, r *Rule) {
	r.n = len(p.funcs)
	p.funcs[name] = r
	if path != "" {
		p.byPath[path], r.Path = r, path
	}
}

// New makes a program of a plan. The error is for a plan with a statement that is not known here.
func New(p *ir.Policy) (*Program, error) {
	out := newProgram(len(p.Funcs.Funcs))
	for _, s := range p.Static.Strings {
		out.strings = append(out.strings, ast.StringTerm(s.Value))
	}
	for _, f := range p.Funcs.Funcs {
		if len(f.Params) < 2 || f.Params[0] != ir.Input || f.Params[1] != ir.Data {
			return nil, fmt.Errorf("run a plan: the parameters of %s are %v, want input and data first", f.Name, f.Params)
		}
		out.add(f.Name, pathOf(f), &Rule{body: func() ([]*ir.Block, error) { return f.Blocks, nil }, params: f.Params})
	}
	for _, f := range p.Funcs.Funcs {
		if err := out.known(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Rule is the rule that a reference names; nil where the plan has none.
func (p *Program) Rule(ref ast.Ref) *Rule {
	var path []string
	for _, t := range ref[1:] {
		s, ok := t.Value.(ast.String)
		if !ok {
			return nil
		}
		path = append(path, string(s))
	}
	return p.byPath[strings.Join(path, "/")]
}

// Prepare makes rules ready to be called, with all that they ask. Machines that exist already must not be asked for them.
func (p *Program) Prepare(rules ...*Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range rules {
		p.prepare(r)
	}
}

func (p *Program) prepare(r *Rule) {
	if r.body == nil {
		return
	}
	body, err := r.body()
	r.body = nil
	if err != nil { // whoever asks has no answer, and asks somebody else
		r.blocks = []block{{func(f *frame) int { return f.fail(err) }}}
		return
	}
	eachStmt(body, func(s ir.Stmt) {
		if call, ok := s.(*ir.CallStmt); ok {
			if asked := p.funcs[call.Func]; asked != nil {
				p.prepare(asked)
			}
		}
	})
	c := &compiler{p: p, rule: r}
	c.compile(body)
}

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
func keyOf(rule *Rule, locals []*ast.Term) (k memoKey, ok bool) {
	params := rule.params[2:]
	if !rule.pure || len(params) > memoArgs {
		return k, false
	}
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
	if o, is := t.Value.(ast.Object); is {
		large := func(k *ast.Term) bool { return !smallText(k) || !smallText(o.Get(k)) }
		return o.Len() <= memoElems && !slices.ContainsFunc(o.Keys(), large)
	}
	return smallText(t)
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

// pure reports whether a statement with these operands rests on nothing but the locals of its function: neither on the input, nor on data.
func (c *compiler) pure(s ir.Stmt, reads []ir.Operand) bool {
	if call, calls := s.(*ir.CallStmt); calls {
		if asked := c.p.funcs[call.Func]; asked != nil {
			if !asked.pure {
				return false
			}
			reads = reads[2:]
		}
	}
	return !slices.ContainsFunc(reads, func(o ir.Operand) bool {
		l, is := localOf(o)
		return is && (l == int(ir.Input) || l == int(ir.Data))
	})
}
