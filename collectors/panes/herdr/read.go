package herdr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

const (
	// The oldest herdr that is read: before it a tab's id was its position, which is another tab's after a close.
	oldestProtocol = 14
	// besides is how many panes are asked about at a time. The server answers them one after the other, each with a walk through
	// /proc on the thread that draws its screen; what is gained is its sleep before it reads a request, up to 100 ms.
	besides = 6
)

var oldestVersion = [2]int{0, 7}

// reader reads one server.
type reader struct {
	Options
	name, socket string
}

func newReader(o Options, name, socket string) *reader {
	o.ProcRoot = cmp.Or(o.ProcRoot, "/proc")
	o.Log = cmp.Or(o.Log, hclog.NewNullLogger())
	if o.Inspect == nil {
		o.Inspect = func(string) bool { return true }
	}
	return &reader{Options: o, name: name, socket: socket}
}

// Read gives the tabs of the server, with what runs in the panes of those to be inspected. A pane about which the server says no
// has the reason in its Error; a server that does not answer everything else gives nothing.
//
// It wraps collectors.ErrAbsent only when no server listens on the socket, collectors.ErrPermission when it may not be asked, and
// the context's error when it did not answer in time.
func (r *reader) Read(ctx context.Context) (collectors.Part, error) {
	for _, id := range r.Only {
		if !herdr.TabID(id) {
			return collectors.Part{}, fmt.Errorf("read tab %.40q: not an id of herdr's such as w1:t3; nothing was asked", id)
		}
	}
	part, err := r.read(ctx, &herdr.Client{Socket: r.socket, UID: r.UID})
	if err != nil {
		return collectors.Part{}, fmt.Errorf("read the herdr server on %s: %w", r.socket, err)
	}
	return part, nil
}

func (r *reader) read(ctx context.Context, c *herdr.Client) (collectors.Part, error) {
	server, err := r.greet(ctx, c)
	if err != nil {
		return collectors.Part{}, failed(err, c.Server != nil)
	}
	w, err := c.Look(ctx)
	if err == nil && (w.Protocol != nil && *w.Protocol != *server.Protocol || w.Version != "" && w.Version != server.Version) {
		err = errors.New("another version answers than did at first: it restarted while it was read; look again")
	}
	if err == nil && *server.Protocol > herdr.Newest {
		var lacks []string // nil where it does not say
		if lacks, err = c.Lacks(ctx, w); err == nil && lacks != nil {
			server.Lacks = &lacks
		}
	}
	var own place
	if err == nil {
		own, err = r.findOwn(ctx, c, w)
	}
	if err != nil {
		return collectors.Part{}, failed(err, true)
	}
	all := tabs(w, r.name, own)
	var asked []*snapshot.Tab // in whose panes it is asked what runs there
	for id, t := range all {
		if len(r.Only) == 0 && r.Inspect(t.Label) || slices.Contains(r.Only, id) {
			asked = append(asked, t)
		}
	}
	if err := inspect(ctx, c, w, asked); err != nil {
		return collectors.Part{}, failed(err, true)
	}
	part := collectors.Part{Tabs: map[string]snapshot.Tab{}, Server: server}
	for id, t := range all {
		if len(r.Only) == 0 || slices.Contains(r.Only, id) {
			part.Tabs[ID(r.name, id)] = *t
		}
	}
	r.Log.Debug("herdr server read", "source", r.name, "tabs", len(all), "tabs_asked", len(asked))
	for _, t := range asked {
		for _, p := range t.Panes {
			if *p.Error != "" {
				part.Unreadable++
			}
		}
	}
	return part, nil
}

