// Package stop ends the program in order: signals, acts in hand, and what it started.
package stop

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// stopGrace is how long the program may take to stop after the first signal while no act is in hand. An act that was begun is
// never cut short by it.
const stopGrace = 10 * time.Second

// interrupted is why a context ends after a signal.
type interrupted struct{ sig syscall.Signal }

func (e interrupted) Error() string { return "interrupted by " + signalName(e.sig) }

// Is makes it what an end of a context mostly is.
func (interrupted) Is(target error) bool { return target == context.Canceled }

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.String()
}

// Inflight counts the acts in hand: what must come to its end once it was begun.
type Inflight struct {
	n      atomic.Int32
	hangUp atomic.Pointer[func()]
}

// OnHangUp has f called at SIGHUP, in the place of an interruption; nil brings that back.
func (h *Inflight) OnHangUp(f func()) {
	if f == nil {
		h.hangUp.Store(nil)
		return
	}
	h.hangUp.Store(&f)
}

// heard reports whether a signal is followed in another way than by an interruption.
func (h *Inflight) heard(s os.Signal) bool {
	f := h.hangUp.Load()
	if s != syscall.SIGHUP || f == nil {
		return false
	}
	(*f)()
	return true
}

// Begin begins one; the function that it gives ends it.
func (h *Inflight) Begin() (done func()) {
	h.n.Add(1)
	return func() { h.n.Add(-1) }
}

func (h *Inflight) Busy() bool { return h.n.Load() > 0 }

// Signalled gives a context that the first SIGINT, SIGTERM or SIGHUP ends. The second one ends the process at once, and what it
// started, at any moment. A signal that the caller ignores, as nohup does with SIGHUP, stays ignored.
//
// While hands follow SIGHUP otherwise, it interrupts nothing.
//
// SIGPIPE is caught as well, so that a closed pipe is an error of a write and not the end in the middle of an act.
func Signalled(errOut io.Writer, h *Inflight) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	got := make(chan os.Signal, 2)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	over := make(chan struct{})
	go func() {
		for {
			s, ok := receive(got, over)
			if !ok {
				return
			}
			if h.heard(s) {
				continue
			}
			first := s.(syscall.Signal)
			// Beside: who reads stderr may have stopped reading, and the second signal must be heard all the same.
			go fmt.Fprintf(errOut, "winnow: %v: no new act begins, and the current one is finished; a second signal ends winnow at once\n", interrupted{first})
			cancel(interrupted{first})
			EndNow(LastSignal(first, got, h, over, stopGrace))
			return
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		signal.Stop(pipe)
		close(over)
		cancel(nil)
	}
}

// receive gives the next signal, and false once it is over.
func receive(got <-chan os.Signal, over <-chan struct{}) (os.Signal, bool) {
	select {
	case s := <-got:
		return s, true
	case <-over:
		return nil, false
	}
}

// LastSignal waits for the next signal, or until no act has been in hand for the time of grace, and gives the signal to end by; 0 when
// the program had ended before.
func LastSignal(first syscall.Signal, got <-chan os.Signal, h *Inflight, over <-chan struct{}, grace time.Duration) syscall.Signal {
	tick := time.NewTicker(grace / 100)
	defer tick.Stop()
	idle := time.Now()
	for {
		select {
		case <-over:
			return 0
		case s := <-got:
			return s.(syscall.Signal)
		case <-tick.C:
			if h.Busy() {
				idle = time.Now()
			}
			if time.Since(idle) > grace {
				return first
			}
		}
	}
}

// EndNow ends what the program started, and the program, with the exit code of a program that the signal ended.
func EndNow(s syscall.Signal) {
	if s == 0 {
		return
	}
	endChildren()
	os.Exit(128 + int(s))
}

// endChildren kills the processes that this one started, and what those started, as long as they are in its session: a tmux
// server that a restore started has left it, and is to outlive the program. It is for a program that ends at once; a program
// that ends in order has waited for them.
func endChildren() {
	self := os.Getpid()
	all := map[int]proc.Stat{}
	pids, _ := proc.PIDs("/proc")
	for _, pid := range pids {
		if s, err := proc.StatOf("/proc", pid); err == nil {
			all[pid] = s
		}
	}
	family := map[int]bool{self: true}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if !family[pid] && family[s.Parent] && s.Session == all[self].Session {
				family[pid], grown = true, true
			}
		}
	}
	for pid := range family {
		if pid == self {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		// With the pidfd held, the pid means one process only: it is asked again who that is. Its parent says nothing of that: it may
		// have been ended a moment ago.
		if s, err := proc.StatOf("/proc", pid); err == nil && s.Start == all[pid].Start && s.Session == all[pid].Session {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		_ = unix.Close(fd)
	}
}
