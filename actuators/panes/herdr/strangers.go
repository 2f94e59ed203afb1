package herdr

import (
	"winnow/actuators"
	"winnow/actuators/panes"
)

// strangers refuses where a process is in a pane's session, or was started from one and left it, and is not held: nobody
// judged it, and closing the tab would end it or leave it without a parent.
func (g *grasp) strangers() error {
	all, err := panes.Scan(g.ProcRoot)
	if err == nil {
		err = panes.Hidden(all)
	}
	if err != nil {
		return actuators.Refused("%s: %w; it was left untouched", g.who(), err)
	}
	ours := make(map[int]*panes.Held, len(g.members))
	for _, h := range g.members {
		if s, ok := all[h.PID]; ok && s.Start == h.Was.Start {
			ours[h.PID] = h
		}
	}
	for pid, s := range all {
		if ours[pid] != nil {
			continue
		}
		for _, p := range g.panes {
			if s.Session == p.shell.PID {
				return actuators.Changed("%s: pid %d (%s) runs in pane %s and was not judged; the tab was left untouched", g.who(), pid, s.Comm, p.ID)
			}
		}
		if h := above(all, ours, pid); h != nil {
			return actuators.Changed("%s: pid %d (%s) was started from pane %s and has left its session; the tab was left untouched",
				g.who(), pid, s.Comm, g.pane[h].ID)
		}
	}
	return nil
}

// above is the nearest of ours among a process's ancestors.
func above(all map[int]panes.Stat, ours map[int]*panes.Held, pid int) *panes.Held {
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
