package subject

import "github.com/winnow-reaper/winnow/engine/snapshot"

// shells says of the panes of a session who began them.
func (j *Index) shells(s *snapshot.Session) []Shell {
	var out []Shell
	for i := range s.Panes {
		p := &s.Panes[i]
		if p.ShellPID == nil {
			continue
		}
		shell := Shell{Pane: p.ID, PID: *p.ShellPID, StartedAs: p.StartedAs}
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
		if x.config.Marker(m).Value != MarkerFlag && carried(&x.nodes[i], m) != carried(n, m) {
			names = append(names, m)
		}
	}
	shell.Markers = &names
}
