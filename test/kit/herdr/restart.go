package herdr

import (
	"errors"
	"fmt"
)

// Stop ends the server: its connections are cut and its shells go. A crash leaves the socket's file behind.
func (s *Server) Stop(leaveSocketFile bool) {
	s.stopListening(leaveSocketFile)
	s.turn.Lock()
	defer s.turn.Unlock()
	together(s.orphan(), (*child).end)
}

// orphan takes their processes from all panes.
func (s *Server) orphan() (out []*child) {
	for _, p := range s.m.panes() {
		if p.child != nil {
			out = append(out, p.child)
			p.child = nil
		}
	}
	return out
}

// Restart stops the server and starts it again: the same workspaces, tabs and panes by their ids, but new terminals with new shells in
// them, in place of all programs. What is Fake stays so.
func (s *Server) Restart() {
	s.Stop(true)
	s.turn.Lock()
	for _, p := range s.m.panes() {
		p.aliases = nil
		p.spec = Pane{Dir: p.spec.Dir, Env: p.spec.Env, Fake: p.spec.Fake}
		p.status = "unknown"
		s.launch(p)
	}
	s.newLife()
	s.turn.Unlock()
	s.comeBack()
}

// Handoff replaces the server's program under its shells: they run on, in terminals with new ids, and connections are cut.
func (s *Server) Handoff() {
	s.stopListening(true)
	s.turn.Lock()
	s.newLife()
	s.turn.Unlock()
	s.comeBack()
}

// newLife gives what no life of a server shares with the one before, and forgets its events.
func (s *Server) newLife() {
	s.m.events, s.m.told = nil, 0
	for _, p := range s.m.panes() {
		p.terminal = s.m.newTerminal()
	}
}

// comeBack listens again, unless the test has ended.
func (s *Server) comeBack() {
	if err := s.listen(); err != nil && !errors.Is(err, errClosed) {
		panic(fmt.Sprintf("start herdr again: %v", err))
	}
}
