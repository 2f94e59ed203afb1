package subject

import (
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// shells says of the panes of a session who began them.
func (j *Index) shells(s *snapshot.Session) []Shell {
	var out []Shell
	for i := range s.Panes {
		p := &s.Panes[i]
		if p.ShellPID == nil {
			continue
		}
		shell := Shell{Pane: p.ID, PID: *p.ShellPID}
		if at, ok := j.procs.byPID(*p.ShellPID); ok {
			j.procs.fillShell(&shell, at, s)
		}
		out = append(out, shell)
		if len(out) > maxMembers {
			return nil
		}
	}
	return out
}

// fillShell adds what the pane's first process shows.
func (x *processes) fillShell(shell *Shell, at int, s *snapshot.Session) {
	n, server := &x.nodes[at], s.Server
	shell.Agents = x.lineage(at).Agents
	if server == nil || server.StartTicks == nil || n.p.Markers == nil {
		return
	}
	i, ok := x.byPID(server.PID)
	if !ok || x.nodes[i].p.StartTicks != *server.StartTicks || x.nodes[i].p.Markers == nil {
		return
	}
	names := []string{}
	for _, m := range n.markers {
		if x.kind(m).Value != MarkerFlag && carried(&x.nodes[i], m) != carried(n, m) {
			names = append(names, m)
		}
	}
	if len(names) == 0 && first(s) {
		names, shell.Agents = x.identifying(n), x.lineage(i).Agents
	}
	shell.Markers = &names
}

// first reports whether the command that started the server made the session too: both have the markers of what ran it.
// Those of the server say nothing of a session that was made later: a person may have made it.
func first(s *snapshot.Session) bool {
	made, began := s.CreatedAt, s.Server.StartedAt
	return s.ID == "$0" && made != nil && began != nil && made.Sub(*began) <= time.Second
}
