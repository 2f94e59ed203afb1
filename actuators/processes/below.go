package processes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// endsWithin is how long what is below a process that ended has to end from that alone.
const endsWithin = time.Second

// maxBelow is how many processes may end with one: a look tells of no more.
const maxBelow = 64

// holdBelow holds the processes that were judged with the one that is held. What ended since is nobody's.
func (g *grasp) holdBelow(judged []decision.Member) error {
	if len(judged) > maxBelow {
		return actuators.Refused("pid %d (%s) has %d processes below it, more than end with one; all were left untouched", g.want.PID, g.want.Name, len(judged))
	}
	never, err := g.never()
	if err != nil {
		return err
	}
	for _, m := range judged {
		h, err := panes.Hold(g.o.ProcRoot, m.PID)
		if errors.Is(err, panes.ErrEnded) {
			continue
		}
		if err != nil {
			return actuators.Refused("pid %d (%s) runs below pid %d: %w; both were left untouched", m.PID, m.Name, g.want.PID, err)
		}
		if h.Was.Start != m.StartTicks {
			h.Close()
			continue
		}
		g.below = append(g.below, h)
		if err := h.Allowed(never, h.Was); err != nil {
			return actuators.Refused("pid %d (%s) has it below: %w; all were left untouched", g.want.PID, g.want.Name, err)
		}
	}
	return nil
}

// mind looks right before the first signal at what is below the process now. What was not judged is not ended; where it is one of those
// that are never signalled, the process is at work and stays. It gives the pids of the former.
func (g *grasp) mind() (since []int, err error) {
	all, err := panes.Scan(g.o.ProcRoot)
	if err != nil {
		return nil, actuators.Refused("find out what runs below pid %d (%s): %w; it was left untouched", g.want.PID, g.want.Name, err)
	}
	never, err := g.never()
	if err != nil {
		return nil, err
	}
	for pid, s := range all {
		held := func(h *panes.Held) bool { return h.PID == pid && h.Was.Start == s.Start }
		if !descends(all, pid, g.want.PID) || slices.ContainsFunc(g.below, held) {
			continue
		}
		if err := never.Check(pid, g.o.UID, s.Comm, s.Kernel); err != nil {
			return nil, actuators.Changed("pid %d (%s) has started something since it was judged: %v; it was left untouched", g.want.PID, g.want.Name, err)
		}
		since = append(since, pid)
	}
	slices.Sort(since)
	return since, nil
}

// descends reports whether the process with pid is below another one.
func descends(all map[int]panes.Stat, pid, above int) bool {
	for range len(all) { // while processes come and go, what was read may run in a circle
		s, ok := all[pid]
		if !ok {
			return false
		}
		if s.Parent == above {
			return true
		}
		pid = s.Parent
	}
	return false
}

// endBelow ends what was judged with a process that has just ended, so that it is not left over. judged are those of the look right
// before the act.
func (g *grasp) endBelow(ctx context.Context, judged []decision.Member, since []int, out decision.Outcome) decision.Outcome {
	name := map[int]string{}
	for _, m := range judged {
		name[m.PID] = m.Name
	}
	mine := slices.DeleteFunc(slices.Clone(g.below), func(h *panes.Held) bool { return name[h.PID] == "" })
	if len(mine) > 0 {
		never, err := g.never()
		if err != nil {
			out.Detail += fmt.Sprintf("; what ran below it was left: %v", err)
			return out
		}
		b := panes.Burial{
			Who: "what started it", By: "end", Within: endsWithin, TermGrace: g.o.TermGrace, Never: never, Step: g.o.Step,
			Term: "process.below.term", Kill: "process.below.kill", Log: g.o.Log,
			Spare: func(h *panes.Held) error {
				now, err := h.Stat()
				switch {
				case errors.Is(err, panes.ErrEnded):
					return nil
				case err != nil:
					return actuators.Refused("what it is now could not be read: %w", err)
				case now.Comm != name[h.PID]:
					return actuators.Changed("it is called %q now", now.Comm)
				}
				return nil
			},
		}.Bury(context.WithoutCancel(ctx), mine)
		out.Freed.RSS += b.Freed.RSS
		out.Detail += "; " + b.Detail
	}
	if len(since) > 0 {
		out.Detail += fmt.Sprintf("; %s that it started since it was judged stayed, and the next sweep decides on: pid %v", panes.Count(len(since), "process", "processes"), since)
	}
	return out
}
