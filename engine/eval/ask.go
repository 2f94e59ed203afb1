package eval

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// The ways in which an evaluation comes to no answer, besides an error of a rule.
var (
	errDeadline = errors.New("the evaluation passed its deadline (policy.timeout)")
	errMemory   = errors.New("the evaluation passed its memory limit (policy.memory)")
	errPanic    = errors.New("the evaluation panicked")
	// errTwoAnswers is a fault of this program's: the same rules said two things of the same document.
	errTwoAnswers = errors.New("OPA's plan of the rules and its evaluator do not agree on it: please report this")
	// ErrUnbuilt is that the rules were prepared before, and not compiled yet.
	ErrUnbuilt = errors.New("the rules are not compiled yet")
	errGivenUp = errors.New("it was not evaluated: too many others had passed their deadline or memory limit before (policy.timeout, policy.memory)")
)

// Reasons is what the policies gave for a candidate in scope, both lists sorted by rule and message, never nil.
type Reasons struct{ Findings, Objections []decision.Reason }

// asker asks queries of one candidate after the other. It is for one goroutine.
type asker struct {
	engine  *Engine
	txn     storage.Transaction
	slot    *slot
	machine *plan.Machine // nil where there is no plan
	cancel  topdown.Cancel
	// guess takes the plan's word also for what may be reaped.
	guess bool
	// hasty asks nothing that rules would have to be compiled for.
	hasty bool
}

// asker is one for queries that are ready.
func (e *Engine) asker(txn storage.Transaction, seat *slot) *asker {
	a := &asker{engine: e, txn: txn, slot: seat}
	if e.program != nil {
		a.machine, a.cancel = e.program.Machine(), topdown.NewCancel()
	}
	return a
}

// done is said when the asker is not used any more.
func (a *asker) done() {
	if a.machine != nil {
		a.engine.program.Release(a.machine)
	}
}

// candidate is what is asked of: a subject, written at a desk as far as it is asked for, or a document that is asked about in its place.
type candidate struct {
	subject *subject.Subject
	encoder *plan.Encoder
	input   ast.Value // nil where the subject itself is asked of
}

func (c candidate) document() ast.Value {
	if c.input != nil {
		return c.input
	}
	return c.encoder.Document(c.subject)
}

// ask evaluates a query on a candidate under the limits; nil, nil says that it is out of scope. OPA's topdown confirms what would let it be
// reaped, but for a guess, and answers where the plan came to no answer.
func (a *asker) ask(ctx context.Context, q *query, c candidate) (out *Reasons, err error) {
	defer catch(&err)
	if a.slot.watchdog.passed.Load() >= maxPassed {
		return nil, errGivenUp
	}
	if a.machine == nil {
		in := c.document()
		if out, err = a.stock(ctx, &q.inScope, in); out == nil || err != nil {
			return nil, err
		}
		return a.stock(ctx, &q.stock, in)
	}
	out, err = a.plan(q, c)
	switch {
	case errors.Is(err, errDeadline), errors.Is(err, errMemory):
		return nil, err
	case err != nil:
		if errors.Is(err, errPanic) {
			a.machine = nil // it stands in the middle of something
		}
		return a.stock(ctx, &q.stock, c.document())
	case a.guess || out == nil || !mayGo(out, len(c.subject.Config.Levels) > 0):
		return out, nil
	}
	confirmed, err := a.stock(ctx, &q.stock, c.document())
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(confirmed, out) {
		return nil, errTwoAnswers
	}
	return confirmed, nil
}

// mayGo reports whether a candidate may be reaped by its reasons: where rules have levels an objection need not count.
func mayGo(s *Reasons, leveled bool) bool {
	return len(s.Findings) > 0 && (len(s.Objections) == 0 || leveled)
}

// catch makes an error of a panic.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errPanic, r)
	}
}

