package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/engine/decision"
)

// bury ends the held processes that survived the hang-up, and accounts for all of them. What started since the grasp was not
// judged, and is nobody's to end here.
func (g *grasp) bury(ctx context.Context) decision.Outcome {
	left := await(ctx, g.members, hangUpWithin)
	spared := map[*held]error{}
	var told int
	for _, s := range []struct {
		step   string
		signal unix.Signal
		wait   time.Duration
	}{{StepTerm, unix.SIGTERM, g.TermGrace}, {StepKillLeft, unix.SIGKILL, killedWithin}} {
		if len(left) == 0 {
			break
		}
		g.step(s.step)
		left = slices.DeleteFunc(left, func(h *held) bool {
			err := g.send(h, s.signal)
			if err != nil && !errors.Is(err, errEnded) {
				spared[h] = err
			}
			return err != nil
		})
		told = max(told, len(left))
		left = await(ctx, left, s.wait)
	}
	for _, h := range left {
		spared[h] = fmt.Errorf("it did not end within %s of being killed", killedWithin)
	}
	for h, why := range spared {
		g.log.Warn("a process outlived its session", "session", g.id.ID, "pid", h.pid, "error", why)
	}
	out := decision.Outcome{Outcome: decision.Done, Detail: g.account(told, spared)}
	for _, h := range g.members {
		if spared[h] == nil {
			out.Freed.RSS += h.rss
		}
	}
	return out
}

// send signals one survivor after it was looked at again: it must still be the pane's, and none of the never-list.
func (g *grasp) send(h *held, sig unix.Signal) error {
	f, err := h.facts()
	if err != nil {
		return err
	}
	if f.ticks != h.ticks || f.session != g.leader[h] {
		return actuators.Changed("it is not the pane's any more")
	}
	if err := g.never.Check(h.pid, f.uid, f.comm, f.kernel); err != nil {
		return err
	}
	if err := h.signal(sig); err != nil {
		return fmt.Errorf("signal pid %d: %w", h.pid, err)
	}
	return nil
}

func (g *grasp) account(told int, spared map[*held]error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "session %s (%s) of the tmux server on %s is gone, and %d of its %s with it",
		g.id.ID, g.id.Name, g.id.Socket, len(g.members)-len(spared), count(len(g.members), "process", "processes"))
	if told > 0 {
		fmt.Fprintf(&b, "; %d of them outlived the hang-up and %s signalled", told, plural(told, "was", "were"))
	}
	for _, h := range g.members {
		if why := spared[h]; why != nil {
			fmt.Fprintf(&b, "; pid %d was left: %v", h.pid, why)
		}
	}
	fmt.Fprintf(&b, "; the scrollback of %s is in %s", count(len(g.plan.Panes), "pane", "panes"), g.plan.Folder)
	return b.String()
}

func count(n int, one, many string) string { return fmt.Sprintf("%d %s", n, plural(n, one, many)) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
