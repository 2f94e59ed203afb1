package herdr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// check reads every fact anew that the close rests on, and changes nothing. It is what Grasp ends with, and what comes last
// before the close. What is read slowest comes first. After the server's last answer, which is about everything that a person
// or another client may have done to the tab, there are only a few reads of the held processes, of some microseconds each:
// that their shells have not run since they were held proves that nothing was started from them.
func (g *grasp) check(ctx context.Context) error {
	if err := g.greet(ctx); err != nil {
		return err
	}
	if err := g.notOwn(ctx); err != nil {
		return err
	}
	if err := g.idle(ctx); err != nil {
		// A pane of a tab that is gone, or was moved, has no processes: the better reason first.
		if _, gone := g.look(ctx); gone != nil {
			return gone
		}
		return err
	}
	if err := g.strangers(); err != nil {
		return err
	}
	v, err := g.look(ctx)
	if err != nil {
		return err
	}
	if err := g.still(); err != nil {
		return err
	}
	g.seen = v
	return nil
}

// unread is the refusal after a question that the server did not answer. A server that is gone took its panes with it.
func (g *grasp) unread(err error) error {
	if errors.Is(err, actuators.ErrChanged) || errors.Is(err, actuators.ErrRefused) {
		return fmt.Errorf("%s: %w; it was left untouched", g.who(), err)
	}
	lives := func(h *panes.Held) bool { return !h.Over() }
	if errors.Is(err, errNoServer) && !slices.ContainsFunc(g.members, lives) {
		return actuators.Gone("the herdr server of %s ended, and the tab with it", g.who())
	}
	return actuators.Refused("%s: %w; it was left untouched", g.who(), err)
}

// greet asks for the server's protocol, and remembers which process answered: it must be the same one from then on.
func (g *grasp) greet(ctx context.Context) error {
	var pong struct {
		Protocol *int   `json:"protocol"`
		Version  string `json:"version"`
	}
	peer, err := g.client.call(ctx, "ping", none, "pong", &pong)
	if err != nil {
		return g.unread(err)
	}
	if peer <= 0 {
		return actuators.Refused("%s: its server is in another pid namespace, so that its pids say nothing here; it was left untouched", g.who())
	}
	g.client.server = peer
	switch {
	case pong.Protocol == nil:
		return actuators.Refused("%s: its server does not say which protocol it speaks; it was left untouched", g.who())
	case !slices.Contains(g.Protocols, *pong.Protocol):
		return actuators.Refused("%s: closing was not tried with herdr %q, protocol %d; it was left untouched: add %d to rules.herdr_protocols to allow it",
			g.who(), pong.Version, *pong.Protocol, *pong.Protocol)
	case g.id.Protocol >= 0 && g.id.Protocol != *pong.Protocol:
		return actuators.Changed("%s: its server speaks protocol %d now, and spoke %d before; it was left untouched", g.who(), *pong.Protocol, g.id.Protocol)
	}
	return nil
}

// look asks the server for everything and compares the tab with what was judged.
func (g *grasp) look(ctx context.Context) (*view, error) {
	v, err := g.client.look(ctx)
	if err != nil {
		return nil, g.unread(err)
	}
	if v.Protocol != nil && !slices.Contains(g.Protocols, *v.Protocol) {
		return nil, actuators.Refused("%s: closing was not tried with protocol %d; it was left untouched: add %d to rules.herdr_protocols to allow it",
			g.who(), *v.Protocol, *v.Protocol)
	}
	if err := g.same(v); err != nil {
		return nil, err
	}
	if err := g.nobodyLooks(v); err != nil {
		return nil, err
	}
	return v, g.roomLeft(v)
}

