package eval

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Inputs gives the documents of a joined snapshot as Decide makes them.
func Inputs(j *subject.Index) func(*subject.Subject) ast.Value {
	return plan.NewEncoder(j).Fork().Document
}

// AskWithoutASeat asks in a way that panics.
func AskWithoutASeat(e *Engine, sub *subject.Subject) error {
	_, err := e.asker(nil, nil).ask(context.Background(), e.kinds[sub.Kind], candidate{subject: sub, encoder: plan.NewEncoder(nil)})
	return err
}

// Peak is the most memory that a process of an engine's that judges apart has had, in bytes; the engine must be closed.
func Peak(e *Engine) int64 { return e.apart.peak }

// PID is the process of an engine's that judges apart.
func PID(e *Engine) int { return e.apart.child.cmd.Process.Pid }

// Send is a document on the wire, Sent all of a snapshot's, and Receive takes one from it.
func Send(t testing.TB, v ast.Value) []byte {
	data, err := newSender(plan.NewEncoder(nil)).document(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func Sent(t testing.TB, j *subject.Index) [][]byte {
	var out [][]byte
	input := Inputs(j)
	for _, kind := range []string{"dir", "session", "process"} {
		for _, id := range j.IDs(kind) {
			sub, _ := j.Subject(id)
			out = append(out, Send(t, input(sub)))
		}
	}
	return out
}

func Receive(data []byte) (ast.Value, error) { return (&receiver{}).document(data) }

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

// Unbuilt reports whether the process of an engine's has not compiled its rules.
func Unbuilt(e *Engine) bool { return e.apart.unbuilt }

// Judge asks rules of subjects that were joined before, one after the other: the clock of a benchmark has nothing else in it.
type Judge struct {
	e     *Engine
	a     *asker
	desk  *plan.Encoder
	close func()
}

// NewJudge asks an engine's rules of the subjects of a joined snapshot. It must be closed.
func NewJudge(t testing.TB, e *Engine, j *subject.Index) *Judge {
	t.Helper()
	txn, err := e.store.NewTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := watch(e.limits)
	for _, q := range e.kinds {
		q.ready(e.program)
	}
	return &Judge{e, e.asker(txn, w.slot()), plan.NewEncoder(j).Fork(), func() {
		w.stop()
		e.store.Abort(context.Background(), txn)
	}}
}

// Close ends its watchdog.
func (j *Judge) Close() { j.close() }

// Answer is what was said of a candidate, in scope or not.
type Answer struct {
	In                   bool
	Findings, Objections []decision.Reason
}

func (j *Judge) answer(s *reasons, err error) (Answer, error) {
	if s == nil || err != nil {
		return Answer{}, err
	}
	return Answer{true, s.findings, s.objections}, nil
}

// Plan asks OPA's plan alone, Topdown OPA's topdown alone, Both as Decide does: the plan, and topdown too before anything is reaped.
func (j *Judge) Plan(sub *subject.Subject) (Answer, error) {
	return j.answer(j.a.plan(j.e.kinds[sub.Kind], candidate{subject: sub, encoder: j.desk}))
}

func (j *Judge) Topdown(sub *subject.Subject) (Answer, error) {
	return j.answer(j.a.stock(context.Background(), j.e.kinds[sub.Kind], j.desk.Document(sub)))
}

func (j *Judge) Both(sub *subject.Subject) (Answer, error) {
	return j.answer(j.a.ask(context.Background(), j.e.kinds[sub.Kind], candidate{subject: sub, encoder: j.desk}))
}
