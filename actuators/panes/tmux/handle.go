package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
	change "github.com/winnow-reaper/winnow/internal/sys/tmux/act"
)

// handle is one session that is held: its server and the processes of its panes by open descriptors, and what the server said
// of it while they were held.
type handle struct {
	*Actuator
	actuators.PlanText
	server  wire.Server
	id      decision.Session
	host    *procact.Held // the server's process
	members []*procact.Held
	shells  []*shell
	// beside are the server's children when the session was held, its panes among them.
	beside []int
	seen   *wire.Listing
	plan   plan
	kept   panes.Kept // where the scrollback of the panes is, or will be
	// undone says that the scrollback of a session that was not killed is in the trash.
	undone bool
}

// who names the session for a person.
func (g *handle) who() string { return g.id.ID + " (" + g.id.Name + ")" }

// maxBatch is how many sessions are held at once. A shell that runs while its session is held keeps it, and what is held longer is kept more often.
const maxBatch = 8

// Batch implements actuators.Batcher: two sessions that show one pane are not in one batch, since the end of one changes what the server says
// of the other.
func (a *Actuator) Batch(ds []decision.Decision) int {
	type shown struct {
		server int
		pane   string
	}
	return actuators.Disjoint(ds[:min(len(ds), maxBatch)], func(d decision.Decision) (panes []shown, ok bool) {
		s := d.Identity.Session
		if s == nil {
			return nil, false
		}
		for _, p := range s.Panes {
			panes = append(panes, shown{s.ServerPID, p.ID})
		}
		return panes, true
	})
}

// Hold implements actuators.Actuator. It refuses a session that Winnow runs in. When Winnow runs in another session of the same
// server, it allows the act: then the session is not the server's last, and the server outlives it.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	id := d.Identity.Session
	if err := admissible(act, d.ID, id); err != nil {
		return nil, err
	}
	g := &handle{Actuator: a, server: a.server(id.Socket), id: *id}
	if err := g.take(ctx); err != nil {
		_ = g.Close()
		return nil, trusted(err)
	}
	g.setPlan(act)
	var err error
	if g.PlanText, err = json.Marshal(g.plan); err != nil {
		_ = g.Close()
		return nil, err
	}
	return g, nil
}

// take holds the processes first and asks the server then: what it says is true of those that are held. A session that ended
// takes its panes' processes with it, so the server's word that it is gone comes before that they changed.
func (g *handle) take(ctx context.Context) error {
	if err := g.holdHost(); err != nil {
		return err
	}
	var err error
	if g.beside, err = g.children(); err != nil {
		return err
	}
	held := g.holdPanes()
	if held != nil && !errors.Is(held, actuators.ErrChanged) {
		return held
	}
	if err := g.server.Reach(ctx); errors.Is(err, wire.ErrNoServer) && g.host.Ended() {
		return actuators.Gone("the tmux server of session %s ended, and the session with it", g.who())
	} else if err != nil {
		return err
	}
	if g.seen, err = g.server.List(ctx, g.id.ID); err != nil {
		return fmt.Errorf("look at session %s: %w", g.who(), err)
	}
	if err := g.checkIdentity(g.seen); err != nil {
		return err
	}
	if held != nil {
		return held
	}
	return g.takeShells(ctx)
}

