package herdr

import (
	"context"
	"errors"
	"slices"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// unchanged reads once more everything that the last judgement rests on, and refuses where any of it is another. It judges nothing and
// changes nothing. What is read slowest comes first. After the server's last answer, which is about everything that a person or another
// client may have done to the tab, there are only a few reads of the held processes, of some microseconds each: that their shells
// have not run since they were held proves that nothing was started from them. It gives the server's answer.
func (h *held) unchanged(ctx context.Context, judged *decision.Tab) (*herdr.World, error) {
	if err := h.asHeld(judged); err != nil {
		return nil, err
	}
	running := map[string]*herdr.Running{}
	var untold error
	for _, p := range h.panes {
		r, err := h.client.Running(ctx, p.ID)
		if err != nil {
			untold = h.unread(err)
			break
		}
		running[p.ID] = r
	}
	if untold == nil {
		untold = h.noNewStrangers()
	}
	w, err := h.client.Look(ctx)
	if err != nil {
		return nil, h.unread(err)
	}
	if err := h.checkPresent(w); err != nil {
		return nil, err // the better reason: a pane of a tab that is gone, or was moved, has no processes
	}
	if untold != nil {
		return nil, untold
	}
	if was, is := termsafe.Differ(judged.State, w.State(h.id.ID, running)); was != is {
		return nil, actuators.Changed("%s changed after it was judged: its server said: %s, and says now: %s; it was left untouched", h.who(), was, is)
	}
	return w, h.unchangedProcesses()
}

// asHeld refuses where the last judgement was about another server or other processes than those that are held.
func (h *held) asHeld(judged *decision.Tab) error {
	switch {
	case judged == nil || judged.State == "":
		return actuators.Refused("%s: what its server said when it was judged is not known; it was left untouched", h.who())
	case judged.Socket != h.id.Socket || judged.ServerPID != h.id.ServerPID || judged.ID != h.id.ID || len(judged.Panes) != len(h.panes):
		return actuators.Changed("%s has another server or other panes than the tab that is held; it was left untouched", h.who())
	}
	for _, p := range judged.Panes {
		i := slices.IndexFunc(h.panes, func(own *heldPane) bool { return own.Terminal == p.Terminal })
		if i < 0 || h.panes[i].ID != p.ID || h.panes[i].PID != p.PID || h.panes[i].StartTicks != p.StartTicks {
			return actuators.Changed("%s: pane %s has another terminal or shell than the one that is held; it was left untouched", h.who(), p.ID)
		}
	}
	return nil
}

// checkPresent refuses a tab that is gone, or shows other terminals than those that are held.
func (h *held) checkPresent(w *herdr.World) error {
	if w.Tab(h.id.ID) != nil {
		listed := w.PanesOf(h.id.ID)
		for _, p := range listed {
			if !slices.ContainsFunc(h.panes, func(own *heldPane) bool { return own.Terminal == p.Terminal && own.ID == p.ID }) {
				return actuators.Changed("%s changed: another terminal is in pane %s; it was left untouched", h.who(), p.ID)
			}
		}
		if len(listed) != len(h.panes) {
			return actuators.Changed("%s changed: %d panes were judged and %d are listed; it was left untouched", h.who(), len(h.panes), len(listed))
		}
		return nil
	}
	for _, p := range h.id.Panes {
		if now := w.Terminal(p.Terminal); now != nil {
			return actuators.Changed("%s changed: pane %s was moved to tab %s; it was left untouched", h.who(), p.ID, now.Tab)
		}
	}
	return actuators.Gone("%s no longer exists", h.who())
}

// unread is the refusal after a question that the server did not answer. A server that is gone took its panes with it.
func (h *held) unread(err error) error {
	lives := func(m *procact.Held) bool { return !m.Ended() }
	switch {
	case errors.Is(err, herdr.ErrAnother):
		return actuators.Changed("%s: %w; it was left untouched", h.who(), err)
	case errors.Is(err, herdr.ErrNoServer) && !peercred.Refused(err) && !slices.ContainsFunc(h.members, lives):
		return actuators.Gone("the herdr server of %s ended, and the tab with it", h.who())
	}
	return actuators.Refused("%s: %w; it was left untouched", h.who(), err)
}

func (h *held) ended(p *heldPane, err error) error {
	if errors.Is(err, proc.ErrEnded) {
		return actuators.Changed("%s: the first process of pane %s, pid %d, ended; the tab was left untouched", h.who(), p.ID, p.PID)
	}
	return actuators.Refused("%s: pid %d: %w; it was left untouched", h.who(), p.PID, err)
}

// unchangedProcesses reads the held processes: the first one of each pane is the program that it was, leads its session and has the same in front
// of its terminal. A shell sleeps, and has not run since it was held. No process on the never-list is among the others.
func (h *held) unchangedProcesses() error {
	for _, m := range h.members {
		s, err := m.Stat()
		if errors.Is(err, proc.ErrEnded) && h.pane[m].shell != m {
			continue
		}
		if err != nil {
			return h.ended(h.pane[m], err)
		}
		if err := h.spareable(m, s); err != nil {
			return err
		}
	}
	for _, p := range h.panes {
		// In this order: a shell that is woken before the first reading still runs then, or has slept again before the second.
		s, err := p.shell.Stat()
		if err != nil {
			return h.ended(p, err)
		}
		ran, err := p.shell.Turns()
		shell := slices.Contains(h.Shells, s.Comm)
		switch was := p.shell.Was; {
		case err != nil:
			return h.ended(p, err)
		case s.Comm != was.Comm:
			return actuators.Changed("%s: %q runs in pane %s now, which was %q; the tab was left untouched", h.who(), s.Comm, p.ID, was.Comm)
		case s.Session != p.PID || s.TTY != was.TTY || s.Foreground != was.Foreground:
			return actuators.Changed("%s: pane %s, pid %d, has another terminal, or something else in front of it; the tab was left untouched", h.who(), p.ID, p.PID)
		case shell && s.State != 'S':
			return actuators.Changed("%s: the shell of pane %s, pid %d, does not wait (it is in state %c); the tab was left untouched", h.who(), p.ID, p.PID, s.State)
		case shell && ran != p.turns:
			return actuators.Changed("%s: the shell of pane %s, pid %d, has run since it was looked at: a key was pressed, or its prompt refreshes itself; the tab was left untouched",
				h.who(), p.ID, p.PID)
		}
		// Last, since what was read by now made it run. After this only what is sent while the request is on its way goes unseen.
		switch waits, err := p.shell.Typed(); {
		case err != nil:
			return h.ended(p, err)
		case waits > 0:
			return actuators.Changed("%s: something was sent to pane %s that pid %d has not read yet; the tab was left untouched", h.who(), p.ID, p.PID)
		}
	}
	return nil
}
