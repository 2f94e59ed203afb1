package herdr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
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
		if err := m.Allowed(h.Never, s); err != nil { // a close signals every one of a pane
			return actuators.Refused("%s runs it in pane %s: %w; the tab was left untouched", h.who(), h.pane[m].ID, err)
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

// hangUpWithin is how long the processes of a closed tab have to end. herdr itself hangs up, asks and kills, a quarter of a
// second each, before it answers.
const hangUpWithin = 500 * time.Millisecond

// bury ends the held processes that outlived the close, but none in a pane that was moved out of the tab at the last moment, nor
// in any where another server answers now: a server that is handed over keeps its shells.
func (h *held) bury(ctx context.Context, w *whereabouts) decision.Outcome {
	return panes.Burial{
		Who: fmt.Sprintf("%s of the herdr server on %s", h.who(), h.id.Socket), By: "close",
		Within: hangUpWithin, TermGrace: h.TermGrace, Never: h.Never, Step: h.Step, Term: StepTerm, Kill: StepKillLeft,
		Log: h.Log.With("tab", h.id.ID),
		Spare: func(m *procact.Held) error {
			switch {
			case m.Ended():
				return nil
			case w.moved[h.pane[m].Terminal] != "":
				return actuators.Changed("its pane was moved, and is %s now", w.moved[h.pane[m].Terminal])
			case w.view == nil || w.view.Server != h.id.ServerPID:
				return actuators.Changed("the server is no longer the one that was asked to close the tab")
			}
			return nil
		},
	}.Bury(ctx, h.members)
}

// strangers gives the processes that were started from the tab's and have left its panes' sessions, by pid with their start: closing
// the tab leaves them without a parent. It refuses where a process is in a pane's session that is not held: it was not looked at, and the
// close would end it.
func (h *held) strangers() (map[int]uint64, error) {
	all, err := proc.Scan(h.ProcRoot)
	if err == nil {
		err = proc.Hidden(all)
	}
	if err != nil {
		return nil, actuators.Refused("%s: %w; it was left untouched", h.who(), err)
	}
	ours := make(map[int]*procact.Held, len(h.members))
	for _, m := range h.members {
		if s, ok := all[m.PID]; ok && s.Start == m.Was.Start {
			ours[m.PID] = m
		}
	}
	left := map[int]uint64{}
	for pid, s := range all {
		if ours[pid] != nil {
			continue
		}
		for _, p := range h.panes {
			if s.Session == p.PID {
				return nil, actuators.Changed("%s: pid %d (%s) runs in pane %s and was not judged; the tab was left untouched", h.who(), pid, s.Comm, p.ID)
			}
		}
		if nearestOwn(all, ours, pid) != nil {
			left[pid] = s.Start
		}
	}
	return left, nil
}

// noNewStrangers refuses where a process has left a pane's session since before the last judgement, which did not see it.
func (h *held) noNewStrangers() error {
	left, err := h.strangers()
	for pid, start := range left {
		if err == nil && h.left[pid] != start {
			err = actuators.Changed("%s: pid %d was started from it and has left its session since it was judged; the tab was left untouched", h.who(), pid)
		}
	}
	return err
}

// nearestOwn is the nearest of ours among a process's ancestors.
func nearestOwn(all map[int]proc.Stat, ours map[int]*procact.Held, pid int) *procact.Held {
	for range len(all) { // while processes come and go, what was read may run in a circle
		s, ok := all[pid]
		if !ok {
			return nil
		}
		if h := ours[s.Parent]; h != nil {
			return h
		}
		pid = s.Parent
	}
	return nil
}
