package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/policy"
)

// ServeArgument is the one argument of a program that is to be the process that judges apart: it calls Serve and nothing else.
const ServeArgument = "judge-policies-apart"

// Program is how the process that judges apart is started.
type Program struct {
	// Path is the program's file. Args are its name and its arguments.
	Path string
	Args []string
}

// Self is this program itself, the very file that runs now even where another one has taken its place by now.
func Self() Program {
	return Program{Path: "/proc/self/exe", Args: []string{os.Args[0], ServeArgument}}
}

// child is the outer end of the pipe to a process that judges apart.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	errors *head
	once   sync.Once
}

// begin starts the process. It has no environment, stands in no folder of anybody's, has no open file but its pipes, and is in a
// process group of its own: a signal from the terminal is for this program, which ends it then.
func begin(p Program) (*child, error) {
	if len(os.Args) > 1 && os.Args[1] == ServeArgument { // a program that does not heed its argument would start itself for ever
		return nil, errors.New("start the process that evaluates policies: this is that process, and it starts no other")
	}
	c := &child{errors: &head{}}
	c.cmd = &exec.Cmd{
		Path: p.Path, Args: p.Args, Dir: "/", Env: []string{"GOTRACEBACK=none"}, Stderr: c.errors,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, WaitDelay: time.Second,
	}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the process that evaluates policies: %w", err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the process that evaluates policies: %w", err)
	}
	if err := startWithout(c.cmd); err != nil {
		return nil, fmt.Errorf("start the process that evaluates policies: %w", err)
	}
	c.in, c.out = in, bufio.NewScanner(out)
	c.out.Buffer(make([]byte, 0, 1<<16), maxLine)
	return c, nil
}

// startWithout starts a program that can never get privileges that this one does not have, as a file that is set-user-ID would give
// it. That is a property of the thread that forks, for good: one is made for it, and ends with its goroutine.
func startWithout(cmd *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = cmd.Start()
		}
		done <- err
	}()
	return <-done
}

// kill ends the process at once.
func (c *child) kill() { _ = c.cmd.Process.Kill() }

// end ends the process, if it has not ended, and waits for it. It gives how it ended, or err where that says nothing.
func (c *child) end(err error) error {
	c.once.Do(func() {
		_ = c.in.Close()
		c.kill()
		_ = c.cmd.Wait()
	})
	text := c.errors.String()
	for _, sign := range []string{"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread"} {
		if strings.Contains(text, sign) { // what the Go runtime says at the wall
			return errWall
		}
	}
	if strings.Contains(text, "stack exceeds") {
		return fmt.Errorf("%w: it is nested too deep", errEnded)
	}
	if errors.Is(err, errEnded) {
		return fmt.Errorf("%w (%v%s)", err, c.cmd.ProcessState, lastWords(text))
	}
	return err
}

// lastWords is what the Go runtime says of the end of a program; it says nothing of a policy.
func lastWords(text string) string {
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "fatal error: ") && len(line) < maxHead/2 {
			return ", " + strings.TrimSpace(line)
		}
	}
	return ""
}

// peak is the most memory that the process had, in bytes; 0 while it runs.
func (c *child) peak() int64 {
	if c.cmd.ProcessState == nil {
		return 0
	}
	used, ok := c.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return used.Maxrss << 10
}

// why says why the process did not answer to the end.
func (c *child) why(err error) error {
	if errors.Is(err, policy.ErrTooMuch) || errors.Is(err, errWire) {
		_ = c.end(nil)
		return err
	}
	return c.end(errEnded)
}

// glance is how often a guard looks at the process.
const glance = 20 * time.Millisecond

// patience is by how many times longer than it may work the process may take by the clock on the wall until it is heard of again: a machine that is so busy
// that it gives it less than that has other worries.
const patience = 30

// guard watches the process while it is asked something. heard says that it was heard of; stop ends the watch, and gives why the
// process was ended if it was.
func (c *child) guard(ctx context.Context, within time.Duration) (heard func(), stop func() error) {
	var last, at atomic.Int64 // the processor time at which it was last heard of, and the time since the beginning
	last.Store(int64(c.worked()))
	began := time.Now()
	over, gone := make(chan struct{}), make(chan error, 1)
	go func() {
		ticker := time.NewTicker(glance)
		defer ticker.Stop()
		for {
			var why error
			select {
			case <-over:
				gone <- nil
				return
			case <-ctx.Done():
				why = ctx.Err()
			case <-ticker.C:
				if c.worked()-time.Duration(last.Load()) > within || time.Since(began)-time.Duration(at.Load()) > patience*within {
					why = errStuck
				}
			}
			if why != nil {
				c.kill()
				gone <- why
				return
			}
		}
	}()
	heard = func() {
		last.Store(int64(c.worked()))
		at.Store(int64(time.Since(began)))
	}
	return heard, func() error { close(over); return <-gone }
}

// worked is how long the processors have worked for the process, and 0 when it is gone.
func (c *child) worked() time.Duration {
	// The clock of another process, as clock_getcpuclockid(3) makes it: CPUCLOCK_SCHED (2) of the inverted pid.
	clock := int32(^c.cmd.Process.Pid)<<3 | 2
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// head keeps the beginning of what the process wrote to its standard error: the first line says what happened.
type head struct {
	mu   sync.Mutex
	text []byte
}

const maxHead = 4096

func (t *head) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), maxHead-len(t.text))]...)
	return len(p), nil
}

func (t *head) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
