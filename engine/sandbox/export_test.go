package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"testing"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Peak is the most memory that a process of an engine's that judges apart has had, in bytes; the engine must be closed.
func Peak(e *eval.Engine) int64 { return e.Judge().(*host).peak }

// PID is the process of an engine's that judges apart.
func PID(e *eval.Engine) int { return e.Judge().(*host).child.cmd.Process.Pid }

// Send is a subject on the wire, and Receive takes one from it.
func Send(t testing.TB, sub *subject.Subject) []byte {
	var data bytes.Buffer
	w := bufio.NewWriter(&data)
	s, err := newSender(w, sub)
	if err = errors.Join(err, s.subject(sub), w.Flush()); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func Receive(data []byte) (*subject.Subject, error) {
	r, err := newReceiver(bufio.NewReader(bytes.NewReader(data)))
	if err != nil {
		return nil, err
	}
	return r.subject()
}

// Unbuilt reports whether the process of an engine's has not compiled its rules.
func Unbuilt(e *eval.Engine) bool { return e.Judge().(*host).unbuilt }
