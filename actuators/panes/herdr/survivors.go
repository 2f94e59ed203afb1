package herdr

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

const (
	// hangUpWithin is how long the processes of a closed tab have to end. herdr itself hangs up, asks and kills, a quarter of a
	// second each, before it answers.
	hangUpWithin = 500 * time.Millisecond
	// killedWithin is how long the kernel may take to end a process that was killed.
	killedWithin = 2 * time.Second
)

// bury ends the held processes that outlived the close, and accounts for all of them. What started since the grasp was not
// judged, and is nobody's to end here. Neither is a pane that was moved out of the tab at the last moment, nor any pane where
// another server answers now: a server that is handed over keeps its shells.
func (g *grasp) bury(ctx context.Context, w *whereabouts) decision.Outcome {
	spared := map[*held]error{}
	mine := slices.DeleteFunc(slices.Clone(g.members), func(h *held) bool {
		spared[h] = g.others(h, w)
		return spared[h] != nil
	})
	left := await(ctx, mine, hangUpWithin)
	told := 0
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
	return g.account(told, spared)
}

// others says why a process is not this act's to end, or nothing.
func (g *grasp) others(h *held, w *whereabouts) error {
	switch {
	case h.over():
		return nil
	case w.moved[h.pane.Terminal] != "":
		return actuators.Changed("its pane was moved, and is %s now", w.moved[h.pane.Terminal])
	case w.view == nil || w.view.peer != g.client.server:
		return actuators.Changed("the server is not the one any more that was asked to close the tab")
	}
	return nil
}

// send signals one survivor after it was looked at again: it must still be the pane's, and none of the never-list.
func (g *grasp) send(h *held, sig unix.Signal) error {
	s, err := h.stat()
	if err != nil {
		return err
	}
	if s.start != h.ticks || s.session != h.pane.PID {
		return actuators.Changed("it has left the pane's session")
	}
	uid, err := h.owner()
	if err != nil {
		return err
	}
	if err := g.never.Check(h.pid, uid, s.comm, s.kernel); err != nil {
		return err
	}
	if err := h.signal(sig); err != nil {
		return fmt.Errorf("signal pid %d: %w", h.pid, err)
	}
	return nil
}

func (g *grasp) account(told int, spared map[*held]error) decision.Outcome {
	out := decision.Outcome{Outcome: decision.Done}
	var b strings.Builder
	ended := 0
	for _, h := range g.members {
		why := spared[h]
		if why == nil {
			ended++
			out.Freed.RSS += h.rss
			continue
		}
		g.log.Warn("a process outlived its tab", "tab", g.id.ID, "pid", h.pid, "error", why)
		fmt.Fprintf(&b, "; pid %d was left: %v", h.pid, why)
	}
	out.Detail = fmt.Sprintf("%s of the herdr server on %s is gone, and %d of its %s with it", g.who(), g.id.Socket,
		ended, count(len(g.members), "process", "processes"))
	if told > 0 {
		out.Detail += fmt.Sprintf("; %d of them outlived the close and %s signalled", told, plural(told, "was", "were"))
	}
	out.Detail += b.String()
	return out
}
