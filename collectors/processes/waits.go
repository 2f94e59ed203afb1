package processes

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// The bits of signals in the masks of proc_pid_status(5).
const (
	hangup = 1 << (int(unix.SIGHUP) - 1)
	alarm  = 1 << (int(unix.SIGALRM) - 1)
)

// signals is a mask of signals in the status of a pinned process.
func (s *scan) signals(dir int, mask string) (uint64, error) {
	text, err := proc.Read(dir, "status", s.Environ, proc.MaxEnviron)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(proc.Word(text, mask), 16, 64)
}

// waits is whether a pinned process does nothing before something comes from outside, see snapshot.Process. What it has open was read.
func (s *scan) waits(dir int, st proc.Stat, p *speaker) *bool {
	timers, err := proc.ReadOnce(dir, "timers", s.Text)
	timed := len(timers) > 0
	caught, unread := s.signals(dir, "SigCgt")
	tasks, unlisted := proc.List(dir, "task", s.Environ)
	switch {
	case p.woken, timed, caught&alarm != 0, st.State != 'S', p.nohup, s.shell(st, &p.Process) != "":
		return new(false)
	case errors.Join(err, unread, unlisted) != nil, !p.known, !p.nohupKnown:
		return nil
	}
	for _, task := range tasks {
		call, err := proc.ReadOnce(dir, "task/"+strconv.Itoa(task)+"/syscall", s.Text)
		if err != nil {
			return nil
		}
		if !endless(strings.Fields(string(call))) {
			return new(false)
		}
	}
	return new(len(tasks) > 0)
}

// timeouts have, of each call in which a thread waits for what comes at a descriptor, the place of its timeout and the end of one that never comes. Two
// calls have no name on other processors than x86: epoll_wait (232) and poll (7).
var timeouts = map[string]struct {
	at    int
	never string
}{
	"232": {4, "ffffffff"}, "7": {3, "ffffffff"}, strconv.Itoa(unix.SYS_EPOLL_PWAIT): {4, "ffffffff"},
	strconv.Itoa(unix.SYS_EPOLL_PWAIT2): {4, "0x0"}, strconv.Itoa(unix.SYS_PPOLL): {3, "0x0"},
}

// endless reports whether a call, its number with its arguments, returns no sooner than something comes: at a descriptor, or from another thread of the
// same process, since no other one wakes a private futex (futex(2): FUTEX_WAIT and FUTEX_WAIT_BITSET).
func endless(call []string) bool {
	const wait, waitBitset, private, realtime = 0, 9, 128, 256
	if len(call) < 7 { // it runs
		return false
	}
	if timeout, ok := timeouts[call[0]]; ok {
		return strings.HasSuffix(call[timeout.at], timeout.never)
	}
	op, err := strconv.ParseUint(call[2], 0, 64)
	op &^= realtime
	return err == nil && call[0] == strconv.Itoa(unix.SYS_FUTEX) && call[4] == "0x0" && (op == wait|private || op == waitBitset|private)
}
