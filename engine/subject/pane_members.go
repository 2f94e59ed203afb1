package subject

import (
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// How a member belongs to its pane.
const (
	InSession = "session"   // it is of the session that the pane's shell leads
	Elsewhere = "elsewhere" // it lives elsewhere, and its environment names the pane
)

// maxMembers is how many processes of a candidate's panes are listed. Where there are more, nothing is listed, which keeps the candidate.
const maxMembers = 64

// members tells more of the processes in panes, but for the shells that those began with, and of those elsewhere that carry them.
func (j *Index) members(panes []snapshot.Pane) []Member {
	var out []Member
	for i := range panes {
		p := &panes[i]
		for _, m := range p.Session {
			if p.ShellPID == nil || m.PID != *p.ShellPID {
				out = j.member(out, p, m, InSession)
			}
		}
		for _, m := range p.Carriers {
			out = j.member(out, p, m, Elsewhere)
		}
		if len(out) > maxMembers {
			return nil
		}
	}
	return out
}

func (j *Index) member(out []Member, p *snapshot.Pane, m snapshot.PaneProc, how string) []Member {
	i, ok := j.procs.byPID(m.PID)
	if !ok || len(out) > maxMembers {
		return out
	}
	process := j.procs.nodes[i].p
	lineage, age := j.procs.lineage(i), j.since(process.StartedAt)
	lineage.Below, lineage.Ancestors = nil, nil // many members with many each would be too much
	return append(out, Member{
		Pane: p.ID, PID: m.PID, Name: m.Name, How: how, Process: process, Lineage: lineage, Server: j.procs.serverAbove(i), Age: age, Busy: busy(process.CPU, age),
	})
}

// serverAbove is the pid of the nearest multiplexer's server above a process, 0 where there is no server; nil where that is not known.
func (x *processes) serverAbove(i int) *int {
	top := x.upTo(i, func(parent *node) bool { return parent.multiplexer })
	switch {
	case top == nil:
		return nil
	case top.parent < 0:
		return new(0)
	}
	return new(x.nodes[top.parent].p.PID)
}

// added are the names of a process's markers that the leader of its session does not carry with the same value, so that a process in
// between set them; nil where it leads the session itself, and where the leader is missing or does not show its environment.
func (x *processes) added(n *node) *[]string {
	if n.p.Session == nil || n.p.Markers == nil || *n.p.Session == n.p.PID {
		return nil
	}
	i, ok := x.byPID(*n.p.Session)
	if !ok {
		return nil
	}
	leader := &x.nodes[i]
	if leader.p.Markers == nil || Dead(leader.p) || leader.p.StartTicks > n.p.StartTicks {
		return nil
	}
	return new(filter(n.markers, func(m string) bool { return carried(leader, m) != carried(n, m) }))
}

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
	names := filter(n.markers, func(m string) bool {
		return x.config.Marker(m).Value != MarkerFlag && carried(&x.nodes[i], m) != carried(n, m)
	})
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
