package sandbox_test

import (
	"os"
	"testing"

	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// FuzzWire: subjects come out of the pipe as they went in, texts that are no UTF-8 and parameters of a person's own rules too, and a damaged one is an error.
func FuzzWire(f *testing.F) {
	c := *worlds.Config()
	c.Custom = map[string]any{"names": []string{"a", "b\xff"}, "none": []string{}, "days": 2.5, "deep": true, "word": "x\xfe"}
	j := subject.Join(worlds.New(2, 0.1).World(12), &c)
	document := plan.NewEncoder(nil).Document
	send := func(t testing.TB, sub *subject.Subject) []byte {
		data := sandbox.Send(t, sub)
		if got, err := sandbox.Receive(data); err != nil || document(got).Compare(document(sub)) != 0 {
			t.Errorf("%v came back as %v, %v", document(sub), got, err)
		}
		return data
	}
	for _, kind := range []string{"dir", "session", "process"} {
		sub, _ := j.Subject(j.IDs(kind)[0])
		sub.Label += "\xff"
		f.Add(send(f, sub))
	}
	f.Add([]byte{6, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, data []byte) {
		if sub, err := sandbox.Receive(data); err == nil {
			send(t, sub)
		}
	})
}

// TestMain lets the test's own program be the process that judges apart.
func TestMain(m *testing.M) {
	worlds.JudgeApart()
	os.Exit(m.Run())
}