// same refuses a tab that is not the one that was judged: its label, its workspace, its panes and their terminals.
func (g *grasp) same(v *view) error {
	changed := func(what string) error {
		return actuators.Changed("%s changed: %s; it was left untouched", g.who(), what)
	}
	t := v.tab(g.id.ID)
	if t == nil {
		for _, p := range g.id.Panes {
			if now := v.terminal(p.Terminal); now != nil {
				return changed("pane " + p.ID + " was moved to tab " + now.Tab)
			}
		}
		return actuators.Gone("%s is not there any more", g.who())
	}
	switch {
	case t.Workspace != g.id.Workspace:
		return changed("it is in another workspace")
	case t.Label == nil:
		return actuators.Refused("%s: its server does not say what it is called; it was left untouched", g.who())
	case *t.Label != g.id.Label:
		return changed(fmt.Sprintf("it is called %q now", *t.Label))
	}
	panes := v.panesOf(t.ID)
	for _, p := range panes {
		i := slices.IndexFunc(g.id.Panes, func(j decision.Pane) bool { return j.Terminal == p.Terminal })
		if i < 0 || g.id.Panes[i].ID != p.ID {
			return changed("another terminal is in pane " + p.ID)
		}
	}
	switch {
	case len(panes) != len(g.id.Panes):
		return changed(fmt.Sprintf("%d panes were judged and %d are listed", len(g.id.Panes), len(panes)))
	case t.PaneCount == nil || *t.PaneCount != len(panes):
		return actuators.Refused("%s: its server does not list as many panes as it counts; it was left untouched", g.who())
	}
	return nil
}

// nobodyLooks refuses a tab that somebody has in front of him, or in which an agent may be.
func (g *grasp) nobodyLooks(v *view) error {
	t, panes := v.tab(g.id.ID), v.panesOf(g.id.ID)
	in := func(p pane) bool { return p.ID == v.FocusedPane }
	switch {
	case t.Focused == nil:
		return actuators.Refused("%s: its server does not say whether it is focused; it was left untouched", g.who())
	case *t.Focused || v.FocusedTab == t.ID || v.FocusedPane != "" && slices.ContainsFunc(panes, in):
		return actuators.Refused("%s is focused: somebody may be looking at it; it was left untouched", g.who())
	}
	for _, p := range panes {
		if !slices.Contains(g.AgentIdle, p.AgentStatus) {
			return actuators.Refused("%s: the agent status of pane %s is %q; it was left untouched", g.who(), p.ID, p.AgentStatus)
		}
	}
	return nil
}

// roomLeft refuses the last tab of a workspace, since the workspace may go with it, and any tab in the workspace of a group's
// main checkout: closing that one closes the whole group, or asks the person at the server.
func (g *grasp) roomLeft(v *view) error {
	w, others := v.workspace(g.id.Workspace), len(v.siblings(g.id.Workspace, g.id.ID))
	switch {
	case w == nil || w.TabCount == nil:
		return actuators.Refused("%s: its server does not say how many tabs workspace %s has; it was left untouched", g.who(), g.id.Workspace)
	case others == 0 || *w.TabCount < 2:
		return actuators.Refused("%s is the last tab of workspace %s, which may go with it; it was left untouched", g.who(), w.ID)
	case *w.TabCount != others+1:
		return actuators.Refused("%s: its server lists %d tabs of workspace %s and counts %d; it was left untouched", g.who(), others+1, w.ID, *w.TabCount)
	case w.Worktree == nil:
		return nil
	case w.Worktree.Linked == nil || w.Worktree.RepoKey == "":
		return actuators.Refused("%s: whether workspace %s is a group's main checkout is not known; it was left untouched", g.who(), w.ID)
	case *w.Worktree.Linked:
		return nil
	}
	for _, o := range v.Workspaces {
		if o.ID != w.ID && o.Worktree != nil && o.Worktree.RepoKey == w.Worktree.RepoKey {
			return actuators.Refused("%s is in workspace %s, the main checkout of a group: closing that would close the group; it was left untouched",
				g.who(), w.ID)
		}
	}
	return nil
}

// idle asks the server what runs in every pane, which must be the shell that is held, alone and in front. An empty list, or
// none, is unknown and not idle.
func (g *grasp) idle(ctx context.Context) error {
	for _, p := range g.panes {
		info, err := g.client.info(ctx, p.ID)
		if err != nil {
			return g.unread(err)
		}
		switch {
		case info.Shell == nil || info.Foreground == nil || len(info.Processes) == 0:
			return actuators.Refused("%s: its server does not say what runs in pane %s; it was left untouched", g.who(), p.ID)
		case *info.Shell != p.PID:
			return actuators.Changed("%s: pane %s has another shell, pid %d; it was left untouched", g.who(), p.ID, *info.Shell)
		case *info.Foreground != p.PID || len(info.Processes) != 1 || info.Processes[0].PID == nil || *info.Processes[0].PID != p.PID:
			return actuators.Changed("%s: something runs in pane %s; it was left untouched", g.who(), p.ID)
		}
		s, err := p.shell.Stat()
		if err != nil {
			return g.over(p, err)
		}
		if info.Processes[0].Name != s.Comm {
			return actuators.Refused("%s: its server calls pid %d %q and it is %q here: the server may be on another machine; it was left untouched",
				g.who(), p.PID, info.Processes[0].Name, s.Comm)
		}
	}
	return nil
}

