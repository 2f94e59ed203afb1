package herdr

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"

	"golang.org/x/sys/unix"
)

// child is a process that leads a session of its own on a terminal of its own, whose other side we hold.
type child struct {
	cmd    *exec.Cmd
	master *os.File
	tty    string
	done   chan struct{} // closed when the process has been reaped

	reap sync.Mutex // held while its session is ended: until it is reaped, its number cannot become another session's

	out procs.Tail
}

// spawn starts argv so that it is what a terminal's shell is: session leader, group leader, in front of its terminal.
func spawn(argv []string, dir string, env []string) (*child, error) {
	master, slave, err := procs.Terminal()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer slave.Close()
	c := &child{master: master, tty: slave.Name(), done: make(chan struct{})}
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Dir, c.cmd.Env = dir, env
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		master.Close()
		return nil, fmt.Errorf("start a pane's process: %w", err)
	}
	go c.out.Drain(master)
	go c.wait()
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// wait reaps the process when it has ended and its session is not just being ended.
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
	for _, p := range procs.Session(c.pid()) {
		_ = unix.Kill(p.PID, signal)
	}
	return wait.Until(patience, func() bool { return len(procs.Session(c.pid())) == 0 })
}
