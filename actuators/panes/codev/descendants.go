package codev

import (
	"context"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// hangUpWithin is how long what lives below a shellper has to end from losing its terminal, or from what the shellper tells it.
const hangUpWithin = 2 * time.Second

// hold takes hold of what lives below the shellper, and notes who else is at work in its terminal, before it is judged for the last time.
func (g *handle) hold() error {
	all, err := proc.Scan(g.ProcRoot)
	if err != nil {
		return actuators.Refused("find out what lives below pid %d: %w", g.pid(), err)
	}
	for _, pid := range descendants(all, g.pid()) {
		h, err := procact.Hold(g.ProcRoot, pid)
		if proc.Ended(err) {
			continue
		} else if err != nil {
			return actuators.Refused("hold what lives below pid %d: %w", g.pid(), err)
		}
		g.family = append(g.family, h)
	}
	users, err := tower.Users(g.ProcRoot, g.pid())
	if err != nil {
		return actuators.Refused("%w", err)
	}
	g.users = users[g.pid()]
	return nil
}

// descendants lists what a process started, as the look that is judged does: its children, the members of the sessions and groups that it or one
// of those leads, and so on.
func descendants(all map[int]proc.Stat, root int) []int {
	sub := map[int][]int{}
	for pid, s := range all {
		for _, above := range []int{s.Parent, s.Session, s.Group} {
			if above != pid {
				sub[above] = append(sub[above], pid)
			}
		}
	}
	var out []int
	seen := map[int]bool{root: true}
	for open := []int{root}; len(open) > 0; {
		pid := open[len(open)-1]
		open = open[:len(open)-1]
		for _, x := range sub[pid] {
			if !seen[x] {
				seen[x] = true
				out, open = append(out, x), append(open, x)
			}
		}
	}
	return out
}

// checkFamily makes sure that nothing lives below the shellper, or is at work in its terminal, that was not there when it was judged, and that none
// of them is on the never-list.
func (g *handle) checkFamily() error {
	all, err := proc.Scan(g.ProcRoot)
	if err != nil {
		return actuators.Refused("find out what lives below pid %d: %w", g.pid(), err)
	}
	held := map[int]*procact.Held{}
	for _, h := range g.family {
		held[h.PID] = h
	}
	for _, pid := range descendants(all, g.pid()) {
		h := held[pid]
		if h == nil || h.Was.Start != all[pid].Start {
			return actuators.Changed("pid %d has begun to live below pid %d", pid, g.pid())
		}
		if err := h.Allowed(g.Never, all[pid]); err != nil {
			return err
		}
	}
	users, err := tower.Users(g.ProcRoot, g.pid())
	if err != nil {
		return actuators.Refused("%w", err)
	}
	for _, pid := range users[g.pid()] {
		if held[pid] == nil && !slices.Contains(g.users, pid) {
			return actuators.Changed("pid %d has begun to use the terminal that pid %d keeps open", pid, g.pid())
		}
	}
	return nil
}

// bury ends what lived below the shellper and outlives it, and adds to the outcome what came of it.
func (g *handle) bury(ctx context.Context, out *decision.Outcome) {
	switch {
	case len(g.family) == 0:
		return
	case ctx.Err() != nil:
		out.Detail += "; the sweep was interrupted, and what lived below it was left untouched: " + panes.Count(len(g.family), "process", "processes")
		return
	}
	rest := panes.Burial{
		Who: g.who(), By: "shellper", Within: hangUpWithin, TermGrace: g.TermGrace, Never: g.Never, Step: g.Step, Term: StepTerm,
		Kill: StepKill, Log: g.Log,
	}.Bury(context.WithoutCancel(ctx), g.family)
	out.Detail += "; " + rest.Detail
	out.Freed.RSS += rest.Freed.RSS
}
