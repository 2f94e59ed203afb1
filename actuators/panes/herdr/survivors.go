package herdr

import (
	"context"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
)

// hangUpWithin is how long the processes of a closed tab have to end. herdr itself hangs up, asks and kills, a quarter of a
// second each, before it answers.
const hangUpWithin = 500 * time.Millisecond

// bury ends the held processes that outlived the close, but none in a pane that was moved out of the tab at the last moment, nor
// in any where another server answers now: a server that is handed over keeps its shells.
func (h *held) bury(ctx context.Context, w *whereabouts) decision.Outcome {
	return panes.Burial{
		Who: fmt.Sprintf("%s of the herdr server on %s", h.who(), h.id.Socket), By: "close",
		Within: hangUpWithin, TermGrace: h.TermGrace, Spare: func(m *procact.Held) error { return h.checkOurs(m, w) },
		Never: h.Never, Step: h.Step, Term: StepTerm, Kill: StepKillLeft, Log: h.Log.With("tab", h.id.ID),
	}.Bury(ctx, h.members)
}

// checkOurs says why a process is not this act's to end, or nothing.
func (h *held) checkOurs(m *procact.Held, w *whereabouts) error {
	switch {
	case m.Ended():
		return nil
	case w.moved[h.pane[m].Terminal] != "":
		return actuators.Changed("its pane was moved, and is %s now", w.moved[h.pane[m].Terminal])
	case w.view == nil || w.view.Server != h.id.ServerPID:
		return actuators.Changed("the server is no longer the one that was asked to close the tab")
	}
	return nil
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
