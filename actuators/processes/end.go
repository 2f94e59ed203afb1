package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/engine/decision"
	"winnow/internal/proc"
	"winnow/internal/proc/act"
)

// killWait is how long the kernel has to take a killed process away. One that sits in an uninterruptible call takes longer, and
// nothing can be done about it.
const killWait = 5 * time.Second

// Act asks the process to end, and kills it when it has not ended within the grace. Before each signal it is read again through
// the folder that the signal goes through. What was judged with it ends after it: the other way round a supervisor starts it again.
func (h *held) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	want := in.Identity.Process
	if want == nil || want.PID != h.PID {
		return decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("the intent does not name pid %d, which is held; nothing was done", h.PID)}
	}
	since, err := h.since()
	if err != nil {
		return actuators.OutcomeOf(err)
	}
	memory := h.weigh()
	out := h.end(ctx, *want)
	if out.Outcome != decision.Done {
		return out
	}
	out = h.endBelow(ctx, in.Identity.Below, since, out)
	for _, p := range append([]*act.Held{h.Held}, h.below...) {
		if p.Over() {
			out.Freed.PSS += memory[p.PID]
		}
	}
	return out
}

// end ends the process itself.
func (h *held) end(ctx context.Context, want decision.Process) decision.Outcome {
	h.o.Step("process.term")
	if err := h.still(want); err != nil {
		return actuators.OutcomeOf(err)
	}
	if err := h.Signal(unix.SIGTERM); err != nil {
		return notSent(want, "ask it to end", err)
	}
	// A stopped process takes note of nothing but SIGKILL until it is continued.
	if s, err := h.Stat(); err == nil && s.State == 'T' {
		if err := h.Signal(unix.SIGCONT); err != nil && !proc.Ended(err) {
			h.o.Log.Debug("continue a stopped process", "pid", want.PID, "error", err)
		}
	}
	h.o.Step("process.grace")
	switch left := act.Await(ctx, []*act.Held{h.Held}, h.o.TermGrace); {
	case len(left) == 0:
		return h.over(want, "ended when asked to")
	case ctx.Err() != nil:
		return failed(want, "was asked to end and still ran when the sweep was interrupted: %v; it was not killed, and the next sweep decides on it again",
			context.Cause(ctx))
	}
	return h.kill(ctx, want)
}

// kill ends a process that did not end by itself. One that has become another program in the meantime is left alone.
func (h *held) kill(ctx context.Context, want decision.Process) decision.Outcome {
	h.o.Step("process.kill")
	err := h.still(want)
	if err != nil && !errors.Is(err, actuators.ErrGone) {
		out := actuators.OutcomeOf(err)
		out.Detail += fmt.Sprintf("; it had been asked to end %s before, and was not killed", h.o.TermGrace)
		return out
	}
	if err == nil {
		err = h.Signal(unix.SIGKILL)
	}
	switch {
	case errors.Is(err, actuators.ErrGone), proc.Ended(err):
		return h.over(want, "ended when asked to")
	case err != nil:
		return notSent(want, "kill it", err)
	}
	h.o.Step("process.killed")
	// What has been sent cannot be taken back, so an interruption does not keep from looking how it ended.
	act.Await(context.WithoutCancel(ctx), []*act.Held{h.Held}, killWait)
	return h.over(want, fmt.Sprintf("did not end within %s and was killed", h.o.TermGrace))
}

// over reads back that the process has ended.
func (h *held) over(want decision.Process, how string) decision.Outcome {
	s, err := h.Stat()
	switch {
	case errors.Is(err, proc.ErrEnded):
		return decision.Outcome{Outcome: decision.Done, Freed: decision.Freed{RSS: want.RSS}, Detail: fmt.Sprintf("pid %d (%s) %s", want.PID, want.Name, how)}
	case err != nil:
		return failed(want, "was signalled, and whether it ended is not known: %v", err)
	}
	return failed(want, "%s and still exists in state %c: it may hang in the kernel; look at it by hand", how, s.State)
}

func failed(want decision.Process, format string, args ...any) decision.Outcome {
	return decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("pid %d (%s) ", want.PID, want.Name) + fmt.Sprintf(format, args...)}
}

func notSent(want decision.Process, step string, err error) decision.Outcome {
	out := failed(want, "could not be signalled: %s: %v; the next sweep decides on it again", step, err)
	switch {
	case proc.Ended(err):
		return decision.Outcome{Outcome: decision.Gone, Detail: fmt.Sprintf("pid %d (%s) ended by itself", want.PID, want.Name)}
	case errors.Is(err, os.ErrPermission):
		out.Outcome = decision.Refused
	}
	return out
}
