package panes

import (
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

// strangers are the children of a tmux server that are not the first process of a pane.
type strangers struct {
	server snapshot.Server
	all    []*snapshot.Process
}

// strangers finds them by source, for every tmux server whose panes were all listed and whose own process is positively here.
func (t *table) strangers(s *snapshot.Snapshot) map[string]*strangers {
	out := map[string]*strangers{}
	for name, src := range s.Sources {
		if src.Status != snapshot.OK || src.Server == nil || src.Server.Panes == nil || src.Server.StartTicks == nil || !t.whole {
			continue
		}
		if p := t.process(src.Server.PID); p == nil || p.StartTicks != *src.Server.StartTicks {
			continue
		}
		x := &strangers{server: *src.Server}
		for _, child := range t.sub.lookup(src.Server.PID) {
			if _, pane := slices.BinarySearch(*src.Server.Panes, child.PID); !pane {
				x.all = append(x.all, child)
			}
		}
		out[name] = x
	}
	return out
}

// popups are those of the strangers that a session is kept for, with all that lives below them; nil where that is not known.
//
// A popup (display-popup) ends with the client that it covers, and so with whichever session that client shows when it is killed; TMUX in
// its environment says for which session it was opened, which may be another session. So it keeps both: the session that it names and
// every one that a terminal shows. A popup has a terminal of its own. What has no terminal is a job (run-shell, if-shell, a hook) and names its
// session, what a status line runs (#()) and names none, or a pane's pipe (pipe-pane), whose TMUX is not this server's: none of them
// ends with a session, and a job is its session's work all the same. All this was seen of tmux 3.1c, 3.3a, 3.5a and 3.7c.
func (t *table) popups(s *snapshot.Session, x *strangers) *[]snapshot.PaneProc {
	if x == nil {
		return nil
	}
	found := []snapshot.PaneProc{}
	for _, child := range x.all {
		if x.keeps(child, s) {
			found = append(append(found, paneProcs([]*snapshot.Process{child})...), paneProcs(t.descendants(child))...)
		}
	}
	return &found
}

func (x *strangers) keeps(child *snapshot.Process, s *snapshot.Session) bool {
	session, known := "", false
	if child.Markers != nil {
		session, known = wire.StartedFor((*child.Markers)["TMUX"], x.server.PID)
	}
	switch {
	case known && session == s.ID:
		return true
	case child.TTY != nil && *child.TTY == "":
		return false
	}
	return !known || s.Attached == nil || s.ControlClients == nil || *s.Attached > *s.ControlClients
}
