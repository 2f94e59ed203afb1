package engine

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"winnow/engine/decision"
	"winnow/engine/subject"
)

// Inputs gives the documents of a joined snapshot as Decide makes them.
func Inputs(j *subject.Joined) func(*subject.Subject) ast.Value {
	p := newPlan()
	s := p.desk(j).beside()
	return func(sub *subject.Subject) ast.Value { return p.input(sub, s) }
}

// AskWithoutASeat asks in a way that panics.
func AskWithoutASeat(e *Engine, sub *subject.Subject) error {
	_, err := e.ask(context.Background(), nil, nil, sub, e.plan.desk(nil))
	return err
}

// AskBoth asks the program of a subject's kind and OPA, and gives what each said; nil is out of scope.
func AskBoth(e *Engine, sub *subject.Subject) (program, opa *Said, err error) {
	ctx := context.Background()
	txn, err := e.store.NewTransaction(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer e.store.Abort(ctx, txn)
	w := watch(e.limits)
	defer w.stop()
	q, input := e.kinds[sub.Kind], e.plan.input(sub, e.plan.desk(nil))
	if q.program == nil {
		return nil, nil, errUnsupported
	}
	m := newMachine(q.program)
	m.begin(input, topdown.NewCancel())
	by, err := q.program.run(m)
	if err != nil {
		return nil, nil, err
	}
	rs, err := e.eval(ctx, w.seat(), q.decide, rego.EvalParsedInput(input), rego.EvalTransaction(txn))
	if err != nil || len(rs) == 0 {
		return exported(by), nil, err
	}
	of, err := q.read(rs)
	return exported(by), exported(of), err
}

// Said is what was said of a candidate in scope.
type Said struct{ Findings, Objections []decision.Reason }

func exported(s *said) *Said {
	if s == nil {
		return nil
	}
	return &Said{s.findings, s.objections}
}

// WithoutObjections takes every objection out of an engine's programs, and leaves OPA as it is.
func WithoutObjections(e *Engine) {
	for _, q := range e.kinds {
		q.program.objections = nil
	}
}
