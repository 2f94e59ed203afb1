package subject

import (
	"cmp"
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// shells says of the panes of a session who began them.
func (j *Joined) shells(id string, s *snapshot.Session) []Shell {
	seen := ""
	for _, a := range j.snap.AgentSessions {
		if a.Of(id, s) {
			seen = a.Agent
		}
	}
	var out []Shell
	for i := range s.Panes {
		p := &s.Panes[i]
		if p.ShellPID == nil {
			continue
		}
		shell := Shell{Pane: p.ID, PID: *p.ShellPID, StartedAs: p.StartedAs, SeenAgent: seen}
		if at, ok := j.procs.byPID(*p.ShellPID); ok {
			j.procs.fillShell(&shell, at, s.Server)
		}
		out = append(out, shell)
		if len(out) > maxMembers {
			return nil
		}
	}
	return out
}

// fillShell adds what the pane's first process shows.
func (x *processes) fillShell(shell *Shell, at int, server *snapshot.Server) {
	n := &x.nodes[at]
	if n.p.Cwd != nil {
		shell.AgentDir = new(x.agentDir(n.p))
	}
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
	shell.Markers = &names
}

// AgentSessions are the tmux sessions with an agent in a pane, as this look and earlier ones saw them. One of an earlier look is forgotten when it is
// gone, or another session has its id; not while its server could not be read.
func (j *Joined) AgentSessions() []snapshot.AgentSession {
	now := map[string]snapshot.AgentSession{}
	for id, s := range j.snap.Sessions {
		if s.Server == nil || s.Server.StartTicks == nil || s.CreatedAt == nil {
			continue
		}
		if agent := j.agentIn(s.Panes); agent != "" {
			now[id] = snapshot.AgentSession{ID: id, ServerTicks: *s.Server.StartTicks, CreatedAt: *s.CreatedAt, Agent: agent, LastAt: j.snap.TakenAt}
		}
	}
	for _, a := range j.snap.AgentSessions {
		s, there := j.snap.Sessions[a.ID]
		_, renewed := now[a.ID]
		if !renewed && (there && a.Of(a.ID, &s) || !there && j.sources.status(a.Source()) == snapshot.Failed) {
			now[a.ID] = a
		}
	}
	out := make([]snapshot.AgentSession, 0, len(now))
	for _, a := range now {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b snapshot.AgentSession) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (j *Joined) agentIn(panes []snapshot.Pane) string {
	for _, p := range panes {
		for _, m := range slices.Concat(p.Session, p.Descendants) {
			if i, ok := j.procs.byPID(m.PID); ok && j.procs.nodes[i].agent {
				return m.Name
			}
		}
	}
	return ""
}
