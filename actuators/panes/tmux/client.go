package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/internal/peer"
)

const (
	// answerWithin is how long a server may take to answer one command: a stopped one never does.
	answerWithin = 10 * time.Second
	// waitDelay is how long a program that was told to end may hold its output open.
	waitDelay = 100 * time.Millisecond
	// maxAnswer and maxComplaint bound what is read of a client's two outputs, in bytes.
	maxAnswer    = 16 << 20
	maxComplaint = 4 << 10
)

var errAnswer = fmt.Errorf("the answer is longer than the %d MiB that are read", maxAnswer>>20)

// errNoServer says that the kernel knows of nobody who listens on a socket.
var errNoServer = errors.New("no server listens there")

// client asks the server on one socket. None of what it is used for starts a server, but for new-session in a restore.
type client struct{ tmux, socket string }

// reach tells whether somebody listens on the socket, by the kernel's word and not by tmux's, and refuses who is not this user.
func (c client) reach(ctx context.Context) error {
	s, err := c.hold(ctx)
	if err == nil {
		err = s.Close()
	}
	return err
}

// hold holds the socket once it is sure that a server of this user listens on it. A tmux client does what its server says, and
// would run programs for another's: so this comes before every client, and the client is given what is held (peer.Inherited) and
// not the path. Nothing can take its place then, whoever can write the folders that lead to it.
func (c client) hold(ctx context.Context) (*peer.Socket, error) {
	s, err := peer.Hold(c.socket)
	if err != nil {
		return nil, c.unreached(err)
	}
	conn, _, err := s.Dial(ctx)
	if err != nil {
		_ = s.Close()
		return nil, c.unreached(err)
	}
	return s, conn.Close()
}

func (c client) unreached(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, peer.ErrNotSocket):
		return fmt.Errorf("connect to %s: %w", c.socket, errNoServer)
	case peer.Refused(err):
		return actuators.Refused("connect to %s: %w; tmux was not run on it", c.socket, err)
	}
	return fmt.Errorf("connect to %s: %w", c.socket, err)
}

// run runs one chain of commands and gives what it printed. With an error nothing is known of how far the chain came.
func (c client) run(ctx context.Context, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &peer.Head{Most: maxAnswer, Full: func() { cancel(errAnswer) }}
	err := c.stream(ctx, out, env, args...)
	if out.Over() {
		err = fmt.Errorf("the tmux server on %s: %w", c.socket, errAnswer)
	}
	return out.String(), err
}

// quiet is the environment of a client that starts nothing: a client hands it to the server, and TMUX would make it think
// that it is nested.
var quiet = []string{"LC_ALL=C.UTF-8"}

func (c client) stream(ctx context.Context, out io.Writer, env []string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	s, err := c.hold(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	cmd, stderr := c.command(ctx, s, env, args)
	cmd.Stdout = out
	return c.verdict(ctx, cmd.Run(), stderr)
}

// command is a client that connects to the held socket.
func (c client) command(ctx context.Context, s *peer.Socket, env, args []string) (*exec.Cmd, *peer.Head) {
	stderr := &peer.Head{Most: maxComplaint}
	cmd := exec.CommandContext(ctx, c.tmux, append([]string{"-u", "-S", peer.Inherited}, args...)...)
	cmd.Env, cmd.Stderr, cmd.WaitDelay, cmd.ExtraFiles = env, stderr, waitDelay, []*os.File{s.File()}
	return cmd, stderr
}

// verdict says what became of a client.
func (c client) verdict(ctx context.Context, err error, stderr *peer.Head) error {
	said, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(stderr.String(), peer.Inherited, c.socket)), "\n")
	said = said[:min(len(said), 200)]
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the tmux server on %s did not answer: %w", c.socket, context.Cause(ctx))
	case err != nil && said != "":
		return fmt.Errorf("the tmux server on %s: %w: %q", c.socket, err, said)
	case err != nil:
		return fmt.Errorf("the tmux server on %s: %w", c.socket, err)
	case said != "": // "access not allowed" comes with exit code 0
		return fmt.Errorf("the tmux server on %s: %q", c.socket, said)
	}
	return nil
}

// ownEnv is this process's environment without what says that it runs inside of a session.
func ownEnv() []string {
	var out []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "TMUX" && name != "TMUX_PANE" {
			out = append(out, v)
		}
	}
	return out
}
