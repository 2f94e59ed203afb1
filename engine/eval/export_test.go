package eval

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

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
	_, err := e.ask(context.Background(), nil, nil, e.kinds[sub.Kind], func() ast.Value { return e.plan.input(sub, e.plan.desk(nil)) })
	return err
}

// Peak is the most memory that a process of an engine's that judges apart has had, in bytes; the engine must be closed.
func Peak(e *Engine) int64 { return e.apart.peak }

// PID is the process of an engine's that judges apart.
func PID(e *Engine) int { return e.apart.child.cmd.Process.Pid }

// Send is a document on the wire, Sent all of a snapshot's, and Receive takes one from it.
func Send(t testing.TB, v ast.Value) []byte {
	data, err := newSender(&desk{}).document(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func Sent(t testing.TB, j *subject.Joined) [][]byte {
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

// Common is how many rules of a pair's second engine are not evaluated again, all kinds counted one by one, and of how many.
func Common(t testing.TB, p *Pair) (same, of int) {
	t.Helper()
	for _, s := range p.common {
		for _, shared := range s.Rules {
			of++
			if shared {
				same++
			}
		}
	}
	return same, of
}

// Shares reports whether a pair leaves anything unasked.
func Shares(p *Pair) bool { return p.common != nil }
