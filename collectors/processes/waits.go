package processes

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// alarm is SIGALRM in the masks of proc_pid_status(5).
const alarm = 1 << (int(unix.SIGALRM) - 1)

// waits is whether a pinned process does nothing before something comes from outside, see snapshot.Process. What it has open was read.
func (s *scan) waits(dir int, st proc.Stat, p *speaker) *bool {
	if p.woken || st.State != 'S' || p.nohup || s.shell(st, &p.Process) != "" {
		return new(false)
	}
	timers, err := proc.ReadOnce(dir, "timers", s.Text)
	if err != nil || !p.known || !p.nohupKnown {
		return nil
	}
	if len(timers) > 0 {
		return new(false)
	}
	status, err := proc.Read(dir, "status", s.Environ, proc.MaxEnviron)
	if err != nil {
		return nil
	}
	if caught, err := strconv.ParseUint(proc.Word(status, "SigCgt"), 16, 64); err != nil || caught&alarm != 0 {
		return new(false)
	}
	tasks, numbers, err := proc.OpenList(dir, "task", s.Environ)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(tasks) }()
	for _, n := range numbers {
		call, err := proc.ReadOnce(tasks, strconv.Itoa(n)+"/syscall", s.Text)
		if err != nil {
			return nil
		}
		if !endless(strings.Fields(string(call))) {
			return new(false)
		}
	}
	return new(len(numbers) > 0)
}

// The numbers of calls that other processors than x86 do not have.
const epollWait, poll = "232", "7"

// endless reports whether a call, by its number and arguments, returns no sooner than something comes: at a descriptor, or from another thread of the
// same process, since no other one wakes a private futex.
func endless(call []string) bool {
	const none, minusOne = "0x0", "ffffffff"
	is := func(number int) bool { return call[0] == strconv.Itoa(number) }
	switch {
	case len(call) < 7: // it runs
		return false
	case call[0] == epollWait, is(unix.SYS_EPOLL_PWAIT):
		return strings.HasSuffix(call[4], minusOne)
	case call[0] == poll:
		return strings.HasSuffix(call[3], minusOne)
	case is(unix.SYS_PPOLL):
		return call[3] == none
	case is(unix.SYS_EPOLL_PWAIT2):
		return call[4] == none
	}
	const wait, waitBitset, private, realtime = 0, 9, 128, 256
	op, err := strconv.ParseUint(call[2], 0, 64)
	return err == nil && is(unix.SYS_FUTEX) && call[4] == none && op&private != 0 && slices.Contains([]uint64{wait, waitBitset}, op&^(private|realtime))
}
