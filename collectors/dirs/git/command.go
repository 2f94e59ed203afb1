package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Program is the git that is run.
type Program struct {
	// Path is its name or path; "" is git.
	Path string
}

// maxOutput bounds what one run may print, in bytes.
const maxOutput = 256 << 20

// call is one run of git.
type call struct {
	dir   string
	env   []string
	args  []string
	stdin io.Reader
	// until ends each of the output's records.
	until byte
}

// quiet are the settings under which git runs nothing but itself, takes no lock and writes nothing. Those of a repository's
// configuration are not trusted.
var quiet = []string{
	"--no-optional-locks", "--no-pager", "--no-replace-objects",
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false",
}

// environment is this process's own without GIT_*, which could lead git to another repository, index or program, and with
// what keeps it from asking anybody, fetching anything or translating its messages. GIT_ALLOW_PROTOCOL names no transport that
// exists, so that a partial clone cannot run one to fetch what it lacks.
func environment(extra []string) []string {
	env := make([]string, 0, len(os.Environ())+len(extra)+8)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANGUAGE=") {
			env = append(env, kv)
		}
	}
	env = append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_LAZY_FETCH=1", "GIT_GRAFT_FILE=/dev/null/none")
	return append(env, extra...)
}

// run runs git and hands each record of its output to each, without the byte that ends it. What it printed on stderr is
// returned as well, cut short.
func (p Program) run(ctx context.Context, c call, each func(record []byte) error) (stderr string, err error) {
	name := p.Path
	if name == "" {
		name = "git"
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, append(append([]string{}, quiet...), c.args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, environment(c.env), c.stdin
	var complaint head
	cmd.Stderr = &complaint
	// A group of its own, so that what git may have started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	readErr := records(out, c.until, each)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	return complaint.String(), firstError(context.Cause(ctx), readErr, complaint.wrap(waitErr))
}

// firstError prefers the deadline, then what was read, then how git ended; the cancelling after a reading error does not count.
func firstError(cause, read, wait error) error {
	if read != nil {
		if errors.Is(cause, context.DeadlineExceeded) {
			return cause
		}
		return read
	}
	if cause != nil {
		return cause
	}
	return wait
}

// records cuts r into what ends with until. What is left at the end without it is an error: the output was cut off.
func records(r io.Reader, until byte, each func([]byte) error) error {
	limited := &io.LimitedReader{R: r, N: maxOutput}
	in := bufio.NewReaderSize(limited, 64<<10)
	for {
		record, err := in.ReadBytes(until)
		if errors.Is(err, io.EOF) {
			if limited.N == 0 {
				return fmt.Errorf("git printed more than %d bytes", maxOutput)
			}
			if len(record) > 0 {
				return errors.New("git's output was cut off")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(record[:len(record)-1]); err != nil {
			return err
		}
	}
}

// head keeps the start of what is written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	if room := 1024 - h.Len(); room > 0 {
		h.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// wrap adds the first line of what git said to how it ended.
func (h *head) wrap(err error) error {
	if err == nil {
		return nil
	}
	line, _, _ := strings.Cut(strings.TrimSpace(h.String()), "\n")
	if line == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, line)
}
