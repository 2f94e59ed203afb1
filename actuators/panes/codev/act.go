package codev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
	"github.com/winnow-reaper/winnow/internal/sys/tower/act"
)

const (
	// tries is how often a Tower that is still starting is asked.
	tries = 4
	// firstPause is how long the first wait is for one that does not say how long; each further one is twice as long.
	firstPause = 250 * time.Millisecond
	// lookEvery is the pause between two looks whether a terminal is gone.
	lookEvery = 50 * time.Millisecond
)

// Act implements actuators.Held. Once the Tower was asked to close the terminal it goes on to the end although ctx ends, but signals
// nothing any more then.
func (g *handle) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	if !alike(in.Identity.Terminal, &g.id) {
		return actuators.OutcomeOf(g.untouched(actuators.Changed("it is no longer what was judged first")))
	}
	still := func(ctx context.Context) error { return g.unchanged(ctx, in.Identity.Terminal.State) }
	if !g.id.Listed {
		return g.endUnlisted(ctx, still)
	}
	sent, err := g.tell(ctx, still)
	if left, ok := errors.AsType[errLeft](err); ok {
		return actuators.OutcomeOf(g.untouched(left.error))
	}
	g.Step(StepReadBack)
	return g.readBack(ctx, err, sent)
}

// alike reports whether two identities differ in nothing but how much memory the process has, and what the Tower says, which is compared later.
func alike(a, b *decision.Terminal) bool {
	if a == nil || (a.Process == nil) != (b.Process == nil) {
		return false
	}
	one, two := *a, *b
	if one.Process != nil {
		p, q := *one.Process, *two.Process
		p.RSS = q.RSS
		if p != q {
			return false
		}
	}
	one.Process, two.Process, one.State, two.State = nil, nil, "", ""
	return one == two
}

// errLeft is an error before which the Tower did nothing.
type errLeft struct{ error }

func (e errLeft) Unwrap() error { return e.error }

// tell has the Tower close the terminal, and says when it was asked. Everything is looked at again right before each try. Nil says that the
// Tower reported that it did, an errLeft that it did nothing, and any other error that a look must show what it did.
func (g *handle) tell(ctx context.Context, still func(context.Context) error) (sent time.Time, err error) {
	bounded, cancel := context.WithTimeout(ctx, 2*g.Timeout)
	defer cancel()
	deadline, _ := bounded.Deadline()
	pause := firstPause
	for try := 1; ; try++ {
		sent, err = g.tellOnce(bounded, still)
		var starting tower.Starting
		if !errors.As(err, &starting) {
			return sent, err
		}
		wait := max(pause, starting.After)
		if try == tries || time.Now().Add(wait).After(deadline) {
			return sent, errLeft{fmt.Errorf("%w (try %d of %d)", err, try, tries)}
		}
		select {
		case <-ctx.Done():
			return sent, errLeft{fmt.Errorf("%w, and the sweep was interrupted: %w", err, context.Cause(ctx))}
		case <-time.After(wait):
		}
		pause *= 2
	}
}

func (g *handle) tellOnce(ctx context.Context, still func(context.Context) error) (sent time.Time, err error) {
	g.Step(StepClose)
	if err := still(ctx); err != nil {
		return sent, errLeft{err}
	}
	if ctx.Err() != nil {
		return sent, errLeft{fmt.Errorf("there was no time left to close it: %w", context.Cause(ctx))}
	}
	sent = time.Now()
	// A request that is cut off may take effect all the same, unseen.
	err = act.Close(context.WithoutCancel(ctx), g.tower, g.id.ID)
	if tower.Undone(err) {
		return sent, errLeft{fmt.Errorf("ask the Tower at %s to close it: %w", g.tower.Base, err)}
	}
	return sent, err
}

// answerText is the Tower's answer, for a person.
func answerText(answer error) string {
	switch {
	case answer == nil:
		return "the Tower said that it closed it"
	case errors.Is(answer, act.ErrUnknown):
		return "the Tower said that it does not know it"
	}
	return "the Tower was asked to close it: " + answer.Error()
}

