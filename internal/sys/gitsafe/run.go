package gitsafe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/winnow-reaper/winnow/internal/sys/limit"
)

// ErrAnswer says that git printed what was not asked for.
var ErrAnswer = errors.New("git's answer was not understood")

// IsOID says whether s is a whole object name, of SHA-1 or SHA-256.
func IsOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// IsZero reports whether an object name is that which stands for none.
func IsZero(oid string) bool { return strings.Trim(oid, "0") == "" }

// maxOutput bounds what one run may print, in bytes.
const maxOutput = 256 << 20

var errMuch = fmt.Errorf("git printed more than %d bytes", maxOutput)

// Call is one question to git.
type Call struct {
	Args  []string
	Stdin io.Reader
	// Until ends each of the output's records.
	Until byte
}

// command is git in a process group of its own, so that what it may have started ends with it.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = Environ(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	return cmd
}

// command is git in the sealed folder. What it prints on stderr goes to complaint.
func (s *Sandbox) command(ctx context.Context, stdin io.Reader, args []string) (cmd *exec.Cmd, complaint *limit.Writer) {
	complaint = &limit.Writer{Most: 1 << 10}
	cmd = command(ctx, s.program.name(), append([]string{"--no-optional-locks", "--no-pager", "--no-replace-objects"}, args...)...)
	if s.online {
		cmd.Env = slices.DeleteFunc(cmd.Env, ofNobody)
	}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = s.cwd, append(cmd.Env, s.env...), stdin, complaint, s.files
	return cmd, complaint
}

// Run asks git and hands each record of its output to each, without the byte that ends it. What it printed on stderr
// is returned as well, cut short. The error wraps ErrNoGit where git could not be started.
func (s *Sandbox) Run(ctx context.Context, c Call, each func(record []byte) error) (stderr string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, complaint := s.command(ctx, c.Stdin, c.Args)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", startError(err)
	}
	readErr := Records(out, c.Until, each)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	return complaint.String(), firstError(context.Cause(ctx), readErr, explain(waitErr, complaint))
}

// Output asks git and gives all that it printed. What it printed on stderr is part of the error.
func (s *Sandbox) Output(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	out := &limit.Writer{Most: maxOutput, Full: func() { end(errMuch) }}
	cmd, complaint := s.command(ctx, strings.NewReader(stdin), args)
	cmd.Stdout = out
	if err := cmd.Run(); err != nil || out.Truncated() {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return "", explain(startError(err), complaint)
	}
	return out.String(), nil
}

// firstError prefers the deadline, then what was read, then how git ended; the cancelling after a reading error does
// not count.
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

// Records cuts r into what ends with until. What is left at the end without it is an error: the output was cut off.
func Records(r io.Reader, until byte, each func([]byte) error) error {
	limited := &io.LimitedReader{R: r, N: maxOutput}
	in := bufio.NewReaderSize(limited, 64<<10)
	for {
		record, err := in.ReadBytes(until)
		if errors.Is(err, io.EOF) {
			if limited.N == 0 {
				return errMuch
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

// explain adds the first line of git's complaint to how it ended.
func explain(err error, complaint *limit.Writer) error {
	if err == nil {
		return nil
	}
	line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
	if line == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, line)
}