// greet asks the server who it is. From then on no other server may answer.
func (r *reader) greet(ctx context.Context, c *herdr.Client) (*snapshot.Server, error) {
	pong, pid, err := c.Ping(ctx)
	switch {
	case err != nil:
		return nil, err
	case pong.Protocol == nil:
		return nil, errors.New("it does not say which protocol it speaks; see what listens there")
	case *pong.Protocol < oldestProtocol || older(pong.Version):
		return nil, fmt.Errorf("herdr %.40s gives tabs positional ids, which change when one closes; update it to 0.7.0 or later", pong.Version)
	}
	c.Server = &pid
	s := &snapshot.Server{Socket: r.socket, PID: pid, Version: pong.Version, Protocol: pong.Protocol}
	if s.PID > 0 {
		st, err := proc.StatOf(r.ProcRoot, s.PID)
		if err == nil {
			s.StartTicks = &st.Start
		} else {
			r.Log.Warn("read the start of a herdr server", "source", r.name, "pid", s.PID, "error", err)
		}
	}
	return s, nil
}

// older reports whether a version is positively too old. One that is not a number is left to the protocol.
func older(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	for i, oldest := range oldestVersion {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n != oldest {
			return err == nil && n < oldest
		}
	}
	return false
}

// failed gives an error of the client its meaning for a source. met says whether the server had answered before.
func failed(err error, met bool) error {
	var no *herdr.Refusal
	switch {
	case errors.Is(err, herdr.ErrNoServer) && met:
		return fmt.Errorf("%w: it ended or restarted while it was read; look again", err)
	case errors.Is(err, herdr.ErrNoServer):
		return fmt.Errorf("%w: %w", err, collectors.ErrAbsent)
	case peercred.Refused(err):
		return fmt.Errorf("%w: %w; run winnow as that user, or leave it out of collect.herdr.sockets", collectors.ErrPermission, err)
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: %w; run as the server's owner", collectors.ErrPermission, err)
	case errors.As(err, &no):
		return fmt.Errorf("%w; see herdr status server", err)
	}
	return err
}

// findOwn finds the tab in which the looking process was started. The environment is what it was at the pane's launch, and the pane may
// have moved since, so the server that the environment names is asked. A pane that it does not find may be under another id now.
func (r *reader) findOwn(ctx context.Context, c *herdr.Client, w *herdr.World) (place, error) {
	pane, tab, socket := r.Env.Get("HERDR_PANE_ID"), r.Env.Get("HERDR_TAB_ID"), r.Env.Get("HERDR_SOCKET_PATH")
	switch {
	case pane == "" && tab == "" && r.Env.Get("HERDR_ENV") == "":
		return place{known: true}, nil
	case socket != "" && !r.is(socket):
		return place{known: true}, nil
	case socket == "" || !herdr.PaneID(pane):
		return place{tab: tab}, nil
	}
	now, err := c.Current(ctx, pane)
	switch {
	case herdr.Code(err) != "":
		return place{tab: tab}, nil
	case err != nil:
		return place{}, err
	case now == nil || w.Tab(now.Tab) == nil: // it moved into a new tab while we looked
		return place{tab: tab}, nil
	}
	return place{tab: now.Tab, known: true}, nil
}

// is reports whether path leads to the reader's socket, or may.
func (r *reader) is(path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil || collectors.Resolved(abs) == collectors.Resolved(r.socket) {
		return true
	}
	a, errA := os.Stat(abs)
	b, errB := os.Stat(r.socket)
	if errA != nil || errB != nil {
		return !gone(errA) && !gone(errB)
	}
	return os.SameFile(a, b)
}