func (g *handle) holdPanes() error {
	for _, p := range g.id.Panes {
		if p.PID == 0 {
			continue
		}
		if sid, err := unix.Getsid(0); err != nil || sid == p.PID {
			return actuators.Refused("Winnow itself runs in pane %s of session %s; it was left untouched", p.ID, g.who())
		}
		members, err := panes.HoldPane(g.ProcRoot, "session", "session "+g.who(), p, g.Never)
		g.members = append(g.members, members...)
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *handle) holdHost() error {
	h, err := procact.Hold(g.ProcRoot, g.id.ServerPID)
	if errors.Is(err, proc.ErrEnded) {
		return actuators.Gone("the tmux server of session %s, pid %d, ended, and the session with it", g.who(), g.id.ServerPID)
	}
	if err != nil {
		return err
	}
	g.host = h
	uid, err := h.Owner()
	switch {
	case err != nil:
		return err
	case h.Was.Start != g.id.ServerTicks:
		return actuators.Changed("pid %d is no longer the tmux server that session %s was seen on; nothing was touched", h.PID, g.who())
	case uid != g.Never.UID:
		return actuators.Refused("the tmux server of session %s, pid %d, belongs to user %d; it was left untouched", g.who(), h.PID, uid)
	}
	return nil
}

func (g *handle) setPlan(act string) {
	g.plan = plan{Act: act, Socket: g.id.Socket, ServerPID: g.id.ServerPID, Session: g.id.ID, Name: g.seen.Session(g.id.ID).Name,
		CreatedAt: g.id.CreatedAt, Folder: filepath.Join(g.Trash, act)}
	judged := map[string]decision.Pane{}
	for _, j := range g.id.Panes {
		judged[j.ID] = j
	}
	for _, w := range g.seen.Detail.Windows {
		j, ok := judged[w.Pane]
		if !ok { // a window may be linked twice into one session
			continue
		}
		delete(judged, w.Pane)
		p := planned{ID: w.Pane, File: panes.File(len(g.plan.Panes)), Cwd: j.Cwd, Window: w.ID, WindowName: w.Name, Layout: w.Layout,
			Width: w.Width, Height: w.Height, Members: panes.MembersOf(g.members, j.PID)}
		g.plan.Panes = append(g.plan.Panes, p)
	}
	g.kept = panes.Kept{Trash: g.Trash, Act: act, Panes: len(g.plan.Panes)}
}

// trusted makes a refusal of an error which says that a socket is not to be trusted.
func trusted(err error) error {
	if peercred.Refused(err) || errors.Is(err, change.ErrUnsafe) {
		return actuators.Refused("%w; tmux was not run on it", err)
	}
	return err
}

// admissible refuses an identity that does not say everything which is tested again later.
func admissible(act, candidate string, s *decision.Session) error {
	switch {
	case s == nil || s.Socket == "" || s.ServerPID <= 1 || s.ServerTicks == 0 || s.CreatedAt.IsZero() || len(s.Panes) == 0:
		return actuators.Refused("the identity of %s is unknown; it was left untouched", candidate)
	case !wire.IsSession(s.ID):
		return actuators.Refused("%s: %q is not an id of tmux's such as $4; it was left untouched", candidate, s.ID)
	case !filepath.IsAbs(s.Socket):
		return actuators.Refused("%s: its socket %q is not an absolute path; it was left untouched", candidate, s.Socket)
	case !panes.CanName(act):
		return actuators.Refused("%s: act id %q cannot name a folder; it was left untouched", candidate, act)
	}
	for _, p := range s.Panes {
		// A pane that is dead has no process, and says so by having no pid at all.
		dead := p.PID == 0 && p.StartTicks == 0 && len(p.Members) == 0
		if !wire.IsPane(p.ID) || !dead && (p.PID <= 1 || p.StartTicks == 0) {
			return actuators.Refused("%s: which process pane %q began with is not known; it was left untouched", candidate, p.ID)
		}
	}
	return nil
}

// checkIdentity makes sure that what the server shows is the session that was decided on: the same server, creation and panes.
func (g *handle) checkIdentity(l *wire.Listing) error {
	s := l.Session(g.id.ID)
	switch {
	case l.PID != g.id.ServerPID:
		return actuators.Changed("another tmux server (pid %d) answers on %s now; session %s was left untouched", l.PID, g.id.Socket, g.who())
	case s == nil:
		return actuators.Gone("session %s no longer existed", g.who())
	case !s.Created.Equal(g.id.CreatedAt):
		return actuators.Changed("session %s was created at another time than the one that was judged; it was left untouched", g.who())
	}
	judged, found := map[string]decision.Pane{}, map[string]bool{}
	for _, p := range g.id.Panes {
		judged[p.ID] = p
	}
	for _, p := range l.Panes {
		if p.Session != s.ID {
			continue
		}
		j, ok := judged[p.ID]
		switch found[p.ID] = true; {
		case !ok:
			return actuators.Changed("session %s has a new pane, %s; it was left untouched", g.who(), p.ID)
		case p.Dead != (j.PID == 0), !p.Dead && p.PID != j.PID:
			return actuators.Changed("pane %s of session %s runs another first process than when it was judged; it was left untouched", p.ID, g.who())
		}
	}
	if len(found) != len(judged) {
		return actuators.Changed("session %s has %d panes and had %d when it was judged; it was left untouched", g.who(), len(found), len(judged))
	}
	return nil
}

// plan is every name and place that an act uses. It stands in the intent, and as manifest.json beside the saved scrollback.
type plan struct {
	Act       string    `json:"act"`
	Socket    string    `json:"socket"`
	ServerPID int       `json:"server_pid"`
	Session   string    `json:"session"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	Folder    string    `json:"folder"`
	Panes     []planned `json:"panes"`
}

// planned is a pane: where its scrollback is saved, what is needed to make one like it, and the processes that are held.
type planned struct {
	ID         string         `json:"id"`
	File       string         `json:"file"`
	Cwd        string         `json:"cwd,omitempty"`
	Window     string         `json:"window"`
	WindowName string         `json:"window_name"`
	Layout     string         `json:"layout"`
	Width      int            `json:"width"`
	Height     int            `json:"height"`
	Members    []panes.Member `json:"members,omitempty"`
}
