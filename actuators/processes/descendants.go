package processes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/proc/act"
)

// endsWithin is how long what is below a process that ended has to end from that alone.
const endsWithin = time.Second

// maxBelow is how many processes may end with one: a look lists at most this many.
const maxBelow = 64

// holdBelow holds the processes that were judged with the one that is held. What has ended since is left out.
func (h *held) holdBelow(judged []decision.Member) error {
	if len(judged) > maxBelow {
		return actuators.Refused("pid %d (%s) has %d processes below it, more than end with one; all were left untouched", h.want.PID, h.want.Name, len(judged))
	}
	never, err := h.never()
	if err != nil {
		return err
	}
	for _, m := range judged {
		b, err := act.Hold(h.o.ProcRoot, m.PID)
		if errors.Is(err, proc.ErrEnded) {
			continue
		}
		if err != nil {
			return actuators.Refused("pid %d (%s) runs below pid %d: %w; both were left untouched", m.PID, m.Name, h.want.PID, err)
		}
		if b.Was.Start != m.StartTicks {
			b.Close()
			continue
		}
		h.below = append(h.below, b)
		if err := b.Allowed(never, b.Was); err != nil {
			return actuators.Refused("pid %d (%s) has it below: %w; all were left untouched", h.want.PID, h.want.Name, err)
		}
	}
	return nil
}

// reading is one reading of all processes, with the children of each.
type reading struct {
	all      map[int]proc.Stat
	children map[int][]int
}

func read(procRoot string) (reading, error) {
	all, err := proc.Scan(procRoot)
	r := reading{all, make(map[int][]int, len(all))}
	for pid, s := range all {
		r.children[s.Parent] = append(r.children[s.Parent], pid)
	}
	return r, err
}

// sinceJudged are the pids of what is below the process right before the first signal and was not judged with it, by the reading now, or err is why
// there is none. It is not ended; where it is one of those that are never signalled, the process is at work and stays.
func (h *held) sinceJudged(now reading, err error) (since []int, _ error) {
	if err != nil {
		return nil, actuators.Refused("find out what runs below pid %d (%s): %w; it was left untouched", h.want.PID, h.want.Name, err)
	}
	never, err := h.never()
	if err != nil {
		return nil, err
	}
	for _, pid := range proc.Descendants(now.children, h.want.PID) {
		s := now.all[pid]
		if slices.ContainsFunc(h.below, func(b *act.Held) bool { return b.PID == pid && b.Was.Start == s.Start }) {
			continue
		}
		if err := never.Check(pid, never.UID, s.Comm, s.Kernel); err != nil {
			return nil, actuators.Changed("pid %d (%s) has started something since it was judged: %v; it was left untouched", h.want.PID, h.want.Name, err)
		}
		since = append(since, pid)
	}
	slices.Sort(since)
	return since, nil
}

// maxNamed is how many of the processes that ended with one are named.
const maxNamed = 8

// listEnded lists the processes below that have ended, and counts them.
func (h *held) listEnded(name map[int]string) (string, int) {
	var names []string
	for _, b := range h.below {
		if name[b.PID] != "" && b.Ended() {
			names = append(names, fmt.Sprintf("%s (%d)", name[b.PID], b.PID))
		}
	}
	n := len(names)
	if n > maxNamed {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", n-maxNamed))
	}
	return strings.Join(names, ", "), n
}

// buryBelow ends what was judged with a process that has just ended, so that it is not left over. judged are those of the look right
// before the act.
func (h *held) buryBelow(ctx context.Context, judged []decision.Member, since []int, out decision.Outcome, step func(string)) decision.Outcome {
	name := map[int]string{}
	for _, m := range judged {
		name[m.PID] = m.Name
	}
	mine := slices.DeleteFunc(slices.Clone(h.below), func(b *act.Held) bool { return name[b.PID] == "" })
	if len(mine) > 0 {
		never, err := h.never()
		if err != nil {
			out.Detail += fmt.Sprintf("; its child processes were left untouched: %v", err)
			return out
		}
		b := panes.Burial{
			Who: "what started it", By: "end", Within: endsWithin, TermGrace: h.o.TermGrace, Never: never, Step: step,
			Term: "process.below.term", Kill: "process.below.kill", Log: h.o.Log,
			Spare: func(b *act.Held) error {
				now, err := b.Stat()
				switch {
				case errors.Is(err, proc.ErrEnded):
					return nil
				case err != nil:
					return actuators.Refused("its program could not be read: %w", err)
				case now.Comm != name[b.PID]:
					return actuators.Changed("it is called %q now", now.Comm)
				}
				return nil
			},
		}.Bury(context.WithoutCancel(ctx), mine)
		out.Freed.RSS += b.Freed.RSS
		switch names, n := h.listEnded(name); {
		case n == len(mine):
			out.Detail += fmt.Sprintf(", with %s below it: %s", panes.Count(n, "process", "processes"), names)
		case n > 0:
			out.Detail += "; " + b.Detail + "; ended with it: " + names
		default:
			out.Detail += "; " + b.Detail
		}
	}
	if len(since) > 0 {
		out.Detail += fmt.Sprintf("; %s that it started since it was judged stayed, and the next sweep decides on: pid %v", panes.Count(len(since), "process", "processes"), since)
	}
	return out
}
