package stop

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

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
