package herdr

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is a line of /proc/PID/stat.
type process struct {
	pid, ppid, pgrp, session, tpgid int
	name                            string
	zombie                          bool
}

func readProcess(pid int) (process, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return process{}, fmt.Errorf("stat of %d has no name", pid)
	}
	p := process{pid: pid, name: string(text[open+1 : end])}
	var state string
	var tty int
	_, err = fmt.Sscan(string(text[end+1:]), &state, &p.ppid, &p.pgrp, &p.session, &tty, &p.tpgid)
	p.zombie = state == "Z" || state == "X"
	return p, err
}

// processes lists all, in ascending order of their pids; one that goes meanwhile is left out.
func processes() (out []process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b process) int { return a.pid - b.pid })
	return out
}

// members lists the living of a session.
func members(session int) (out []process) {
	for _, p := range processes() {
		if p.session == session && !p.zombie {
			out = append(out, p)
		}
	}
	return out
}

// foreground reads what herdr reads for a pane: the group in front of the shell's terminal, and of its members those that descend from
// the shell or from the group's leader.
func foreground(shell int) Info {
	info := Info{ShellPID: shell}
	st, err := readProcess(shell)
	if err != nil || st.tpgid <= 0 {
		return info
	}
	info.ForegroundPGID = st.tpgid
	all := processes()
	parents := map[int]int{}
	for _, p := range all {
		parents[p.pid] = p.ppid
	}
	for _, p := range all {
		if p.pgrp == st.tpgid && (descends(parents, p.pid, shell) || descends(parents, p.pid, st.tpgid)) {
			info.Foreground = append(info.Foreground, describe(p))
		}
	}
	return info
}

func descends(parents map[int]int, pid, root int) bool {
	for range len(parents) {
		if pid == root {
			return true
		}
		up, ok := parents[pid]
		if !ok {
			return false
		}
		pid = up
	}
	return false
}

func describe(p process) Proc {
	out := Proc{PID: p.pid, Name: p.name}
	dir := "/proc/" + strconv.Itoa(p.pid)
	if text, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && len(text) > 0 {
		// herdr leaves empty arguments out, and puts a mark for what is no text (process_argv in src/platform/linux.rs).
		for part := range strings.SplitSeq(string(text), "\x00") {
			if part != "" {
				out.Argv = append(out.Argv, strings.ToValidUTF8(part, "\ufffd"))
			}
		}
	}
	out.Dir, _ = os.Readlink(filepath.Join(dir, "cwd"))
	return out
}

// endMarked kills every process that carries this setting in the environment it was started with. A pidfd is held meanwhile, so that
// what is killed is what was read.
func endMarked(mark string) error {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		left := 0
		for _, p := range processes() {
			if !p.zombie && killMarked(p.pid, mark) {
				left++
			}
		}
		if left == 0 {
			return nil
		}
	}
	return errors.New("end the panes' processes: some outlive SIGKILL; look for " + mark + " in /proc/PID/environ")
}

func killMarked(pid int, mark string) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || !bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00")) {
		return false
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}
