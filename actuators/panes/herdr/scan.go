package herdr

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"winnow/actuators"
)

// scan reads every process's stat. What ends while it reads is left out, and so is what is over.
func scan(procRoot string) (map[int]stat, error) {
	dir, err := os.Open(procRoot)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make(map[int]stat, len(names))
	buf := make([]byte, 4096)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := readAt(int(dir.Fd()), name+"/stat", buf)
		if errors.Is(err, errEnded) {
			continue
		}
		var s stat
		if err == nil {
			s, err = parseStat(text)
		}
		if err != nil {
			return nil, fmt.Errorf("list processes: pid %d: %w", pid, err)
		}
		if !s.over() {
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
	ours := make(map[int]*held, len(g.members))
	for _, h := range g.members {
		if s, ok := all[h.pid]; ok && s.start == h.ticks {
			ours[h.pid] = h
		}
	}
	for pid, s := range all {
		if ours[pid] != nil {
			continue
		}
		for _, p := range g.panes {
			if s.session == p.shell.pid {
				return actuators.Changed("%s: pid %d (%s) runs in pane %s and was not judged; the tab was left untouched", g.who(), pid, s.comm, p.ID)
			}
		}
		if h := above(all, ours, pid); h != nil {
			return actuators.Changed("%s: pid %d (%s) was started from pane %s and has left its session; the tab was left untouched",
				g.who(), pid, s.comm, h.pane.ID)
		}
	}
	return nil
}

// above is the nearest of ours among a process's ancestors.
func above(all map[int]stat, ours map[int]*held, pid int) *held {
	for range len(all) { // while processes come and go, what was read may run in a circle
		s, ok := all[pid]
		if !ok {
			return nil
		}
		if h := ours[s.parent]; h != nil {
			return h
		}
		pid = s.parent
	}
	return nil
}
