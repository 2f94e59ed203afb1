// Package act changes processes: it signals one that is held. Only actuators import it.
package act

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Held is a process that is held and may be signalled.
type Held struct{ *proc.Held }

// Hold is proc.Hold.
func Hold(procRoot string, pid int) (*Held, error) {
	h, err := proc.Hold(procRoot, pid)
	if err != nil {
		return nil, err
	}
	return &Held{h}, nil
}

// Never refuses processes that are never signalled.
type Never interface {
	Check(pid, uid int, comm string, kernel bool) error
}

// Allowed refuses a process that is never signalled, by what its stat says now.
func (h *Held) Allowed(never Never, now proc.Stat) error {
	uid, err := h.Owner()
	if err != nil {
		return err
	}
	return never.Check(h.PID, uid, now.Comm, now.Kernel)
}

// Signal sends sig to the very process that is held. It gives proc.ErrEnded where that has ended. There is no way by the bare number.
func (h *Held) Signal(sig unix.Signal) error {
	dir, pidfd := h.FDs()
	return proc.AsEnded(send(dir, pidfd, sig))
}

// send signals through the held folder, which the kernel takes for a pidfd (tgid_pidfd_to_pid in fs/proc/base.c). A kernel that does not
// gets the pidfd, which proc.Hold showed to be of the same process.
func send(dir, pidfd int, sig unix.Signal) error {
	err := unix.PidfdSendSignal(dir, sig, nil, 0)
	if errors.Is(err, unix.EBADF) {
		err = unix.PidfdSendSignal(pidfd, sig, nil, 0)
	}
	return err
}

// KilledWithin is how long the kernel may take to end a killed process: two seconds were seen on a machine in heavy use. One in an
// uninterruptible call takes longer. Tests set it before they run.
var KilledWithin = 10 * time.Second

// pollFor bounds one wait, so that a context that ended is noticed.
const pollFor = 50 * time.Millisecond

// Await waits until all of hs have ended, but no longer than d and than ctx lasts, and gives those that have not.
func Await(ctx context.Context, hs []*Held, d time.Duration) []*Held {
	deadline := time.Now().Add(d)
	for {
		hs = slices.DeleteFunc(slices.Clone(hs), (*Held).Ended)
		rest := time.Until(deadline)
		if len(hs) == 0 || rest <= 0 || ctx.Err() != nil {
			return hs
		}
		fds := make([]unix.PollFd, len(hs))
		for i, h := range hs {
			_, pidfd := h.FDs()
			fds[i] = unix.PollFd{Fd: int32(pidfd), Events: unix.POLLIN}
		}
		// A pidfd stays readable although other threads of a leader that ended live on, hence the least pause.
		if n, _ := unix.Poll(fds, int(min(rest, pollFor).Milliseconds())+1); n > 0 {
			time.Sleep(time.Millisecond)
		}
	}
}
