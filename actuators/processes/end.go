package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/proc/act"
)

// ending is a process that was asked to end.
type ending struct {
	*held
	want   decision.Process
	intent decision.Intent
	// since are the pids below it that were not judged with it.
	since []int
	// memory is that of the process and of those below it before, by pid in bytes.
	memory map[int]int64
	// how says how it ended; killed is true once it was killed.
	how    string
	killed bool
	out    decision.Outcome
	over   bool
}

// Batch implements actuators.Batcher: a process is not in one batch with one that ends with it.
func (a *Actuator) Batch(ds []decision.Decision) int {
	return actuators.Disjoint(ds, func(d decision.Decision) (pids []int, ok bool) {
		if d.Identity.Process == nil {
			return nil, false
		}
		pids = []int{d.Identity.Process.PID}
		for _, m := range d.Identity.Below {
			pids = append(pids, m.PID)
		}
		return pids, true
	})
}

// Act is ActTogether of the one process.
func (h *held) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	return *h.ActTogether(ctx, []actuators.Held{h}, []decision.Intent{in}, func(int) error { return nil })[0]
}

// ActTogether implements actuators.Together. It asks the processes to end, and kills those that have not ended within the grace, which all of them
// have at the same time. Before each signal the process is read again through the folder that the signal goes through. What was judged with a
// process ends after it: the other way round a supervisor starts it again.
func (a *Actuator) ActTogether(ctx context.Context, hs []actuators.Held, ins []decision.Intent, begin func(i int) error) []*decision.Outcome {
	outs := make([]*decision.Outcome, len(hs))
	all := make([]*ending, len(hs))
	for i := range hs {
		e := &ending{held: hs[i].(*held), intent: ins[i], memory: map[int]int64{}}
		for _, p := range append([]*act.Held{e.Held}, e.below...) {
			if n, err := p.PSS(); err == nil { // else it counts for nothing
				e.memory[p.PID] = n
			}
		}
		all[i] = e
	}
	now, unread := read(a.o.ProcRoot)
	var asked []*ending
	for i, e := range all {
		err := begin(i)
		if errors.Is(err, actuators.ErrStale) {
			break
		}
		if outs[i] = &e.out; err != nil {
			e.ends(actuators.OutcomeOf(err))
			continue
		}
		if e.ask(now, unread); !e.over {
			asked = append(asked, e)
		}
	}
	a.wait(ctx, asked)
	a.endBelow(ctx, asked)
	return outs
}

// ask asks the process itself to end. now is the reading of all processes right before, or err is why it is missing.
func (e *ending) ask(now reading, err error) {
	want := e.intent.Identity.Process
	if want == nil || want.PID != e.PID {
		e.ends(decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("the intent does not name pid %d, which is held; nothing was done", e.PID)})
		return
	}
	e.want = *want
	if e.since, err = e.sinceJudged(now, err); err != nil {
		e.ends(actuators.OutcomeOf(err))
		return
	}
	e.o.Step("process.term")
	if err := e.unchanged(e.want); err != nil {
		e.ends(actuators.OutcomeOf(err))
		return
	}
	if err := e.Signal(unix.SIGTERM); err != nil {
		e.ends(notSent(e.want, "ask it to end", err))
		return
	}
	// A stopped process takes note of nothing but SIGKILL until it is continued.
	if s, err := e.Stat(); err == nil && s.State == 'T' {
		if err := e.Signal(unix.SIGCONT); err != nil && !proc.Ended(err) {
			e.o.Log.Debug("continue a stopped process", "pid", e.want.PID, "error", err)
		}
	}
	e.how = "ended when asked to"
	e.o.Step("process.grace")
}

func (e *ending) ends(out decision.Outcome) { e.out, e.over = out, true }

// wait waits until those that were asked have ended, and kills those that do not. What has become another program in the meantime is left alone.
func (a *Actuator) wait(ctx context.Context, asked []*ending) {
	left := act.Await(ctx, heldOf(asked), a.o.TermGrace)
	var killed []*ending
	for _, e := range asked {
		switch {
		case !slices.Contains(left, e.Held):
		case ctx.Err() != nil:
			e.ends(failed(e.want, "was asked to end and still ran when the sweep was interrupted: %v; it was not killed, and the next sweep decides on it again",
				context.Cause(ctx)))
		default:
			if e.kill(); e.killed {
				killed = append(killed, e)
			}
		}
	}
	// What has been sent cannot be taken back, so an interruption does not keep from looking how it ended.
	act.Await(context.WithoutCancel(ctx), heldOf(killed), act.KilledWithin)
	for _, e := range asked {
		if !e.over {
			e.out = e.readBack(e.want, e.how)
		}
	}
}

func heldOf(list []*ending) []*act.Held {
	var out []*act.Held
	for _, e := range list {
		out = append(out, e.Held)
	}
	return out
}

// kill kills a process that did not end by itself. One that has become another program in the meantime is left alone.
func (e *ending) kill() {
	e.o.Step("process.kill")
	err := e.unchanged(e.want)
	if err != nil && !errors.Is(err, actuators.ErrGone) {
		out := actuators.OutcomeOf(err)
		out.Detail += fmt.Sprintf("; it had been asked to end %s before, and was not killed", e.o.TermGrace)
		e.ends(out)
		return
	}
	if err == nil {
		err = e.Signal(unix.SIGKILL)
	}
	switch {
	case errors.Is(err, actuators.ErrGone), proc.Ended(err):
	case err != nil:
		e.ends(notSent(e.want, "kill it", err))
	default:
		e.o.Step("process.killed")
		e.how, e.killed = fmt.Sprintf("did not end within %s and was killed", e.o.TermGrace), true
	}
}

// endBelow ends what was judged with those that have ended, each beside the others: each may take its time.
func (a *Actuator) endBelow(ctx context.Context, asked []*ending) {
	var all sync.WaitGroup
	var steps sync.Mutex
	step := func(name string) {
		steps.Lock()
		defer steps.Unlock()
		a.o.Step(name)
	}
	for _, e := range asked {
		if e.out.Outcome != decision.Done {
			continue
		}
		all.Go(func() {
			e.out = e.buryBelow(ctx, e.intent.Identity.Below, e.since, e.out, step)
			for _, p := range append([]*act.Held{e.Held}, e.below...) {
				if p.Ended() {
					e.out.Freed.PSS += e.memory[p.PID]
				}
			}
		})
	}
	all.Wait()
}

// readBack looks whether the process has ended.
func (h *held) readBack(want decision.Process, how string) decision.Outcome {
	s, err := h.Stat()
	switch {
	case errors.Is(err, proc.ErrEnded):
		return decision.Outcome{Outcome: decision.Done, Freed: decision.Freed{RSS: want.RSS}, Detail: fmt.Sprintf("pid %d (%s) %s", want.PID, want.Name, how)}
	case err != nil:
		return failed(want, "was signalled, and whether it ended is not known: %v", err)
	}
	out := failed(want, "%s and still exists in state %c: it may hang in the kernel; look at it by hand", how, s.State)
	out.Disputed = true
	return out
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
