package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// grasp is one session that is held: its server and the processes of its panes by open descriptors, and what the server said
// of it while they were held.
type grasp struct {
	*Actuator
	client  client
	id      decision.Session
	server  *panes.Held
	members []*panes.Held
	prompts []*prompt
	// beside are the server's children when the session was held, its panes among them.
	beside []int
	seen   *view
	plan   plan
	text   json.RawMessage
}

// Hold implements actuators.Actuator. It refuses a session in a group or with a linked window, since killing it would leave
// its windows and processes alive elsewhere, and one that Winnow runs in. That Winnow runs in another session of the same
// server is no reason: then the session is not the server's last, and the server outlives it.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	id := d.Identity.Session
	if err := admissible(act, d.ID, id); err != nil {
		return nil, err
	}
	g := &grasp{Actuator: a, client: a.client(id.Socket), id: *id}
	if err := g.take(ctx); err != nil {
		_ = g.Close()
		return nil, err
	}
	g.setPlan(act)
	var err error
	if g.text, err = json.Marshal(g.plan); err != nil {
		_ = g.Close()
		return nil, err
	}
	return g, nil
}

// take holds the processes first and asks the server then: what it says is true of those that are held. A session that ended
// takes its panes' processes with it, so the server's word that it is gone comes before that they changed.
func (g *grasp) take(ctx context.Context) error {
	if err := g.holdServer(); err != nil {
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
	if err := g.client.reach(ctx); errors.Is(err, errNoServer) && g.server.Over() {
		return actuators.Gone("the tmux server of session %s (%s) ended, and the session with it", g.id.ID, g.id.Name)
	} else if err != nil {
		return err
	}
	v, err := g.client.look(ctx, g.id.ID)
	if err != nil {
		return err
	}
	g.seen = v
	if err := g.same(v); err != nil {
		return err
	}
	if held != nil {
		return held
	}
	return g.takePrompts(ctx)
}

func (g *grasp) holdPanes() error {
	for _, p := range g.id.Panes {
		if p.PID == 0 {
			continue
		}
		if err := g.holdPane(p); err != nil {
			return err
		}
	}
	return nil
}

func (g *grasp) holdServer() error {
	h, err := panes.Hold(g.ProcRoot, g.id.ServerPID)
	if errors.Is(err, panes.ErrEnded) {
		return actuators.Gone("the tmux server of session %s (%s), pid %d, ended, and the session with it", g.id.ID, g.id.Name, g.id.ServerPID)
	}
	if err != nil {
		return err
	}
	g.server = h
	uid, err := h.Owner()
	switch {
	case err != nil:
		return err
	case h.Was.Start != g.id.ServerTicks:
		return actuators.Changed("pid %d is not the tmux server any more that session %s (%s) was seen on; nothing was touched", h.PID, g.id.ID, g.id.Name)
	case uid != g.never.UID:
		return actuators.Refused("the tmux server of session %s (%s), pid %d, belongs to user %d; it was left untouched", g.id.ID, g.id.Name, h.PID, uid)
	}
	return nil
}

// holdPane holds every judged process of a pane. One that ended, or left the pane's session, is nobody of the pane's any more.
func (g *grasp) holdPane(p decision.Pane) error {
	if sid, err := unix.Getsid(0); err != nil || sid == p.PID {
		return actuators.Refused("Winnow itself runs in pane %s of session %s (%s); it was left untouched", p.ID, g.id.ID, g.id.Name)
	}
	pids := append([]int{p.PID}, p.Members...)
	slices.Sort(pids)
	for _, pid := range slices.Compact(pids) {
		if pid <= 1 {
			return actuators.Refused("pane %s of session %s (%s) lists pid %d, which is never signalled; it was left untouched", p.ID, g.id.ID, g.id.Name, pid)
		}
		h, err := panes.Hold(g.ProcRoot, pid)
		first := pid == p.PID
		switch {
		case errors.Is(err, panes.ErrEnded) && !first:
			continue
		case errors.Is(err, panes.ErrEnded):
			return actuators.Changed("the first process of pane %s of session %s (%s), pid %d, ended; the session was left untouched", p.ID, g.id.ID, g.id.Name, pid)
		case err != nil:
			return err
		}
		g.members = append(g.members, h)
		if first && (h.Was.Start != p.StartTicks || h.Was.Session != pid) {
			return actuators.Changed("pid %d is not the first process of pane %s of session %s (%s) any more; the session was left untouched", pid, p.ID, g.id.ID, g.id.Name)
		}
		if h.Was.Session != p.PID {
			g.members = g.members[:len(g.members)-1]
			h.Close()
			continue
		}
		if err := h.Allowed(g.never, h.Was); err != nil {
			return actuators.Refused("session %s (%s) runs it in pane %s: %w; the session was left untouched", g.id.ID, g.id.Name, p.ID, err)
		}
	}
	return nil
}

func (g *grasp) setPlan(act string) {
	g.plan = plan{Act: act, Socket: g.id.Socket, ServerPID: g.id.ServerPID, Session: g.id.ID, Name: g.seen.name, CreatedAt: g.id.CreatedAt,
		Folder: filepath.Join(g.Trash, act)}
	for i, v := range g.seen.panes {
		p := planned{ID: v.id, File: panes.File(i), Window: v.window, WindowName: v.windowName, Layout: v.layout, Width: v.width, Height: v.height}
		for _, j := range g.id.Panes {
			if j.ID != v.id {
				continue
			}
			p.Cwd = j.Cwd
			for _, h := range g.members {
				if h.Was.Session == j.PID {
					p.Members = append(p.Members, panes.Member{PID: h.PID, StartTicks: h.Was.Start})
				}
			}
		}
		g.plan.Panes = append(g.plan.Panes, p)
	}
}

// Plan implements actuators.Held.
func (g *grasp) Plan() json.RawMessage { return g.text }

// Close implements actuators.Held.
func (g *grasp) Close() error {
	if g.server != nil {
		g.server.Close()
	}
	for _, h := range g.members {
		h.Close()
	}
	g.server, g.members = nil, nil
	return nil
}

// Save implements actuators.Held.
func (g *grasp) Save(context.Context) error { return nil }