// readBack waits until the world shows that the terminal is gone, also when the sweep was interrupted, and says what it shows.
func (g *handle) readBack(sweep context.Context, answer error, sent time.Time) decision.Outcome {
	ctx := context.WithoutCancel(sweep)
	deadline := time.Now() // a Tower that refused did nothing
	switch {
	case answer == nil || errors.Is(answer, act.ErrUnknown): // it has ended the process before
		deadline = deadline.Add(g.Timeout)
	case errors.Is(answer, tower.ErrLost): // it may still be at it
		deadline = sent.Add(3 * g.Timeout)
	}
	for {
		all, err := g.tower.Terminals(ctx)
		there := slices.ContainsFunc(all, func(e tower.Entry) bool { return e.ID == g.id.ID })
		over := g.ended()
		late := time.Now().After(deadline)
		switch {
		case err == nil && !there && over:
			return g.closed(answer)
		case !late:
			time.Sleep(lookEvery)
		case err != nil:
			return g.unseen(answer, err, over)
		case there:
			return g.stays(answer, over)
		default:
			return g.endOutlived(sweep, answer)
		}
	}
}

// ended reports whether the terminal has no process any more.
func (g *handle) ended() bool { return g.shellper == nil || g.shellper.Ended() }

// freed is the memory of the shellper once that has ended, in bytes.
func (g *handle) freed() decision.Freed {
	if g.id.Process == nil || !g.ended() {
		return decision.Freed{}
	}
	return decision.Freed{RSS: g.id.Process.RSS}
}

// closed is the outcome of a terminal that is gone, process and all.
func (g *handle) closed(answer error) decision.Outcome {
	out := decision.Outcome{Outcome: decision.Done, Freed: g.freed(), Detail: g.who() + " is closed"}
	switch {
	case errors.Is(answer, act.ErrUnknown):
		out = decision.Outcome{Outcome: decision.Gone, Detail: g.who() + " was gone when the Tower was asked to close it"}
	case answer != nil:
		out.Detail += "; " + answerText(answer)
	}
	if g.id.Process != nil && out.Outcome == decision.Done {
		out.Detail += ", and " + process(&g.id, false)
	}
	return out
}

// stays is the outcome of a terminal that the Tower still lists although it was asked to close it.
func (g *handle) stays(answer error, over bool) decision.Outcome {
	out := decision.Outcome{Outcome: decision.Failed, Disputed: true, Freed: g.freed(), Detail: fmt.Sprintf("%s: %s, and it still lists it", g.who(), answerText(answer))}
	if g.id.Process != nil {
		out.Detail += "; " + process(&g.id, !over)
	}
	if !over {
		out.Detail += ", and was left to the Tower"
	}
	out.Detail += "; the next sweep tries again"
	return out
}

// unseen is the outcome where the Tower cannot be asked what came of it. While the process runs it stays open.
func (g *handle) unseen(answer, err error, over bool) decision.Outcome {
	out := decision.Outcome{Outcome: decision.Failed, Open: !over, Freed: g.freed()}
	out.Detail = fmt.Sprintf("%s: %s; whether it still lists it is not known: %v", g.who(), answerText(answer), err)
	if g.id.Process != nil {
		out.Detail += "; " + process(&g.id, !over)
	}
	out.Detail += "; the next sweep looks again"
	return out
}

// endOutlived ends the shellper of a terminal that the Tower no longer lists.
func (g *handle) endOutlived(ctx context.Context, answer error) decision.Outcome {
	before := fmt.Sprintf("%s, and no longer lists it, but its process (pid %d) still ran", answerText(answer), g.shellper.PID)
	how, _, err := g.end(ctx, g.outlived)
	switch {
	case err == nil:
		return decision.Outcome{Outcome: decision.Done, Freed: g.freed(), Detail: fmt.Sprintf("%s: %s; it %s", g.who(), before, how)}
	case errors.Is(err, actuators.ErrGone):
		return g.closed(answer)
	}
	return decision.Outcome{Outcome: decision.Failed, Freed: g.freed(), Detail: fmt.Sprintf("%s: %s: %v; the next sweep looks again", g.who(), before, err)}
}

