package herdr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// grasp is one tab that is held: the lock of those who close tabs, and the processes of its panes by open descriptors.
type grasp struct {
	*Actuator
	client  client
	id      decision.Tab
	lockF   *os.File
	panes   []*heldPane
	members []*panes.Held
	// pane is the judged pane that a member belongs to.
	pane map[*panes.Held]*heldPane
	// seen is what the server said at the latest look that found nothing wrong.
	seen *view
	plan plan
	text json.RawMessage
}

// heldPane is a judged pane with its first process.
type heldPane struct {
	decision.Pane
	shell *panes.Held
	// turns are how often the shell had run when it was held.
	turns uint64
}

func (g *grasp) who() string { return called(&g.id) }

func called(t *decision.Tab) string { return fmt.Sprintf("tab %s (%q)", t.ID, t.Label) }

// Hold implements actuators.Actuator. It holds the lock of those who close tabs until the grasp is closed, so that the second
// look, the second decision and the close are one piece for every program that uses that lock. It refuses whatever check
// refuses.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	id := d.Identity.Tab
	if err := admissible(act, d.ID, id); err != nil {
		return nil, err
	}
	lock, err := a.lock(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", called(id), err)
	}
	g := &grasp{Actuator: a, client: a.client(id.Socket), id: *id, lockF: lock, pane: map[*panes.Held]*heldPane{}}
	g.client.server = id.ServerPID
	if err := g.take(ctx); err != nil {
		_ = g.Close()
		return nil, err
	}
	g.setPlan(act)
	if g.text, err = json.Marshal(g.plan); err != nil {
		_ = g.Close()
		return nil, err
	}
	return g, nil
}

// take holds the processes first and asks the server then: what it says is true of those that are held. A tab that was closed
// takes its panes' processes with it, so the server's word that it is gone comes before that they changed.
func (g *grasp) take(ctx context.Context) error {
	held := g.holdPanes()
	if held != nil && !errors.Is(held, actuators.ErrChanged) {
		return held
	}
	if held == nil {
		return g.check(ctx)
	}
	if _, err := g.look(ctx); err != nil {
		return err
	}
	return held
}

func (g *grasp) holdPanes() error {
	own, err := unix.Getsid(0)
	for _, p := range g.id.Panes {
		if err != nil || own == p.PID {
			return actuators.Refused("Winnow itself runs in pane %s of %s; it was left untouched", p.ID, g.who())
		}
		if err := g.holdPane(p); err != nil {
			return err
		}
	}
	return nil
}

// holdPane holds every judged process of a pane. One that ended, or left the pane's session, is nobody of the pane's any more.
func (g *grasp) holdPane(p decision.Pane) error {
	in := &heldPane{Pane: p}
	pids := slices.Compact(slices.Sorted(slices.Values(p.Members)))
	for _, pid := range pids {
		h, err := panes.Hold(g.ProcRoot, pid)
		first := pid == p.PID
		switch {
		case errors.Is(err, panes.ErrEnded) && !first:
			continue
		case errors.Is(err, panes.ErrEnded):
			return actuators.Changed("the first process of pane %s of %s, pid %d, ended; the tab was left untouched", p.ID, g.who(), pid)
		case err != nil:
			return actuators.Refused("%s: %w; it was left untouched", g.who(), err)
		case first && (h.Was.Start != p.StartTicks || h.Was.Session != pid):
			h.Close()
			return actuators.Changed("pid %d is not the first process of pane %s of %s any more; the tab was left untouched", pid, p.ID, g.who())
		case h.Was.Session != p.PID:
			h.Close()
			continue
		}
		g.pane[h] = in
		g.members = append(g.members, h)
		if err := g.spareable(h, h.Was); err != nil {
			return err
		}
		if first {
			in.shell = h
			if in.turns, err = panes.Turns(h); err != nil {
				return actuators.Refused("%s: pid %d: %w; it was left untouched", g.who(), pid, err)
			}
		}
	}
	g.panes = append(g.panes, in)
	return nil
}

// spareable refuses a process that is never signalled: a close signals every one of a pane.
func (g *grasp) spareable(h *panes.Held, now panes.Stat) error {
	if err := h.Allowed(g.never, now); err != nil {
		return actuators.Refused("%s runs it in pane %s: %w; the tab was left untouched", g.who(), g.pane[h].ID, err)
	}
	return nil
}

func (g *grasp) setPlan(act string) {
	g.plan = plan{Act: act, Socket: g.id.Socket, ServerPID: g.client.server, Tab: g.id.ID, Workspace: g.id.Workspace, Label: g.id.Label,
		Folder: filepath.Join(g.Trash, act)}
	for i, v := range g.seen.panesOf(g.id.ID) {
		p := planned{ID: v.ID, Terminal: v.Terminal, File: panes.File(i), Cwd: v.Cwd}
		for _, h := range g.members {
			if g.pane[h].Terminal != v.Terminal {
				continue
			}
			p.Members = append(p.Members, panes.Member{PID: h.PID, StartTicks: h.Was.Start})
			if g.pane[h].Cwd != "" { // by the kernel's word
				p.Cwd = g.pane[h].Cwd
			}
		}
		g.plan.Panes = append(g.plan.Panes, p)
	}
}

// Plan implements actuators.Held.
func (g *grasp) Plan() json.RawMessage { return g.text }

// Close implements actuators.Held.
func (g *grasp) Close() error {
	for _, h := range g.members {
		h.Close()
	}
	g.members, g.panes, g.pane = nil, nil, nil
	lock := g.lockF
	if g.lockF = nil; lock == nil {
		return nil
	}
	// A process that is being started just now has the file open too until it runs its program: closing alone would leave the
	// lock to it.
	return errors.Join(unix.Flock(int(lock.Fd()), unix.LOCK_UN), lock.Close())
}

// Save implements actuators.Held.
func (g *grasp) Save(context.Context) error { return nil }
