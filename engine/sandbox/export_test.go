package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"testing"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// Peak is the most memory that a process of an engine's that judges apart has had, in bytes; the engine must be closed.
func Peak(e *eval.Engine) int64 { return e.Judge().(*host).peak }

// PID is the process of an engine's that judges apart.
func PID(e *eval.Engine) int { return e.Judge().(*host).child.cmd.Process.Pid }

// Send is a subject on the wire behind one with other sources, and Receive takes it from there.
func Send(t testing.TB, sub *subject.Subject) []byte {
	var data bytes.Buffer
	w := bufio.NewWriter(&data)
	s, err := newSender(w, sub)
	other := *sub
	other.EvidenceSources = map[string]string{"other": "failed"}
	must.Do(t, errors.Join(err, s.subject(&other), s.subject(sub), w.Flush()))
	return data.Bytes()
}

func Receive(data []byte) (sub *subject.Subject, err error) {
	r, err := newReceiver(bufio.NewReader(bytes.NewReader(data)))
	for i := 0; i < 2 && err == nil; i++ {
		sub, err = r.subject()
	}
	return sub, err
}

// Unbuilt reports whether the process of an engine's has not compiled its rules.
func Unbuilt(e *eval.Engine) bool { return e.Judge().(*host).unbuilt }
