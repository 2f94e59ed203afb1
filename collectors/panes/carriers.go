package panes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

// place is a pane as the environment of what was started in it names it: a tmux server's pid and a pane's id, or a herdr socket and the
// id that the pane had then.
type place struct {
	server int
	socket string
	pane   string
}

// places are where a process's environment says that it comes from. The path in TMUX counts for nothing, since one server may be reached
// by several; its pid does. Of several numbers that a path with a comma makes, the last but one is the pid.
func places(p *snapshot.Process) []place {
	if p.Markers == nil {
		return nil
	}
	var out []place
	m := *p.Markers
	if parts := strings.Split(m[snapshot.MarkerTmux], ","); len(parts) >= 3 && m[snapshot.MarkerTmuxPane] != "" {
		if pid, err := strconv.Atoi(parts[len(parts)-2]); err == nil && pid > 0 {
			out = append(out, place{server: pid, pane: m[snapshot.MarkerTmuxPane]})
		}
	}
	if m[snapshot.MarkerHerdr] != "" && m[snapshot.MarkerHerdrPane] != "" {
		out = append(out, place{socket: m[snapshot.MarkerHerdr], pane: m[snapshot.MarkerHerdrPane]})
	}
	return out
}

// carry tells a tmux session's panes who carries them elsewhere. A dead pane may have left processes too.
func (t *table) carry(s *snapshot.Session) {
	if s.Server == nil || s.Server.PID <= 0 {
		return
	}
	for i := range s.Panes {
		p := &s.Panes[i]
		t.carriers(p, []place{{server: s.Server.PID, pane: p.ID}}, func(c *snapshot.Process) bool {
			return s.Server.StartTicks == nil || c.StartTicks >= *s.Server.StartTicks // pane ids begin again with each server
		})
	}
}

// carryHerdr tells a herdr pane who carries it elsewhere. The id in an environment is the one that the pane had when it was started, so
// what its shell carries tells better than what the server calls it now. The server may be younger than its panes, after a handoff.
func (t *table) carryHerdr(p *snapshot.Pane, server *snapshot.Server, shell *snapshot.Process) {
	names := places(shell)
	if server != nil {
		names = append(names, place{socket: server.Socket, pane: p.ID})
	}
	t.carriers(p, names, func(c *snapshot.Process) bool {
		return c.StartTicks >= shell.StartTicks || server == nil || server.StartTicks == nil || c.StartTicks >= *server.StartTicks
	})
}

// carriers fills in who names the pane and is neither of its session nor below that.
func (t *table) carriers(p *snapshot.Pane, names []place, recent func(*snapshot.Process) bool) {
	if !t.whole {
		return
	}
	var found []*snapshot.Process
	for _, name := range names {
		for _, c := range t.named[name] {
			if recent(c) && !slices.Contains(p.SessionPIDs, c.PID) && !slices.ContainsFunc(p.Descendants, func(d snapshot.PaneProc) bool { return d.PID == c.PID }) {
				found = append(found, c)
			}
		}
	}
	slices.SortFunc(found, func(a, b *snapshot.Process) int { return cmp.Compare(a.PID, b.PID) })
	p.Carriers = paneProcs(slices.Compact(found))
}

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
