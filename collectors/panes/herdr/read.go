package herdr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"

	"winnow/collectors"
	"winnow/engine/snapshot"
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
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
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
	if r.Only != "" && !tabID.MatchString(r.Only) {
		return collectors.Part{}, fmt.Errorf("read tab %.40q: not an id of herdr's such as w1:t3; nothing was asked", r.Only)
	}
	c := &client{socket: r.socket, uid: r.UID}
	server, err := r.greet(ctx, c)
	if err != nil {
		return collectors.Part{}, err
	}
	w, err := r.world(ctx, c, server)
	if err != nil {
		return collectors.Part{}, err
	}
	own, err := r.own(ctx, c, w)
	if err != nil {
		return collectors.Part{}, err
	}
	all := tabs(w, r.name, own)
	asked := r.inspected(all)
	if err := r.inspect(ctx, c, asked); err != nil {
		return collectors.Part{}, err
	}
	part := collectors.Part{Tabs: map[string]snapshot.Tab{}, Server: server}
	for id, t := range all {
		if r.Only == "" || id == r.Only {
			part.Tabs[ID(r.name, id)] = *t
		}
	}
	r.Log.Debug("herdr server read", "source", r.name, "tabs", len(all), "panes_asked", len(asked), "requests", c.sent.Load())
	for _, p := range asked {
		if p.Error != "" {
			part.Unreadable++
		}
	}
	return part, nil
}

// greet asks the server who it is. That it answers says nothing of its health: a ping does not reach its main loop.
func (r *reader) greet(ctx context.Context, c *client) (*snapshot.Server, error) {
	pong, err := c.ask(ctx, "ping", none{}, "pong")
	switch {
	case err != nil:
		return nil, r.failed(err)
	case pong.Protocol == nil:
		return nil, r.failed(errors.New("it does not say which protocol it speaks; see what listens there"))
	case *pong.Protocol < oldestProtocol || older(pong.Version):
		return nil, r.failed(fmt.Errorf("herdr %.40s gives tabs positional ids, which lead to another tab after a close; update it to 0.7.0 or later", pong.Version))
	}
	s := &snapshot.Server{Socket: r.socket, PID: int(c.peer.Pid), Version: pong.Version, Protocol: pong.Protocol}
	if s.PID > 0 {
		s.StartTicks = r.started(s.PID)
	}
	return s, nil
}

// older reports whether a version is positively too old. One that is no number is left to the protocol.
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

// started is when the server's process started, nil where /proc does not show it.
func (r *reader) started(pid int) *uint64 {
	fs, err := procfs.NewFS(r.ProcRoot)
	if err == nil {
		var p procfs.Proc
		if p, err = fs.Proc(pid); err == nil {
			var st procfs.ProcStat
			if st, err = p.Stat(); err == nil {
				return &st.Starttime
			}
		}
	}
	r.Log.Warn("read the start of a herdr server", "source", r.name, "pid", pid, "error", err)
	return nil
}

// failed names the server in an error of herdr's or of the reader's own.
func (r *reader) failed(err error) error {
	var no *refusal
	if errors.As(err, &no) {
		return fmt.Errorf("read the herdr server on %s: %w; see herdr status server", r.socket, err)
	}
	return fmt.Errorf("read the herdr server on %s: %w", r.socket, err)
}

// world is the server's state as of one moment.
func (r *reader) world(ctx context.Context, c *client, server *snapshot.Server) (*world, error) {
	w, err := r.shot(ctx, c)
	if err != nil {
		return nil, r.failed(err)
	}
	if w.Protocol != nil && *w.Protocol != *server.Protocol || w.Version != "" && w.Version != server.Version {
		return nil, r.failed(errors.New("another version answers than did at first: it restarted while it was read; look again"))
	}
	if err := w.check(); err != nil {
		return nil, r.failed(fmt.Errorf("%w; look again, and if it stays so this version of herdr speaks differently", err))
	}
	return w, nil
}

