package herdr

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"winnow/actuators"
	"winnow/actuators/panes"
)

// scan reads every process's stat. What ends while it reads is left out, and so is what is over.
func scan(procRoot string) (map[int]panes.Stat, error) {
	dir, err := os.Open(procRoot)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make(map[int]panes.Stat, len(names))
	buf := make([]byte, 4096)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := panes.ReadAt(int(dir.Fd()), name+"/stat", buf)
		if errors.Is(err, panes.ErrEnded) {
			continue
		}
		var s panes.Stat
		if err == nil {
			s, err = panes.ParseStat(text)
		}
		if err != nil {
			return nil, fmt.Errorf("list processes: pid %d: %w", pid, err)
		}
		if !s.Over() {
			all[pid] = s
		}
	}
	// Mounted with hidepid, procfs leaves out what other users run, and something in the tab may be theirs.
	if _, ok := all[1]; !ok {
		return nil, errors.New("list processes: pid 1 is not among them, so that others may be hidden too")
	}
	return all, nil
}

// strangers refuses where a process is in a pane's session, or was started from one and left it, and is not held: nobody
// judged it, and closing the tab would end it or leave it without a parent.
func (g *grasp) strangers() error {
	all, err := scan(g.ProcRoot)
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
