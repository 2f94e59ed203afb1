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

type record struct {
	sync.Mutex
	calls    []Call
	announce []Call
	strange  []Call
	invalid  []string
	dialogs  int
}

// reads are the methods that change nothing. Every other that herdr has does.
var reads = []string{
	"ping", "session.snapshot", "workspace.list", "workspace.get", "tab.list", "tab.get", "pane.list", "pane.get", "pane.current",
	"pane.process_info", "pane.read", "pane.layout", "pane.neighbor", "pane.edges", "pane.wait_for_output", "agent.list", "agent.get",
	"agent.read", "agent.wait", "layout.export", "events.subscribe", "events.wait", "worktree.list",
}

func (s *Server) mutates(method string) bool {
	return s.wire.methods[method] && !slices.Contains(reads, method)
}

// add remembers a call and gives its number, from 1.
func (r *record) add(c Call, mutates bool) int {
	r.Lock()
	defer r.Unlock()
	r.calls = append(r.calls, c)
	if mutates {
		i := slices.IndexFunc(r.announce, func(a Call) bool { return a.Method == c.Method && a.Target == c.Target })
		if i < 0 {
			r.strange = append(r.strange, c)
		} else {
			r.announce = slices.Delete(r.announce, i, i+1)
		}
	}
	return len(r.calls)
}

// Expect announces one request that changes something: the method, and the id that it names, letter by letter.
func (s *Server) Expect(method, target string) {
	s.rec.Lock()
	defer s.rec.Unlock()
	s.rec.announce = append(s.rec.announce, Call{Method: method, Target: target})
}

// Calls gives every request so far, in the order of arrival.
func (s *Server) Calls() []Call {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.rec.calls)
}

// Mutations gives those that change something, or would have.
func (s *Server) Mutations() (out []Call) {
	for _, c := range s.Calls() {
		if s.mutates(c.Method) {
			out = append(out, c)
		}
	}
	return out
}

// Unexpected gives the mutations that nobody had announced.
func (s *Server) Unexpected() []Call {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.rec.strange)
}

// Outstanding gives the announced requests that have not come.
func (s *Server) Outstanding() []Call {
	s.rec.Lock()
	defer s.rec.Unlock()
	return slices.Clone(s.rec.announce)
}

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
