package editor

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Call is one request line that arrived. Method is "" when the line could not be read as a request.
type Call struct {
	Method string
	Target string // the number of the tab, or the name of a new one
	Params json.RawMessage
	At     time.Time
}

func (c Call) mutates() bool { return c.Method == "terminal.dispose" || c.Method == "terminal.open" }

// record is what the window notes beside the requests.
type record struct {
	sync.Mutex
	invalid []string
}

// Expect announces one request that changes something: the method, and the tab's number or the new one's name.
func (w *Window) Expect(method, target string) { w.Announce(Call{Method: method, Target: target}) }

// Invalid gives what was wrong with requests, replies and events that were not as the schema says.
func (w *Window) Invalid() []string {
	w.rec.Lock()
	defer w.rec.Unlock()
	return slices.Clone(w.rec.invalid)
}
