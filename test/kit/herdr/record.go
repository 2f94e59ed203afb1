package herdr

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// Call is one request line that arrived. Method is "" when the line could not be read as a request.
type Call struct {
	Method string
	Target string // the tab, pane or workspace it names, as it was sent
	Params json.RawMessage
	At     time.Time
}

// record is what the server notes beside the requests.
type record struct {
	sync.Mutex
	invalid []string
	dialogs int
}

// reads are the methods that change nothing, of those that are served here. Every other that herdr has counts as one that does.
var reads = []string{"ping", "session.snapshot", "workspace.list", "tab.list", "pane.list", "pane.current", "pane.process_info", "pane.read", "events.subscribe"}

func (s *Server) mutates(c Call) bool {
	return s.wire.methods[c.Method] && !slices.Contains(reads, c.Method)
}

// Expect announces one request that changes something: the method, and the id that it names, letter by letter.
func (s *Server) Expect(method, target string) { s.Announce(Call{Method: method, Target: target}) }

// Invalid gives what was wrong with replies that were not as the schema says.
func (s *Server) Invalid() []string {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.rec.invalid)
}

// Dialogs says how often a request made the user's terminal ask whether to close.
func (s *Server) Dialogs() int {
	s.rec.Lock()
	defer s.rec.Unlock()
	return s.rec.dialogs
}

// checkEvent holds an event against the schema, as check does a reply.
func (s *Server) checkEvent(kind string, line []byte) {
	if s.o.NoSchema || s.profile == Future {
		return
	}
	v, err := decode(line)
	wrong := ""
	if err != nil {
		wrong = err.Error()
	} else {
		wrong = against(s.wire.event, v)
	}
	if wrong != "" {
		s.rec.Lock()
		defer s.rec.Unlock()
		s.rec.invalid = append(s.rec.invalid, kind+": "+wrong)
	}
}

// check holds a line against the schema. A version to come is not bound by it.
func (s *Server) check(method string, line []byte) {
	if s.o.NoSchema || s.profile == Future {
		return
	}
	if wrong := s.wire.wrong(line); wrong != "" {
		s.rec.Lock()
		defer s.rec.Unlock()
		s.rec.invalid = append(s.rec.invalid, strings.TrimSpace(method+": "+wrong))
	}
}
