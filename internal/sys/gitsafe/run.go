package gitsafe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// ErrAnswer says that git printed what was not asked for.
var ErrAnswer = errors.New("git's answer was not understood")

// IsOID says whether s is a whole object name, of SHA-1 or SHA-256.
func IsOID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// IsZero reports whether an object name is that which stands for none.
func IsZero(oid string) bool { return strings.Trim(oid, "0") == "" }

// maxOutput bounds what one run may print, in bytes.
const maxOutput = 256 << 20

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
func (s *Sandbox) command(ctx context.Context, stdin io.Reader, args []string) (cmd *exec.Cmd, complaint *head) {
	complaint = &head{}
	cmd = command(ctx, s.program.name(), append([]string{"--no-optional-locks", "--no-pager", "--no-replace-objects"}, args...)...)
	if s.online {
		cmd.Env = slices.DeleteFunc(cmd.Env, ofNobody)
	}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = s.cwd, append(cmd.Env, s.env...), stdin, complaint, s.files
	return cmd, complaint
}

// Run asks git and hands each record of its output to each, without the byte that ends it. What it printed on stderr is returned as
// well, cut short. The error wraps ErrNoGit where git could not be started.
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
	return complaint.String(), firstError(context.Cause(ctx), readErr, complaint.wrap(waitErr))
}

// Output asks git and gives all that it printed. What it printed on stderr is part of the error.
func (s *Sandbox) Output(ctx context.Context, stdin string, args ...string) (string, error) {
	var out strings.Builder
	cmd, complaint := s.command(ctx, strings.NewReader(stdin), args)
	cmd.Stdout = &bounded{to: &out, left: maxOutput}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return "", complaint.wrap(startError(err))
	}
	return out.String(), nil
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

// Records cuts r into what ends with until. What is left at the end without it is an error: the output was cut off.
func Records(r io.Reader, until byte, each func([]byte) error) error {
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

// bounded refuses to write more than it has left.
type bounded struct {
	to   io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("git printed more than %d bytes", maxOutput)
	}
	return b.to.Write(p)
}

// head keeps the start of what is written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	if room := 1024 - h.Len(); room > 0 {
		h.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// wrap adds the first line of git's error output to how it ended.
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
