package tmux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

// reader reads one server.
type reader struct {
	Options
	name   string
	server wire.Server
}

func newReader(o Options, name, socket string) *reader {
	o.ProcRoot, o.Log = cmp.Or(o.ProcRoot, "/proc"), cmp.Or(o.Log, hclog.NewNullLogger())
	return &reader{o, name, wire.Server{Program: cmp.Or(o.Tmux, "tmux"), Socket: socket}}
}

// Read asks the server for everything at once; of sessions that are asked for it is asked one after the other, since it tells the state of one
// in an answer. It wraps collectors.ErrAbsent only when no server listens on the socket,
// collectors.ErrPermission when it may not be asked, and the context's error when it did not answer in time.
func (r *reader) Read(ctx context.Context) (collectors.Part, error) {
	asked := r.Only
	if len(asked) == 0 {
		asked = []string{""}
	}
	var part collectors.Part
	for _, only := range asked {
		l, err := r.server.List(ctx, only)
		if err != nil {
			return collectors.Part{}, advised(ctx, err)
		}
		if l.PID == 0 {
			return collectors.Part{}, nil
		}
		server := r.identify(l)
		if part.Server != nil && (part.Server.PID != server.PID || !sameTicks(part.Server.StartTicks, server.StartTicks)) {
			return collectors.Part{}, errors.New("another server answers than did at first: it restarted while it was read; look again")
		}
		found := sessions(l, r.name, server, only, r.Agents)
		if part.Sessions == nil {
			part.Sessions = found
		}
		maps.Copy(part.Sessions, found)
		server.Panes = new(l.Living())
		part.Server = &server
	}
	return part, nil
}

func sameTicks(a, b *uint64) bool { return a == b || a != nil && b != nil && *a == *b }

// advised adds what a person can do about err.
func advised(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w: see whether the server is stopped, or raise collect.timeout", err, ctx.Err())
	case errors.Is(err, wire.ErrNoServer):
		return fmt.Errorf("%w: %w", err, collectors.ErrAbsent)
	case errors.Is(err, wire.ErrDenied):
		return fmt.Errorf("%w: %w: run as the server's owner, or have them allow it with tmux server-access", err, collectors.ErrPermission)
	case errors.Is(err, peercred.ErrOther) || errors.Is(err, safeopen.ErrOwner):
		return fmt.Errorf("%w: %w: tmux was not run on it: run as the server's owner, or leave it out of collect.tmux.sockets", err, collectors.ErrPermission)
	case errors.Is(err, peercred.ErrFolder) || errors.Is(err, safeopen.ErrWritable) || errors.Is(err, safeopen.ErrLink):
		return fmt.Errorf("%w: another user could put a server of theirs there, and tmux was not run on it", err)
	case errors.Is(err, wire.ErrAnswer):
		return fmt.Errorf("%w: see what listens there, or leave it out of collect.tmux.sockets", err)
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: install tmux, or set collect.tmux.sockets to []", err)
	}
	return err
}

// identify says which server answered. Its start ticks are given only where its pid means the same process here: a
// server in another pid namespace can be asked through a shared socket, and its pids say nothing of this one's processes.
func (r *reader) identify(l *wire.Listing) snapshot.Server {
	s := snapshot.Server{Socket: r.server.Socket, PID: l.PID, StartedAt: new(l.Started), Version: l.Version}
	host, err := proc.StatOf(r.ProcRoot, l.PID)
	switch {
	case err != nil:
		r.Log.Warn("read the start of a tmux server", "source", r.name, "pid", l.PID, "error", err)
	case l.Listener != l.PID && host.Comm != "tmux: server": // a server that systemd started has systemd's socket
		r.Log.Warn("tmux server runs in another pid namespace", "source", r.name, "pid", l.PID, "peer", l.Listener)
	default:
		s.StartTicks = &host.Start
	}
	return s
}

// wrappers start the program that is named behind them, in the same pane.
var wrappers = []string{"exec", "env", "command", "nohup", "nice", "time", "setsid", "npx", "bunx", "bash", "sh", "zsh", "dash", "fish"}

// words splits a command line: what ends a command, and quotes, are words by themselves.
var words = regexp.MustCompile(`&&|\|\||[;&|()"'` + "`" + `]|[^\s;&|()"'` + "`" + `]+`)

// startedAs is the first of the agents that a command line runs, "" for none. A word counts where a program's name stands: at
// the beginning of a command, and behind what runs another program.
func startedAs(line string, agents []string) string {
	begins, before := true, ""
	for _, word := range words.FindAllString(line, -1) {
		name := strings.TrimSuffix(path.Base(word), ".exe")
		switch {
		case strings.ContainsAny(word, ";&|()"):
			begins = true
		case strings.ContainsAny(word, "\"'`"): // what sh -c has in quotes is a command of its own
			begins = begins || strings.HasPrefix(before, "-") && strings.HasSuffix(before, "c")
		case !begins:
		case slices.Contains(agents, name):
			return name
		case strings.HasPrefix(word, "-") || strings.Contains(word, "=") || slices.Contains(wrappers, name):
		default:
			begins = false
		}
		before = word
	}
	return ""
}

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
			// A server without a version may be too old for session_last_attached. Of a group, a session that has ended may have shown this one.
			if server.Version == "" || s.Group != "" && !*s.EverAttached {
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
