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
)

// killWait is how long the kernel has to take a killed process away. One that sits in an uninterruptible call takes longer, and
// nothing can be done about it.
const killWait = 5 * time.Second

// Do asks the process to end, and kills it when it has not ended within the grace. Before each signal it is read again through
// the directory that the signal goes through. What was judged with it ends after it: the other way round a supervisor starts it anew.
func (g *grasp) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	if in.Identity.Process == nil {
		return decision.Outcome{Outcome: decision.Failed, Detail: "the intent names no process; nothing was done"}
	}
	want := *in.Identity.Process
	if want.PID != g.pin.pid {
		return decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("the intent names pid %d and pid %d is held; nothing was done", want.PID, g.pin.pid)}
	}
	since, err := g.mind()
	if err != nil {
		return actuators.OutcomeOf(err)
	}
	out := g.end(ctx, want)
	if out.Outcome == decision.Done {
		out = g.endBelow(ctx, in.Identity.Below, since, out)
	}
	return out
}

// end ends the process itself.
func (g *grasp) end(ctx context.Context, want decision.Process) decision.Outcome {
	g.o.Step("process.term")
	if err := g.check(want); err != nil {
		return actuators.OutcomeOf(err)
	}
	if err := g.pin.signal(unix.SIGTERM); err != nil {
		return notSent(want, "ask it to end", err)
	}
	// A stopped process takes note of nothing but SIGKILL until it is continued.
	if s, err := g.pin.stat(); err == nil && s.state == 'T' {
		if err := g.pin.signal(unix.SIGCONT); err != nil && !errors.Is(err, unix.ESRCH) {
			g.o.Log.Debug("continue a stopped process", "pid", want.PID, "error", err)
		}
	}
	g.o.Step("process.grace")
	ended, err := wait(ctx, g.pin.fd, g.o.TermGrace)
	if err != nil {
		return decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("pid %d (%s) was asked to end and still ran when %v; it was not killed, and the next sweep decides on it afresh",
			want.PID, want.Name, err)}
	}
	if ended {
		return g.over(want, "ended when asked to")
	}
	return g.kill(ctx, want)
}

// kill ends a process that did not end by itself. One that has become another program in the meantime is left alone.
func (g *grasp) kill(ctx context.Context, want decision.Process) decision.Outcome {
	g.o.Step("process.kill")
	if err := g.check(want); errors.Is(err, actuators.ErrGone) {
		return g.over(want, "ended when asked to")
	} else if err != nil {
		out := actuators.OutcomeOf(err)
		out.Detail += fmt.Sprintf("; it had been asked to end %s before, and was not killed", g.o.TermGrace)
		return out
	}
	if err := g.pin.signal(unix.SIGKILL); errors.Is(err, unix.ESRCH) {
		return g.over(want, "ended when asked to")
	} else if err != nil {
		return notSent(want, "kill it", err)
	}
	g.o.Step("process.killed")
	// What has been sent cannot be taken back, so an interruption does not keep from looking how it ended.
	if _, err := wait(context.WithoutCancel(ctx), g.pin.fd, killWait); err != nil {
		return decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("pid %d (%s) was killed, and whether it ended is not known: %v", want.PID, want.Name, err)}
	}
	return g.over(want, fmt.Sprintf("did not end within %s and was killed", g.o.TermGrace))
}

// over reads back that the process is gone.
func (g *grasp) over(want decision.Process, how string) decision.Outcome {
	s, err := g.pin.stat()
	if errors.Is(err, actuators.ErrGone) {
		return decision.Outcome{Outcome: decision.Done, Freed: decision.Freed{RSS: want.RSS},
			Detail: fmt.Sprintf("pid %d (%s) %s", want.PID, want.Name, how)}
	}
	if err != nil {
		return decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("pid %d (%s) was signalled, and whether it ended is not known: %v", want.PID, want.Name, err)}
	}
	return decision.Outcome{Outcome: decision.Failed,
		Detail: fmt.Sprintf("pid %d (%s) %s and is still there in state %c: it may hang in a call into the kernel; look at it by hand",
			want.PID, want.Name, how, s.state)}
}

func notSent(want decision.Process, step string, err error) decision.Outcome {
	out := decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("pid %d (%s): %s: %v; the next sweep decides on it afresh", want.PID, want.Name, step, err)}
	switch {
	case errors.Is(err, unix.ESRCH):
		out = decision.Outcome{Outcome: decision.Gone, Detail: fmt.Sprintf("pid %d (%s) ended by itself", want.PID, want.Name)}
	case errors.Is(err, os.ErrPermission):
		out.Outcome = decision.Refused
	}
	return out
}

// signal sends through the held directory, which the kernel takes for a pidfd (tgid_pidfd_to_pid in fs/proc/base.c). One that
// does not gets the pidfd that openPin showed to be of the same process. There is no way by the bare number.
func (p *pin) signal(sig unix.Signal) error {
	err := unix.PidfdSendSignal(p.dir, sig, nil, 0)
	if errors.Is(err, unix.EBADF) {
		err = unix.PidfdSendSignal(p.fd, sig, nil, 0)
	}
	return err
}

// wait sleeps until the process behind a pidfd has ended, for at most d. It fails when ctx ends before.
func wait(ctx context.Context, pidfd int, d time.Duration) (ended bool, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return false, fmt.Errorf("wait for its end: %w", err)
	}
	defer unix.Close(ends[0])
	// Closing the one end wakes the other. Exactly one of the two below closes it.
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { unix.Close(ends[1]); close(closed) })
	defer func() {
		if stop() {
			unix.Close(ends[1])
		} else {
			<-closed
		}
	}()
	deadline := time.Now().Add(d)
	for {
		fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}, {Fd: int32(ends[0])}}
		left := unix.NsecToTimespec(int64(max(time.Until(deadline), 0)))
		n, err := unix.Ppoll(fds, &left, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false, fmt.Errorf("wait for its end: %w", err)
		case fds[0].Revents != 0:
			return true, nil
		case fds[1].Revents != 0:
			return false, fmt.Errorf("the sweep was interrupted: %w", context.Cause(ctx))
		case n == 0:
			return false, nil
		}
	}
}
