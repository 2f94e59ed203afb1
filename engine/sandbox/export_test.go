package sandbox

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Peak is the most memory that a process of an engine's that judges apart has had, in bytes; the engine must be closed.
func Peak(e *eval.Engine) int64 { return e.Judge().(*host).peak }

// PID is the process of an engine's that judges apart.
func PID(e *eval.Engine) int { return e.Judge().(*host).child.cmd.Process.Pid }

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
	input := plan.NewEncoder(j).Fork().Document
	for _, kind := range []string{"dir", "session", "process"} {
		for _, id := range j.IDs(kind) {
			sub, _ := j.Subject(id)
			out = append(out, Send(t, input(sub)))
		}
	}
	return out
}

func Receive(data []byte) (ast.Value, error) { return (&receiver{}).document(data) }

// Unbuilt reports whether the process of an engine's has not compiled its rules.
func Unbuilt(e *eval.Engine) bool { return e.Judge().(*host).unbuilt }