// plan runs OPA's plan of a query, on a seat.
func (a *asker) plan(q *query, c candidate) (out *Reasons, err error) {
	defer catch(&err)
	if a.cancel.Cancelled() {
		a.cancel = topdown.NewCancel()
	}
	done := a.slot.take(a.cancel)
	defer func() {
		if over := done(); over != nil && err != nil {
			a.slot.watchdog.passed.Add(1)
			out, err = nil, over
		}
	}()
	if c.input != nil {
		a.machine.Document(c.input)
	} else {
		a.machine.Subject(c.subject, c.encoder)
	}
	in, err := a.sets(q.scope, nil)
	if err != nil || len(in) == 0 {
		return nil, err
	}
	findings, err := a.sets(q.findings, in[:0])
	if err != nil {
		return nil, err
	}
	found := len(findings)
	all, err := a.sets(q.objections, findings)
	if err != nil {
		return nil, err
	}
	return read(all[:found], all[found:])
}

// sets adds to a list what rules give, without those that are undefined or false.
func (a *asker) sets(rules []*plan.Rule, to []policy.Given) ([]policy.Given, error) {
	for _, r := range rules {
		t, err := a.machine.Ask(a.cancel, r)
		if err != nil {
			return nil, err
		}
		if t != nil && t.Value.Compare(ast.Boolean(false)) != 0 {
			to = append(to, policy.Given{ID: policy.IDOf(r.Path), Value: t.Value})
		}
	}
	return to, nil
}

// stock asks OPA's topdown.
func (a *asker) stock(ctx context.Context, question *lazy[stock], in ast.Value) (*Reasons, error) {
	if a.hasty && !a.engine.policy.Built() {
		return nil, ErrUnbuilt
	}
	s, err := question.get(a.slot.watchdog)
	if err != nil {
		return nil, err
	}
	rs, err := a.engine.eval(ctx, a.slot, s.PreparedEvalQuery, rego.EvalParsedInput(in), rego.EvalTransaction(a.txn))
	switch {
	case err != nil:
		return nil, err
	case len(rs) != 1:
		return nil, fmt.Errorf("%w: %d answers", policy.ErrShape, len(rs))
	}
	given := func(prefix string, ps []policy.Package) (out []policy.Given) {
		for i, p := range ps {
			if list, ok := rs[0].Bindings[fmt.Sprint(prefix, i)].(*ast.Array); ok && list.Len() == 1 && list.Elem(0).Value.Compare(ast.Boolean(false)) != 0 {
				out = append(out, policy.Given{ID: p.ID, Value: list.Elem(0).Value})
			}
		}
		return out
	}
	if len(given("s", s.scope)) == 0 {
		return nil, nil
	}
	return read(given("f", s.find), given("o", s.object))
}

// eval runs a query on a seat: with its deadline, watched for memory, and without what OPA measures of itself.
func (e *Engine) eval(ctx context.Context, seat *slot, q rego.PreparedEvalQuery, opts ...rego.EvalOption) (rego.ResultSet, error) {
	cancel := topdown.NewCancel()
	done := seat.take(cancel)
	rs, err := q.Eval(ctx, append(opts, rego.EvalExternalCancel(cancel), rego.EvalMetrics(metrics.NoOp()), rego.EvalGenerateJSON(asTerm))...)
	if over := done(); over != nil && err != nil {
		seat.watchdog.passed.Add(1)
		return nil, over
	}
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	return rs, nil
}

func asTerm(t *ast.Term, _ *rego.EvalContext) (any, error) { return t.Value, nil }

// read takes the reasons out of the sets that rules gave.
func read(findings, objections []policy.Given) (*Reasons, error) {
	m := policy.Room(policy.MaxSaid)
	found, err := policy.Reasons(findings, policy.FindingsRule, m)
	if err != nil {
		return nil, err
	}
	objected, err := policy.Reasons(objections, policy.ObjectionsRule, m)
	if err != nil {
		return nil, err
	}
	return &Reasons{found, objected}, nil
}