// inspect asks what runs in each pane of the tabs. That the server says no to one is that pane's; that it stops answering is the
// server's.
func inspect(ctx context.Context, c *herdr.Client, w *herdr.World, tabs []*snapshot.Tab) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(besides)
	found := make([][]*herdr.Running, len(tabs))
	for i, t := range tabs {
		found[i] = make([]*herdr.Running, len(t.Panes))
		for k := range t.Panes {
			g.Go(func() error {
				p := &t.Panes[k]
				now, err := c.Running(ctx, p.ID)
				switch {
				case herdr.Code(err) != "" || errors.Is(err, herdr.ErrUntold):
					p.Error = new("process_info: " + err.Error())
				case err != nil:
					return err
				default:
					found[i][k] = now
					running(now, p)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, t := range tabs {
		of := map[string]*herdr.Running{}
		for k, p := range t.Panes {
			of[p.ID] = found[i][k]
		}
		t.State = w.State(t.ID, of)
	}
	return nil
}

// place says in which tab of the server the looking process was started.
type place struct {
	// tab is empty for none.
	tab string
	// known is false where another tab could be it too.
	known bool
}

func (p place) isTab(tab string) *bool {
	switch {
	case tab == p.tab:
		return new(true)
	case p.known:
		return new(false)
	}
	return nil
}

// tabs turns a server's state into the tabs of source, by their native ids.
func tabs(w *herdr.World, source string, own place) map[string]*snapshot.Tab {
	out := map[string]*snapshot.Tab{}
	spaces := spaces(w)
	at := ""
	for _, p := range w.Panes {
		if p.ID == w.FocusedPane {
			at = p.Tab
		}
	}
	for _, t := range w.Tabs {
		x := &snapshot.Tab{
			Source: source, ID: t.ID, Workspace: t.Workspace, PaneCount: t.PaneCount,
			Focused: focused(w, at, t), Own: own.isTab(t.ID),
			LastInWorkspace: spaces[t.Workspace].last, GroupParent: spaces[t.Workspace].parent,
		}
		if t.Label != nil {
			x.Label = *t.Label
		}
		out[t.ID] = x
	}
	for _, p := range w.Panes {
		t := out[p.Tab]
		t.Panes = append(t.Panes, snapshot.Pane{ID: p.ID, Terminal: p.Terminal, AgentStatus: p.Status, Error: new("")})
	}
	for _, t := range out { // herdr gives them as they lie on the screen
		slices.SortFunc(t.Panes, func(a, b snapshot.Pane) int { return cmp.Compare(a.ID, b.ID) })
	}
	return out
}

// focused is true when anything says so, and false only where the tab itself says that it is not. at is the tab of the pane that has
// the focus.
func focused(w *herdr.World, at string, t herdr.Tab) *bool {
	if w.FocusedTab == t.ID || at == t.ID {
		return new(true)
	}
	return t.Focused
}

// space is what closing a workspace's last tab depends on; nil is not known.
type space struct{ last, parent *bool }

// spaces leaves out workspaces that tabs name and the server does not list.
func spaces(w *herdr.World) map[string]space {
	count := map[string]int{} // tabs by workspace
	for _, t := range w.Tabs {
		count[t.Workspace]++
	}
	sharing := map[string]int{} // workspaces by repository
	whole := true               // of every workspace it is known whose checkout it is
	for _, x := range w.Workspaces {
		if x.Worktree != nil {
			sharing[x.Worktree.Repository]++
			whole = whole && x.Worktree.Repository != ""
		}
	}
	out := map[string]space{}
	for _, x := range w.Workspaces {
		out[x.ID] = space{last(x, count[x.ID]), parent(x, sharing, whole)}
	}
	return out
}

// last reports whether a tab of the workspace is its only one. A server that says so is believed. That there
// are more is believed only when the server lists as many as it counts.
func last(x herdr.Workspace, listed int) *bool {
	switch {
	case listed < 2 || x.TabCount != nil && *x.TabCount < 2:
		return new(true)
	case x.TabCount == nil || *x.TabCount != listed:
		return nil
	}
	return new(false)
}

// parent reports whether closing the workspace would close the group of workspaces that share its repository.
func parent(x herdr.Workspace, sharing map[string]int, whole bool) *bool {
	switch t := x.Worktree; {
	case t == nil || t.Linked != nil && *t.Linked:
		return new(false)
	case t.Linked == nil || t.Repository == "":
		return nil
	case sharing[t.Repository] >= 2:
		return new(true)
	case whole:
		return new(false)
	}
	return nil
}

// running tells p what runs in it.
func running(r *herdr.Running, p *snapshot.Pane) {
	p.ShellPID = r.Shell
	for _, x := range r.Foreground {
		p.Foreground = append(p.Foreground, snapshot.PaneProc{PID: x.PID, Name: x.Name})
	}
	if r.Group != nil && *r.Group > 0 {
		p.ForegroundPGID = r.Group
	}
}
