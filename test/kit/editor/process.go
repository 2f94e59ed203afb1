package editor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/procs"
)

// child is a process that leads a session of its own on a terminal of its own, whose other side we hold.
type child struct {
	cmd    *exec.Cmd
	ticks  uint64
	master *os.File
	done   chan struct{} // closed when the process has been reaped
	out    procs.Tail

	reap sync.Mutex // held while it is reaped: until then its number cannot become another's
}

func spawn(argv []string, dir string, env []string) (*child, error) {
	master, slave, err := procs.Terminal()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer slave.Close()
	c := &child{master: master, done: make(chan struct{})}
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Dir, c.cmd.Env = dir, env
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		_ = master.Close()
		return nil, fmt.Errorf("start a tab's process: %w", err)
	}
	_, c.ticks, err = startOf(c.pid()) // it is not reaped yet, so it is there
	go c.out.Drain(master)
	go c.wait()
	return c, err
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) wait() {
	for unix.Waitid(unix.P_PID, c.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	c.reap.Lock()
	_ = c.cmd.Wait()
	close(c.done)
	c.reap.Unlock()
}

// hangUp closes the terminal and hangs up, as node-pty does when a terminal is disposed of.
func (c *child) hangUp() {
	c.reap.Lock()
	select {
	case <-c.done:
	default:
		_ = unix.Kill(c.pid(), unix.SIGHUP)
	}
	c.reap.Unlock()
	_ = c.master.Close()
}

// startOf gives the name of a process and when it began, in clock ticks since boot (field 22 of stat).
func startOf(pid int) (name string, ticks uint64, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, err
	}
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return "", 0, fmt.Errorf("stat of %d has no name", pid)
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("stat of %d is cut short", pid)
	}
	ticks, err = strconv.ParseUint(fields[19], 10, 64)
	return string(text[open+1 : end]), ticks, err
}
