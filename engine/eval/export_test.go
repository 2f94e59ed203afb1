package eval

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// Inputs gives the documents of a joined snapshot as Decide makes them.
func Inputs(j *subject.Index) func(*subject.Subject) ast.Value {
	return plan.NewEncoder(j.Common()).Fork().Document
}

// AskWithoutASeat asks in a way that panics.
func AskWithoutASeat(e *Engine, sub *subject.Subject) error {
	_, err := e.asker(nil, nil).ask(context.Background(), e.kinds[sub.Kind], candidate{subject: sub, encoder: plan.NewEncoder(nil)})
	return err
}

// WithoutPlan has an engine ask OPA's topdown of everything, as it does where a plan has more than is known.
func WithoutPlan(e *Engine) {
	e.program = nil
	for _, q := range e.kinds {
		q.scope, q.findings, q.objections = nil, nil, nil
	}
}

// HasPlan reports whether an engine asks a plan.
func HasPlan(e *Engine) bool { return e.program != nil }

// Forget has the plan of an engine forget all that objects.
func Forget(e *Engine) {
	for _, q := range e.kinds {
		q.objections = nil
	}
}

// Asker asks rules of subjects that were joined before, one after the other: the clock of a benchmark has nothing else in it.
type Asker struct {
	e     *Engine
	a     *asker
	desk  *plan.Encoder
	close func()
}

// NewAsker asks an engine's rules of the subjects of a joined snapshot. It must be closed.
func NewAsker(t testing.TB, e *Engine, j *subject.Index) *Asker {
	t.Helper()
	txn := must.Get(e.store.NewTransaction(t.Context()))(t)
	w := watch(e.limits)
	for _, q := range e.kinds {
		q.ready(e.program)
	}
	return &Asker{e, e.asker(txn, w.slot()), plan.NewEncoder(j.Common()).Fork(), func() {
		w.stop()
		e.store.Abort(context.Background(), txn)
	}}
}

// Close ends its watchdog.
func (j *Asker) Close() { j.close() }

// Said has the reasons of a candidate, in scope or not.
type Said struct {
	In                   bool
	Findings, Objections []decision.Reason
}

func (j *Asker) answer(s *Reasons, err error) (Said, error) {
	if s == nil || err != nil {
		return Said{}, err
	}
	return Said{true, s.Findings, s.Objections}, nil
}

// Plan asks OPA's plan alone, Topdown OPA's topdown alone, Both as Decide does: the plan, and topdown too before anything is reaped.
func (j *Asker) Plan(sub *subject.Subject) (Said, error) {
	return j.answer(j.a.plan(j.e.kinds[sub.Kind], candidate{subject: sub, encoder: j.desk}))
}

func (j *Asker) Topdown(sub *subject.Subject) (Said, error) {
	return j.answer(j.a.stock(context.Background(), &j.e.kinds[sub.Kind].stock, j.desk.Document(sub)))
}

func (j *Asker) Both(sub *subject.Subject) (Said, error) {
	return j.answer(j.a.ask(context.Background(), j.e.kinds[sub.Kind], candidate{subject: sub, encoder: j.desk}))
}
