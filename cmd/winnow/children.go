package main

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// endChildren kills the processes that this one started, and what those started, as long as they are in its session: a tmux
// server that a restore started has left it, and is to outlive the program. It is for a program that ends at once; whoever ends in
// order has waited for them.
func endChildren() {
	self := os.Getpid()
	all := kinships()
	family := map[int]bool{self: true}
	for grown := true; grown; {
		grown = false
		for pid, k := range all {
			if !family[pid] && family[k.parent] && k.session == all[self].session {
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
		if k, ok := kinshipOf(pid); ok && k.start == all[pid].start && k.session == all[pid].session {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		_ = unix.Close(fd)
	}
}

// kinship is where a process comes from. Starts are in clock ticks since the boot.
type kinship struct {
	parent, session int
	start           string
}

func kinships() map[int]kinship {
	out := map[int]kinship{}
	dir, err := os.Open("/proc")
	if err != nil {
		return out
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if k, ok := kinshipOf(pid); ok {
				out[pid] = k
			}
		}
	}
	return out
}

// kinshipOf reads /proc/pid/stat: behind the name, which ends with the last bracket, the fields are the state, the parent, the group,
// the session, and as the 20th the start (proc_pid_stat(5)).
func kinshipOf(pid int) (kinship, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return kinship{}, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return kinship{}, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	session, err2 := strconv.Atoi(string(fields[3]))
	return kinship{parent, session, string(fields[19])}, err1 == nil && err2 == nil
}