// shot takes the server's state in one request. Servers before 0.7.2 do not know that one.
func (r *reader) shot(ctx context.Context, c *client) (*world, error) {
	all, err := c.ask(ctx, "session.snapshot", none{}, "session_snapshot")
	var no *refusal
	switch {
	case errors.As(err, &no) && no.Code == invalidRequest:
		return r.lists(ctx, c)
	case err != nil:
		return nil, err
	case all.Snapshot == nil:
		return nil, errors.New("the answer to session.snapshot holds none; see what listens there")
	}
	return all.Snapshot, nil
}

// lists takes the server's state list by list, twice: what every list gave both times was so at the moment in between.
func (r *reader) lists(ctx context.Context, c *client) (*world, error) {
	before, err := r.round(ctx, c)
	if err != nil {
		return nil, err
	}
	after, err := r.round(ctx, c)
	if err != nil {
		return nil, err
	}
	if !alike(before, after) {
		return nil, errors.New("its tabs changed while it was read, and this version cannot give them at once; look again")
	}
	return after, nil
}

func (r *reader) round(ctx context.Context, c *client) (*world, error) {
	workspaces, err := c.ask(ctx, "workspace.list", none{}, "workspace_list")
	if err != nil {
		return nil, err
	}
	tabs, err := c.ask(ctx, "tab.list", none{}, "tab_list")
	if err != nil {
		return nil, err
	}
	panes, err := c.ask(ctx, "pane.list", none{}, "pane_list")
	if err != nil {
		return nil, err
	}
	return &world{Workspaces: workspaces.Workspaces, Tabs: tabs.Tabs, Panes: panes.Panes}, nil
}

// own finds the tab in which the looking process was started. The environment is what it was at the pane's launch, and the pane may
// have moved since, so the server that the environment names is asked.
func (r *reader) own(ctx context.Context, c *client, w *world) (place, error) {
	pane, tab, socket := r.env("HERDR_PANE_ID"), r.env("HERDR_TAB_ID"), r.env("HERDR_SOCKET_PATH")
	switch {
	case pane == "" && tab == "" && r.env("HERDR_ENV") == "":
		return place{known: true}, nil
	case socket != "" && !r.is(socket):
		return place{known: true}, nil
	case socket == "" || !paneID.MatchString(pane):
		return place{tab: tab}, nil
	}
	now, err := c.ask(ctx, "pane.current", map[string]string{"caller_pane_id": pane}, "pane_current")
	var no *refusal
	switch {
	case errors.As(err, &no) && no.Code == paneNotFound:
		return place{tab: tab, known: true}, nil
	case no != nil:
		return place{tab: tab}, nil
	case err != nil:
		return place{}, r.failed(err)
	case now.Pane == nil || !w.has(now.Pane.Tab): // it moved into a new tab while we looked
		return place{tab: tab}, nil
	}
	return place{tab: now.Pane.Tab, known: true}, nil
}

// is reports whether path leads to the reader's socket.
func (r *reader) is(path string) bool {
	abs, err := filepath.Abs(path)
	return err != nil || resolved(abs) == resolved(r.socket)
}

// inspected are the panes to ask about.
func (r *reader) inspected(all map[string]*snapshot.Tab) []*snapshot.Pane {
	var out []*snapshot.Pane
	for id, t := range all {
		if r.Only == "" && !r.Inspect(t.Label) || r.Only != "" && id != r.Only {
			continue
		}
		for i := range t.Panes {
			out = append(out, &t.Panes[i])
		}
	}
	return out
}

// inspect asks what runs in each pane. That the server says no to one is that pane's; that it stops answering is the server's.
func (r *reader) inspect(ctx context.Context, c *client, panes []*snapshot.Pane) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(besides)
	for _, p := range panes {
		g.Go(func() error {
			// Without a pane's id herdr would answer about the one that has the focus.
			now, err := c.ask(ctx, "pane.process_info", map[string]string{"pane_id": p.ID}, "pane_process_info")
			var no *refusal
			switch {
			case errors.As(err, &no):
				p.Error = "process_info: " + no.Error()
			case err != nil:
				return r.failed(err)
			default:
				now.Running.into(p)
			}
			return nil
		})
	}
	return g.Wait()
}

// unread stands for what could not even be looked for.
type unread struct{ err error }

func (u unread) Read(context.Context) (collectors.Part, error) { return collectors.Part{}, u.err }
