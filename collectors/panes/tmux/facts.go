package tmux

import (
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

// sessions turns a listing into the sessions of source, by their candidates' ids. With only, it gives only the session of that id, with its state.
func sessions(l *wire.Listing, source string, server snapshot.Server, only string, agents []string) map[string]snapshot.Session {
	shown := map[string][]string{} // by pane, the sessions that show it
	panes := map[string][]wire.Pane{}
	for _, p := range l.Panes {
		panes[p.Session] = append(panes[p.Session], p)
		if !slices.Contains(shown[p.ID], p.Session) {
			shown[p.ID] = append(shown[p.ID], p.Session)
		}
	}
	clients := map[string][]wire.Client{}
	for _, c := range l.Clients {
		clients[c.Session] = append(clients[c.Session], c)
	}
	out := map[string]snapshot.Session{}
	for _, r := range l.Sessions {
		if only == "" || r.ID == only {
			s := session(r, panes[r.ID], clients[r.ID], shown, agents)
			s.Source, s.Server = source, new(server)
			if server.Version == "" { // too old to say that, and perhaps too old for session_last_attached
				s.EverAttached = nil
			}
			if only != "" && l.Detail != nil {
				s.State = l.Detail.State
			}
			out[ID(source, r.ID)] = s
		}
	}
	return out
}

func session(r wire.Session, panes []wire.Pane, clients []wire.Client, shown map[string][]string, agents []string) snapshot.Session {
	s := snapshot.Session{ID: r.ID, Name: r.Name, CreatedAt: new(r.Created), Attached: new(len(clients)), ControlClients: new(0), ProgramClients: new(0),
		EverAttached: new(!r.Attached.IsZero() || len(clients) > 0), UsedAt: new(r.Activity), LastActivityAt: new(r.Activity), Group: r.Group, GroupSize: new(r.GroupSize), Error: new("")}
	if r.Odd {
		*s.Error = "its name holds a tab or a newline, so it could be mistaken for another name; give it a new one: tmux rename-session -t '" + r.ID + "' gives it another"
	}
	seen, undated := map[string]bool{}, false
	for _, p := range panes {
		s.LastActivityAt = later(later(s.LastActivityAt, p.Activity), p.Died)
		if !seen[p.ID] { // a window may be linked twice into one session
			seen[p.ID] = true
			s.Panes = append(s.Panes, pane(p, shown[p.ID], agents))
			undated = undated || p.Dead && p.Died.IsZero()
		}
	}
	for _, c := range clients {
		s.ClientActivityAt = later(s.ClientActivityAt, c.Activity)
		if c.Control {
			*s.ControlClients++
			if c.TTY == "" {
				*s.ProgramClients++
			}
			s.ClientActivityAt = later(s.ClientActivityAt, *s.LastActivityAt)
			if at := typed(c.TTY); at != nil {
				s.ClientActivityAt = later(s.ClientActivityAt, *at)
			}
		}
	}
	if undated { // a process that showed nothing may have ended just now
		s.LastActivityAt = nil
	}
	return s
}

// typed is when something last came to a terminal, which the kernel notes every eight seconds at most (tty_update_time of tty_io.c).
// tmux counts no key of a control client: what iTerm2's user types comes as commands, which do not move client_activity. Without a
// terminal there is only what came of them, the session's own activity.
func typed(tty string) *time.Time {
	var st unix.Stat_t
	if !strings.HasPrefix(tty, "/dev/") || unix.Stat(tty, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return nil
	}
	return new(time.Unix(st.Atim.Unix()).UTC())
}

// pane leaves out the pid of a dead pane: tmux goes on naming it, and another process may have it by now.
func pane(r wire.Pane, shown, agents []string) snapshot.Pane {
	p := snapshot.Pane{ID: r.ID, Dead: new(r.Dead), TTY: strings.TrimPrefix(r.TTY, "/dev/"), Linked: []string{}, Error: new(""),
		StartedAs: new(startedAs(r.Command, agents))}
	if r.Dead {
		p.SessionPIDs, p.Session, p.Descendants = []int{}, []snapshot.PaneProc{}, []snapshot.PaneProc{}
		if path.IsAbs(r.StartPath) {
			if real, sure := records.NewReal().Path(path.Clean(r.StartPath)); sure { // as the kernel shows a living one's
				p.Cwd = real
			}
		}
	}
	if r.PID > 0 && !r.Dead {
		p.ShellPID = new(r.PID)
	}
	for _, id := range shown {
		if id != r.Session {
			p.Linked = append(p.Linked, id)
		}
	}
	return p
}

func later(t *time.Time, u time.Time) *time.Time {
	if t == nil || u.After(*t) {
		return new(u)
	}
	return t
}
