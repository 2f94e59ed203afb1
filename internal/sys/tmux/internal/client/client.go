// Package client runs the tmux program on one socket. Only the packages of internal/sys/tmux can import it: what runs any command could change
// anything.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/limit"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
)

const (
	// waitDelay is how long a program's output may be open after its end. The server has it too (tmux client.c, MSG_IDENTIFY_STDOUT), and closes it when it
	// takes note that the client is gone, which takes some time on a busy machine.
	waitDelay = 5 * time.Second
	// maxPath is the longest path that tmux and the kernel take for a socket, in bytes (sun_path without its NUL).
	maxPath = 107
	// MaxAnswer and maxComplaint bound what is read of the program's two outputs, in bytes. A pane takes some 100 bytes.
	MaxAnswer    = 16 << 20
	maxComplaint = 4 << 10
)

// ErrNoServer says that no server listens on a socket: by the kernel's word, or by tmux's where the server ended after that was asked.
// ErrDenied says that the kernel or the server does not let this user in, and ErrAnswer that it answers without end.
var (
	ErrNoServer = errors.New("no server listens there")
	ErrDenied   = errors.New("access is denied")
	ErrAnswer   = fmt.Errorf("the answer is longer than the %d MiB that winnow reads", MaxAnswer>>20)
)

// Server is the tmux server on one socket. Nothing here starts one, but for Start.
type Server struct {
	// Program is tmux's program, a path or a name that is looked up in PATH; Socket is the path of the socket.
	Program, Socket string
	// Within is how long the server may take to answer one chain of commands; 0 is as long as the context lasts. A stopped one never answers.
	Within time.Duration
}

// Quiet is the environment of a client that starts nothing: a client hands its own to the server, and TMUX would make it think that it is
// nested.
var Quiet = []string{"LC_ALL=C.UTF-8"}

// Hold holds the socket once it is sure, by the kernel's word, that a server of this user listens on it, and gives that server's pid as
// this pid namespace counts it, 0 for one outside. A tmux client does what its server says, and would run programs for another user's: so
// this comes before every client, and the client is given what is held (peercred.Inherited) and not the path. Nothing can take its place then,
// also when another user can write the folders that lead to it.
func (s Server) Hold(ctx context.Context) (*peercred.Socket, int, error) {
	if len(s.Socket) > maxPath {
		return nil, 0, fmt.Errorf("connect to %s: its path is longer than the %d bytes that the kernel takes", s.Socket, maxPath)
	}
	held, err := peercred.Hold(s.Socket)
	if err != nil {
		return nil, 0, s.unreached(err)
	}
	conn, pid, err := held.Dial(ctx)
	if err != nil {
		_ = held.Close()
		return nil, 0, s.unreached(err)
	}
	return held, pid, conn.Close()
}

func (s Server) unreached(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("connect to %s: no such socket: %w", s.Socket, ErrNoServer)
	case errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, peercred.ErrNotSocket):
		return fmt.Errorf("connect to %s: %w", s.Socket, ErrNoServer)
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		return fmt.Errorf("connect to %s: %w", s.Socket, ErrDenied)
	}
	return fmt.Errorf("connect to %s: %w", s.Socket, err)
}

// Run runs one chain of commands and gives what it printed. With an error it is not known how far the chain came.
func (s Server) Run(ctx context.Context, env []string, args ...string) (string, error) {
	out, _, err := s.Ask(ctx, env, args...)
	return out, err
}

// Ask is Run with the pid of who listens, as of Hold.
func (s Server) Ask(ctx context.Context, env []string, args ...string) (out string, listener int, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	head := &limit.Writer{Most: MaxAnswer, Full: func() { end(ErrAnswer) }}
	listener, err = s.Stream(ctx, head, env, args...)
	return head.String(), listener, err
}

// Stream is Ask with what is printed written to out.
func (s Server) Stream(ctx context.Context, out io.Writer, env []string, args ...string) (listener int, err error) {
	ctx, cancel := s.Bounded(ctx)
	defer cancel()
	held, listener, err := s.Hold(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = held.Close() }()
	return listener, s.run(ctx, held, out, env, args)
}

// Start is Run for a command that starts a server if none runs. The client makes the socket then, and nothing can be held: the
// caller makes sure that no other user could put one there first.
func (s Server) Start(ctx context.Context, env []string, args ...string) (string, error) {
	ctx, cancel := s.Bounded(ctx)
	defer cancel()
	out := &limit.Writer{Most: MaxAnswer, Full: cancel}
	err := s.run(ctx, nil, out, env, args)
	return out.String(), err
}

func (s Server) run(ctx context.Context, held *peercred.Socket, out io.Writer, env, args []string) error {
	cmd, complaint := s.Command(ctx, held, env, args)
	cmd.Stdout = out
	return s.Verdict(ctx, cmd.Run(), complaint)
}

// Bounded is ctx with an end after Within.
func (s Server) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.Within == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.Within)
}

// Command is a client that connects to the held socket, or to the path where nothing is held, and what it complains of.
func (s Server) Command(ctx context.Context, held *peercred.Socket, env, args []string) (*exec.Cmd, *limit.Writer) {
	path, complaint := s.Socket, &limit.Writer{Most: maxComplaint}
	if held != nil {
		path = peercred.Inherited
	}
	cmd := exec.CommandContext(ctx, s.Program, append([]string{"-u", "-S", path}, args...)...)
	cmd.Env, cmd.Stderr, cmd.WaitDelay = env, complaint, waitDelay
	if held != nil {
		cmd.ExtraFiles = []*os.File{held.File()}
		// A group of its own, so that what goes by the name of tmux here ends with all that it started. A server that Start starts is spared.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
	return cmd, complaint
}

// Verdict says what became of a client that ended with err.
func (s Server) Verdict(ctx context.Context, err error, complaint *limit.Writer) error {
	said, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(complaint.String(), peercred.Inherited, s.Socket)), "\n")
	said = said[:min(len(said), 200)]
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the tmux server on %s did not answer: %w", s.Socket, context.Cause(ctx))
	case strings.HasPrefix(said, "access not allowed"): // it comes with exit code 0 and nothing printed
		return fmt.Errorf("the tmux server on %s: %s: %w", s.Socket, said, ErrDenied)
	case strings.HasPrefix(said, "no server running"): // it ended since the socket was tried
		return fmt.Errorf("the tmux server on %s: %s: %w", s.Socket, said, ErrNoServer)
	case err != nil && said != "":
		return fmt.Errorf("the tmux server on %s: %w: %q", s.Socket, err, said)
	case err != nil:
		return fmt.Errorf("the tmux server on %s: %w", s.Socket, err)
	case said != "":
		return fmt.Errorf("the tmux server on %s: %q", s.Socket, said)
	}
	return nil
}
