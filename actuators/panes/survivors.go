// Package panes holds what the actuators below it share, whichever program the panes are of: the end of processes that outlive their
// panes, and what an act keeps in the trash.
package panes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
)

// HoldPane holds every judged process of a pane; also after an error it gives those that are held by then. what, such as "tab", and who,
// such as `tab w1:t2 ("label")`, name what the pane belongs to. One that ended, or left the pane's session, does not belong to the pane any
// more. ErrChanged says that the pane's first process is another one, or has ended, and ErrRefused that one of them is never signalled.
func HoldPane(procRoot, what, who string, p decision.Pane, never actuators.NeverProcess) (members []*procact.Held, err error) {
	for _, pid := range slices.Compact(slices.Sorted(slices.Values(append([]int{p.PID}, p.Members...)))) {
		if pid <= 1 {
			return members, actuators.Refused("pane %s of %s lists pid %d, which is never signalled; it was left untouched", p.ID, who, pid)
		}
		h, err := procact.Hold(procRoot, pid)
		first := pid == p.PID
		switch {
		case errors.Is(err, proc.ErrEnded) && !first:
			continue
		case errors.Is(err, proc.ErrEnded):
			return members, actuators.Changed("the first process of pane %s of %s, pid %d, ended; the %s was left untouched", p.ID, who, pid, what)
		case err != nil:
			return members, err
		case first && (h.Was.Start != p.StartTicks || h.Was.Session != pid):
			h.Close()
			return members, actuators.Changed("pid %d is no longer the first process of pane %s of %s; the %s was left untouched", pid, p.ID, who, what)
		case h.Was.Session != p.PID:
			h.Close()
			continue
		}
		members = append(members, h)
		if err := h.Allowed(never, h.Was); err != nil {
			return members, actuators.Refused("%s runs it in pane %s: %w; the %s was left untouched", who, p.ID, err, what)
		}
	}
	return members, nil
}

// MembersOf names the held processes of the session that leader leads.
func MembersOf(held []*procact.Held, leader int) (out []Member) {
	for _, h := range held {
		if h.Was.Session == leader {
			out = append(out, Member{PID: h.PID, StartTicks: h.Was.Start})
		}
	}
	return out
}

// Burial is how held processes are ended that outlive the end of their panes.
type Burial struct {
	// Who is whose panes they were, and By what ended those, for a person: "tab w1:t2", "close".
	Who, By string
	// Within is how long they have to end from that alone, TermGrace how long after TERM before they are killed.
	Within, TermGrace time.Duration
	// Spare, when set, says why a process is not this act's to end, or nil. It is asked at once, and again right before each signal.
	Spare func(*procact.Held) error
	Never actuators.NeverProcess
	// Step is called with Term and Kill before those signals are sent; it is not called where no process is left to get them.
	Step       func(name string)
	Term, Kill string
	Log        hclog.Logger
}

// Bury ends the processes in hs that survived, and accounts for all of them: the outcome is Done, also when some had to be left. What
// started since they were held was not judged, so it is not ended here.
func (b Burial) Bury(ctx context.Context, hs []*procact.Held) decision.Outcome {
	spared := map[*procact.Held]error{}
	mine := slices.DeleteFunc(slices.Clone(hs), func(h *procact.Held) bool {
		if b.Spare != nil {
			spared[h] = b.Spare(h)
		}
		return spared[h] != nil
	})
	left := procact.Await(ctx, mine, b.Within)
	told := 0
	for _, s := range []struct {
		step   string
		signal unix.Signal
		wait   time.Duration
	}{{b.Term, unix.SIGTERM, b.TermGrace}, {b.Kill, unix.SIGKILL, procact.KilledWithin}} {
		if len(left) == 0 {
			break
		}
		b.Step(s.step)
		left = slices.DeleteFunc(left, func(h *procact.Held) bool {
			err := b.send(h, s.signal)
			if err != nil && !errors.Is(err, proc.ErrEnded) {
				spared[h] = err
			}
			return err != nil
		})
		told = max(told, len(left))
		left = procact.Await(ctx, left, s.wait)
	}
	for _, h := range left {
		spared[h] = fmt.Errorf("it did not end within %s of being killed", procact.KilledWithin)
	}
	return b.account(hs, told, spared)
}

// send signals one survivor after it was looked at again: it must still be of the same session, and not be on the never-list.
func (b Burial) send(h *procact.Held, sig unix.Signal) error {
	s, err := h.Stat()
	if err != nil {
		return err
	}
	if s.Start != h.Was.Start || s.Session != h.Was.Session {
		return actuators.Changed("it has left its session")
	}
	if err := h.Allowed(b.Never, s); err != nil {
		return err
	}
	if b.Spare != nil {
		if err := b.Spare(h); err != nil {
			return err
		}
	}
	if err := h.Signal(sig); err != nil {
		return fmt.Errorf("signal pid %d: %w", h.PID, err)
	}
	return nil
}

func (b Burial) account(hs []*procact.Held, told int, spared map[*procact.Held]error) decision.Outcome {
	out := decision.Outcome{Outcome: decision.Done}
	ended, left := 0, ""
	for _, h := range hs {
		why := spared[h]
		if why == nil {
			ended++
			out.Freed.RSS += h.Was.RSS
			continue
		}
		b.Log.Warn("a process outlived its pane", "pid", h.PID, "error", why)
		left += fmt.Sprintf("; pid %d was left: %v", h.PID, why)
	}
	out.Detail = fmt.Sprintf("%s is gone, and %d of its %s with it", b.Who, ended, Count(len(hs), "process", "processes"))
	if told > 0 {
		out.Detail += fmt.Sprintf("; %d of them outlived the %s and %s signalled", told, b.By, plural(told, "was", "were"))
	}
	out.Detail += left
	return out
}

// Count is a number with its noun.
func Count(n int, one, many string) string { return fmt.Sprintf("%d %s", n, plural(n, one, many)) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