func (g *grasp) over(p *heldPane, err error) error {
	if errors.Is(err, panes.ErrEnded) {
		return actuators.Changed("%s: the shell of pane %s, pid %d, ended; the tab was left untouched", g.who(), p.ID, p.PID)
	}
	return actuators.Refused("%s: pid %d: %w; it was left untouched", g.who(), p.PID, err)
}

// still reads the held processes: each shell is one by its name, leads its session, is in front of its terminal, sleeps, and
// has not run since it was held; nobody on the never-list is among the others.
func (g *grasp) still() error {
	for _, h := range g.members {
		s, err := h.Stat()
		if errors.Is(err, panes.ErrEnded) && g.pane[h].shell != h {
			continue
		}
		if err != nil {
			return g.over(g.pane[h], err)
		}
		if err := g.spareable(h, s); err != nil {
			return err
		}
	}
	for _, p := range g.panes {
		// In this order: a shell that is woken before the first reading still runs then, or has slept again before the second.
		s, err := p.shell.Stat()
		if err != nil {
			return g.over(p, err)
		}
		ran, err := panes.Turns(p.shell)
		switch {
		case err != nil:
			return g.over(p, err)
		case !slices.Contains(g.Shells, s.Comm):
			return actuators.Changed("%s: %q runs in pane %s, which is no shell; the tab was left untouched", g.who(), s.Comm, p.ID)
		case s.Session != p.PID || s.TTY == 0 || s.Foreground != p.PID:
			return actuators.Changed("%s: the shell of pane %s, pid %d, is not in front of its terminal; the tab was left untouched", g.who(), p.ID, p.PID)
		case s.State != 'S':
			return actuators.Changed("%s: the shell of pane %s, pid %d, does not wait for input (it is in state %c); the tab was left untouched",
				g.who(), p.ID, p.PID, s.State)
		case ran != p.turns:
			return actuators.Changed("%s: the shell of pane %s, pid %d, has run since it was looked at: a key was pressed, or its prompt refreshes itself; the tab was left untouched",
				g.who(), p.ID, p.PID)
		}
		// Last, since what was read by now made it run. After this only what is sent while the request is on its way goes unseen.
		switch waits, err := panes.Typed(p.shell); {
		case err != nil:
			return g.over(p, err)
		case waits > 0:
			return actuators.Changed("%s: something was sent to pane %s that its shell, pid %d, has not read yet; the tab was left untouched", g.who(), p.ID, p.PID)
		}
	}
	return nil
}

// notOwn refuses the tab that this process was started in, by the environment that herdr gives to what it starts. The tab's id
// there is of that time, and a pane may have been moved since: the server is asked where it is now.
func (g *grasp) notOwn(ctx context.Context) error {
	here, ownTab, ownPane := g.Env("HERDR_ENV"), g.Env("HERDR_TAB_ID"), g.Env("HERDR_PANE_ID")
	if here == "" && ownTab == "" && ownPane == "" {
		return nil
	}
	unknown := actuators.Refused("%s: whether Winnow runs in it is not known; it was left untouched: run Winnow outside of herdr", g.who())
	if socket := g.Env("HERDR_SOCKET_PATH"); socket != "" {
		same, err := sameFile(socket, g.id.Socket)
		if err != nil {
			return unknown
		}
		if !same {
			return nil
		}
	}
	if !paneID.MatchString(ownPane) {
		return unknown
	}
	var out struct {
		Pane *pane `json:"pane"`
	}
	_, err := g.client.call(ctx, "pane.current", map[string]string{"caller_pane_id": ownPane}, "pane_current", &out)
	switch {
	case err != nil || out.Pane == nil || out.Pane.Tab == "":
		return unknown
	case out.Pane.Tab == g.id.ID:
		return actuators.Refused("Winnow itself runs in %s; it was left untouched", g.who())
	}
	return nil
}

// sameFile reports whether two paths lead to one file. A file that is not there is none.
func sameFile(a, b string) (bool, error) {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	switch {
	case a == b:
		return true, nil
	case errors.Is(errA, os.ErrNotExist):
		return false, nil
	case errA != nil || errB != nil:
		return false, errors.Join(errA, errB)
	}
	return os.SameFile(sa, sb), nil
}
