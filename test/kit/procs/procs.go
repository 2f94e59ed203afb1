// Package procs is what tests and the servers for tests need of processes: who lives in which session, terminals, and the end of what was
// started. Nothing but tests imports it.
package procs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// Process is a line of /proc/PID/stat.
type Process struct {
	PID, Parent, Group, Session, TTY, Foreground int
	Name                                         string
	State                                        byte
}

// Read reads one; a missing process is an error.
func Read(pid int) (Process, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Process{}, fmt.Errorf("stat of %d has no name", pid)
	}
	p := Process{PID: pid, Name: string(text[open+1 : end])}
	_, err = fmt.Sscanf(string(text[end+1:]), " %c %d %d %d %d %d", &p.State, &p.Parent, &p.Group, &p.Session, &p.TTY, &p.Foreground)
	return p, err
}

// ended reports whether the process waits only for its parent to take note.
func (p Process) ended() bool { return p.State == 'Z' || p.State == 'X' }

// Lives reports whether a process runs. A zombie does not.
func Lives(pid int) bool {
	p, err := Read(pid)
	return err == nil && !p.ended()
}

// Name is the name (comm) of a process, "" if it is missing.
func Name(pid int) string {
	p, _ := Read(pid)
	return p.Name
}

// State is the letter of what a process does, such as 'S' or 'R', 0 if it is missing.
func State(pid int) byte {
	p, _ := Read(pid)
	return p.State
}

// All lists the living, by their pids in ascending order. One that ends meanwhile is left out.
func All() (out []Process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := Read(pid); err == nil && !p.ended() {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Process) int { return a.PID - b.PID })
	return out
}

// Session lists the living of the session that leader leads or led.
func Session(leader int) []Process {
	return slices.DeleteFunc(All(), func(p Process) bool { return p.Session != leader })
}

// SessionPIDs is Session, by the pids.
func SessionPIDs(leader int) (pids []int) {
	for _, p := range Session(leader) {
		pids = append(pids, p.PID)
	}
	return pids
}

// Argv is a process's command line, nil where it has none.
func Argv(pid int) []string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(line) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// SignalMarked signals a process if the environment that it was started with has mark, such as "NAME=value", and reports whether it
// did. A pidfd is held meanwhile, so that what is signalled is what was read.
func SignalMarked(pid int, mark string, signal unix.Signal) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || !bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00")) {
		return false
	}
	return unix.PidfdSendSignal(fd, signal, nil, 0) == nil
}

// EndMarked kills every process whose environment has mark, until all have ended.
func EndMarked(mark string) error {
	if wait.Until(wait.Patience, func() bool {
		left := false
		for _, p := range All() {
			left = SignalMarked(p.PID, mark, unix.SIGKILL) || left
		}
		return !left
	}) {
		return nil
	}
	return errors.New("end processes: some outlive SIGKILL; look for " + mark + " in /proc/PID/environ")
}

// The size of every terminal, in characters.
const Columns, Rows = 80, 24

// Terminal makes a terminal: what is written to master is typed there. Closing master ends a read of it.
func Terminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = errors.Join(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: Rows, Col: Columns}))
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// TerminalOf is Terminal for a test. It skips the test where no terminal can be opened.
func TerminalOf(t testing.TB) (master, slave *os.File) {
	t.Helper()
	master, slave, err := Terminal()
	if err != nil {
		t.Skipf("needs a terminal: %v", err)
	}
	return master, slave
}

// keep is how much of a terminal's output a Tail remembers, in bytes.
const keep = 64 << 10

// Tail is the end of what a terminal printed.
type Tail struct {
	mu   sync.Mutex
	text []byte
	last time.Time
}

// Drain reads what the terminal prints until master is closed: a full one would stop its programs.
func (t *Tail) Drain(master *os.File) {
	buf := make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		if n > 0 {
			t.mu.Lock()
			t.text = append(t.text, buf[:n]...)
			t.text = slices.Clone(t.text[max(0, len(t.text)-keep):])
			t.last = time.Now()
			t.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// Text is what was printed, with plain newlines, and when the last of it was.
func (t *Tail) Text() (text string, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ReplaceAll(string(t.text), "\r\n", "\n"), t.last
}
