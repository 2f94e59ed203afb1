package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// answerWithin is how long a server may take to answer one command: a stopped one never does.
	answerWithin = 10 * time.Second
	// waitDelay is how long a program that was told to end may hold its output open.
	waitDelay = 100 * time.Millisecond
)

// errNoServer says that the kernel knows of nobody who listens on a socket.
var errNoServer = errors.New("no server listens there")

// client asks the server on one socket. None of what it is used for starts a server, but for new-session in a restore.
type client struct{ tmux, socket string }

// reach tells whether somebody listens on the socket, by the kernel's word and not by tmux's.
func (c client) reach(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.socket)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("connect to %s: %w", c.socket, errNoServer)
	}
	if err != nil {
		return fmt.Errorf("connect to %s: %w", c.socket, err)
	}
	return conn.Close()
}

// run runs one chain of commands and gives what it printed. With an error nothing is known of how far the chain came.
func (c client) run(ctx context.Context, env []string, args ...string) (string, error) {
	var out bytes.Buffer
	err := c.stream(ctx, &out, env, args...)
	return out.String(), err
}

// quiet is the environment of a client that starts nothing: a client hands it to the server, and TMUX would make it think
// that it is nested.
var quiet = []string{"LC_ALL=C.UTF-8"}

func (c client) stream(ctx context.Context, out io.Writer, env []string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.tmux, append([]string{"-u", "-S", c.socket}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, out, &stderr, waitDelay
	err := cmd.Run()
	said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
	said = said[:min(len(said), 200)]
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the tmux server on %s did not answer: %w", c.socket, ctx.Err())
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
