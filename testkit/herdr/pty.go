package herdr

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keep is how much of a pane's output is remembered, in bytes.
const keep = 64 << 10

// child is a process that leads a session of its own on a terminal of its own, whose other side we hold.
type child struct {
	cmd    *exec.Cmd
	master *os.File
	tty    string
	done   chan struct{} // closed when the process has been reaped

	reap sync.Mutex // held while its session is ended: until it is reaped, its number cannot become another session's

	out  sync.Mutex
	tail []byte
}

// spawn starts argv so that it is what a terminal's shell is: session leader, group leader, in front of its terminal.
func spawn(argv []string, dir string, env []string) (*child, error) {
	master, tty, err := openTerminal()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	slave, err := os.OpenFile(tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		master.Close()
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer slave.Close()
	c := &child{master: master, tty: tty, done: make(chan struct{})}
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Dir, c.cmd.Env = dir, env
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		master.Close()
		return nil, fmt.Errorf("start a pane's process: %w", err)
	}
	go c.drain()
	go c.wait()
	return c, nil
}

func openTerminal() (*os.File, string, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		unix.Close(fd)
		return nil, "", err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		unix.Close(fd)
		return nil, "", err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		unix.Close(fd)
		return nil, "", err
	}
	// A file that does not block is read through the poller, so that closing it ends a read.
	return os.NewFile(uintptr(fd), "/dev/ptmx"), "/dev/pts/" + strconv.Itoa(n), nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// drain reads what the pane prints, for a full terminal would stop its programs, and remembers the end of it.
func (c *child) drain() {
	buf := make([]byte, 4096)
	for {
		n, err := c.master.Read(buf)
		c.out.Lock()
		c.tail = append(c.tail, buf[:n]...)
		if extra := len(c.tail) - keep; extra > 0 {
			c.tail = append([]byte{}, c.tail[extra:]...)
		}
		c.out.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *child) text() string {
	c.out.Lock()
	defer c.out.Unlock()
	return string(c.tail)
}

// wait reaps the process when it has ended and nobody is just ending its session.
func (c *child) wait() {
	for {
		err := unix.Waitid(unix.P_PID, c.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	c.reap.Lock()
	_ = c.cmd.Wait()
	c.reap.Unlock()
	close(c.done)
}

func (c *child) exited() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// patience is how long herdr waits after each signal to a session.
const patience = 250 * time.Millisecond

// end ends the child's whole session as a close does: a hangup, a request, a kill, and a wait after each while anything is left.
// What has made itself a session of its own is not in it.
func (c *child) end() { c.signalAll(unix.SIGHUP, unix.SIGTERM, unix.SIGKILL) }

// kill ends it without asking.
func (c *child) kill() { c.signalAll(unix.SIGKILL) }

func (c *child) signalAll(signals ...unix.Signal) {
	c.reap.Lock()
	if !c.exited() {
		for _, signal := range signals {
			if c.signal(signal) {
				break
			}
		}
	}
	c.reap.Unlock()
	select {
	case <-c.done:
	case <-time.After(patience):
	}
	c.master.Close()
}

// signal signals all that live in the session, and says whether they are gone within the time that herdr gives them.
func (c *child) signal(signal unix.Signal) bool {
	for _, p := range members(c.pid()) {
		_ = unix.Kill(p.pid, signal)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if len(members(c.pid())) == 0 {
			return true
		}
	}
	return false
}
