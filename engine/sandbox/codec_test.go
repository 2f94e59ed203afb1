package sandbox_test

import (
	"bytes"
	"testing"

	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// FuzzWire: a document comes out of the pipe as it went in, and a damaged one is an error.
func FuzzWire(f *testing.F) {
	j := subject.Join(worlds.New(2, 0.1).World(12), worlds.Config())
	sent := sandbox.Sent(f, j)
	for _, data := range sent {
		f.Add(data)
	}
	f.Add([]byte{6, 255, 255, 255, 255, 15})
	f.Add(bytes.Repeat([]byte{8}, 100000))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := sandbox.Receive(data)
		if err != nil {
			return
		}
		again, err := sandbox.Receive(sandbox.Send(t, v))
		if err != nil || again.Compare(v) != 0 {
			t.Errorf("%v came back as %v, %v", v, again, err)
		}
	})
}
