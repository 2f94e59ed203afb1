package tower

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// waitFor waits until something is so, for ten seconds at most, and says whether it was.
func waitFor(so func() bool) bool {
	for deadline := time.Now().Add(10 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// process is a line of /proc/PID/stat.
type process struct {
	pid, ppid int
	zombie    bool
}

func readProcess(pid int) (process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	p := process{pid: pid}
	var state string
	_, err = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &p.ppid)
	p.zombie = state == "Z" || state == "X"
	return p, err
}

// processes lists the living; one that goes meanwhile is left out.
func processes() (out []process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil && !p.zombie {
			out = append(out, p)
		}
	}
	return out
}

func living(pid int) bool {
	p, err := readProcess(pid)
	return err == nil && !p.zombie
}

func commandLine(pid int) []string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(line) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// startMs is when a process began as Codev tells it: the change time of its folder in /proc, in ms since 1970. 0 when there is none.
func startMs(pid int) int64 {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d", pid), &st) != nil {
		return 0
	}
	return st.Ctim.Nano() / 1e6
}

// rssKb is how much memory a process holds, in KiB.
func rssKb(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, pages int
	_, _ = fmt.Sscan(string(text), &size, &pages)
	return pages * os.Getpagesize() / 1024
}

// endMarked kills every process that carries this setting in the environment that it was started with. A pidfd is held meanwhile, so that
// what is killed is what was read.
func endMarked(mark string) error {
	left := func() bool {
		found := false
		for _, p := range processes() {
			found = signalMarked(p.pid, mark, unix.SIGKILL) || found
		}
		return found
	}
	if !waitFor(func() bool { return !left() }) {
		return errors.New("end the terminals' processes: some outlive SIGKILL; look for " + mark + " in /proc/PID/environ")
	}
	return nil
}

// signalMarked signals a process if it carries the mark, and says whether it did.
func signalMarked(pid int, mark string, signal unix.Signal) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || !bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00")) {
		return false
	}
	return unix.PidfdSendSignal(fd, signal, nil, 0) == nil
}
