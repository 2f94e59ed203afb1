package tmux

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"winnow/engine/snapshot"
)

// sessions turns a listing into the sessions of source, by their candidates' ids. With only, it gives that one alone.
func sessions(l *listing, source string, server snapshot.Server, only string) map[string]snapshot.Session {
	shown := map[string][]string{} // by pane, the sessions that show it
	panes := map[string][]paneRow{}
	for _, p := range l.panes {
		panes[p.session] = append(panes[p.session], p)
		if !slices.Contains(shown[p.id], p.session) {
			shown[p.id] = append(shown[p.id], p.session)
		}
	}
	clients := map[string][]clientRow{}
	for _, c := range l.clients {
		clients[c.session] = append(clients[c.session], c)
	}
	out := map[string]snapshot.Session{}
	for _, r := range l.sessions {
		if only == "" || r.id == only {
			s := session(r, panes[r.id], clients[r.id], shown)
			s.Source, s.Server = source, new(server)
			out[ID(source, r.id)] = s
		}
	}
	return out
}

func session(r sessionRow, panes []paneRow, clients []clientRow, shown map[string][]string) snapshot.Session {
	s := snapshot.Session{ID: r.id, Name: r.name, CreatedAt: new(r.created), Attached: new(len(clients)),
		ControlClients: new(0), LastActivityAt: new(r.activity), Group: r.group, GroupSize: r.groupSize}
	if r.odd {
		s.Error = "its name holds a tab or a newline, so that what else it is called by cannot be told: tmux rename-session -t '" + r.id + "' gives it another"
	}
	seen := map[string]bool{}
	for _, p := range panes {
		s.LastActivityAt = later(s.LastActivityAt, p.activity)
		if !seen[p.id] { // a window may be linked twice into one session
			seen[p.id] = true
			s.Panes = append(s.Panes, pane(p, shown[p.id]))
		}
	}
	for _, c := range clients {
		s.ClientActivityAt = later(s.ClientActivityAt, c.activity)
		if c.control {
			*s.ControlClients++
			s.ClientActivityAt = later(s.ClientActivityAt, *s.LastActivityAt)
			if at := typed(c.tty); at != nil {
				s.ClientActivityAt = later(s.ClientActivityAt, *at)
			}
		}
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

// pane leaves out the pid of a dead pane: tmux goes on naming it, and it may be somebody else's by now.
func pane(r paneRow, shown []string) snapshot.Pane {
	p := snapshot.Pane{ID: r.id, Dead: new(r.dead), TTY: strings.TrimPrefix(r.tty, "/dev/")}
	if r.pid > 0 && !r.dead {
		p.ShellPID = new(r.pid)
	}
	for _, id := range shown {
		if id != r.session {
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