// outlived makes sure that what is held is still the terminal's shellper, of this Codev. What lives below it was judged with it.
func (g *handle) outlived(ctx context.Context) error {
	over, err := g.identity(ctx)
	switch {
	case err != nil:
		return err
	case over:
		return actuators.Gone("its process (pid %d) has ended", g.id.Process.PID)
	case !g.ours:
		return actuators.Refused("pid %d may be another Codev's: its socket or its state folder is not this one's. If it is, set SHELLPER_SOCKET_DIR", g.pid())
	}
	return nil
}

// endUnlisted ends a shellper that no Tower lists, and what is judged to end with it. What it leaves besides, its socket and its log, Codev's own sweeps clear away.
func (g *handle) endUnlisted(ctx context.Context, still func(context.Context) error) decision.Outcome {
	how, told, err := g.end(ctx, still)
	switch {
	case err == nil:
		out := decision.Outcome{Outcome: decision.Done, Freed: g.freed(), Detail: fmt.Sprintf("%s: its process (pid %d) %s", g.who(), g.shellper.PID, how)}
		g.bury(ctx, &out)
		return out
	case told:
		return actuators.OutcomeOf(fmt.Errorf("%s: %w; the next sweep looks again", g.who(), err))
	}
	return actuators.OutcomeOf(g.untouched(err))
}

// end asks the held process to end, and kills it when it has not within the grace. check is asked before each signal; its ErrGone says
// that the process has ended. end says how the process ended, and whether it was asked to at all.
//
// This is not a panes.Burial, which always ends what is left of panes that are gone; here the Tower is asked again before each
// signal, and may say no, and nothing is signalled any more once the sweep was interrupted.
func (g *handle) end(ctx context.Context, check func(context.Context) error) (how string, told bool, err error) {
	const byItself = "ended when asked to"
	g.Step(StepTerm)
	if err := check(ctx); err != nil {
		return "", false, err
	}
	if ctx.Err() != nil {
		return "", false, fmt.Errorf("the sweep was interrupted before it was asked to end: %w", context.Cause(ctx))
	}
	if err := g.shellper.Signal(unix.SIGTERM); errors.Is(err, proc.ErrEnded) {
		return "", false, actuators.Gone("its process (pid %d) has ended", g.id.Process.PID)
	} else if err != nil {
		return "", false, fmt.Errorf("ask pid %d to end: %w", g.shellper.PID, err)
	}
	// A stopped process takes note of nothing but SIGKILL until it is continued.
	if s, err := g.shellper.Stat(); err == nil && s.State == 'T' {
		if err := g.shellper.Signal(unix.SIGCONT); err != nil && !errors.Is(err, proc.ErrEnded) {
			g.Log.Debug("continue a stopped process", "pid", g.shellper.PID, "error", err)
		}
	}
	if g.waits(ctx, g.TermGrace) {
		return byItself, true, nil
	}
	if ctx.Err() != nil {
		return "", true, fmt.Errorf("it was asked to end and still ran when the sweep was interrupted: %w; it was not killed", context.Cause(ctx))
	}
	if killed, err := g.kill(ctx, check); err != nil || !killed {
		return byItself, true, err
	}
	return fmt.Sprintf("did not end within %s of being asked and was killed", g.TermGrace), true, nil
}

// kill ends the process that did not end by itself, and reports whether it had to.
func (g *handle) kill(ctx context.Context, check func(context.Context) error) (bool, error) {
	g.Step(StepKill)
	if err := check(ctx); errors.Is(err, actuators.ErrGone) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("it did not end within %s of being asked, and was not killed: %w", g.TermGrace, err)
	}
	if err := g.shellper.Signal(unix.SIGKILL); errors.Is(err, proc.ErrEnded) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("it did not end within %s of being asked; kill pid %d: %w", g.TermGrace, g.shellper.PID, err)
	}
	// What was sent cannot be taken back, so an interruption does not keep from looking how it ended.
	if !g.waits(context.WithoutCancel(ctx), procact.KilledWithin) {
		return false, fmt.Errorf("it did not end within %s of being killed: it may hang in the kernel; look at it by hand", procact.KilledWithin)
	}
	return true, nil
}

// waits waits until the held process has ended, for at most d and until ctx ends, and reports whether it is.
func (g *handle) waits(ctx context.Context, d time.Duration) bool {
	return len(procact.Await(ctx, []*procact.Held{g.shellper}, d)) == 0
}
