// Package tmux reads tmux servers: it is the one client of their protocol, which is the tmux program, and the one parser of what that prints.
// What changes a server is in package act below it.
package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/tmux/internal/client"
)

// Errors of a server that cannot be asked. A socket that is not to be trusted is peercred.Refused, and tmux was not run on it.
var (
	// ErrNoServer says that no server listens on the socket.
	ErrNoServer = client.ErrNoServer
	// ErrDenied says that the kernel or the server does not let this user in.
	ErrDenied = client.ErrDenied
	// ErrAnswer says that the server answers more than is read.
	ErrAnswer = client.ErrAnswer
	// ErrTooLong says that a pane's text is longer than MaxText.
	ErrTooLong = fmt.Errorf("it is longer than %d MiB", MaxText>>20)
)

// MaxText is the most that is read of one pane's text, in bytes. More is refused and not cut: what was cut would be lost.
const MaxText = 64 << 20

// IsSession and IsPane report whether s is an id of tmux's, such as $4 and %5.
func IsSession(s string) bool { return native(s, '$') }

// IsPane is as IsSession.
func IsPane(s string) bool { return native(s, '%') }

func native(id string, mark byte) bool {
	if len(id) < 2 || id[0] != mark || id[1] == '+' {
		return false
	}
	_, err := strconv.ParseUint(id[1:], 10, 32)
	return err == nil
}

// Server is the tmux server on one socket: tmux's program, the socket's path, and within what time it has to answer. No method starts one.
type Server client.Server

// Reach makes sure that a server of this user listens on the socket, without running tmux.
func (s Server) Reach(ctx context.Context) error {
	held, _, err := client.Server(s).Hold(ctx)
	if err != nil {
		return err
	}
	return held.Close()
}

// List asks the server for everything at once, which costs one run of tmux. Of the session with the id detail, which may be empty, it gives the
// State and the windows too. A server without sessions may say nothing at all (3.1c): then the listing is empty, its PID too.
func (s Server) List(ctx context.Context, detail string) (*Listing, error) {
	if detail != "" && !IsSession(detail) {
		return nil, fmt.Errorf("%q is not an id of tmux's such as $4", detail)
	}
	out, listener, err := client.Server(s).Ask(ctx, client.Quiet, commands(detail)...)
	l, bad := parse(out, detail != "")
	if bad == nil && detail != "" && l.Session(detail) != nil && l.Detail == nil {
		bad = errors.New("the answer is cut short: the session's state is missing")
	}
	switch {
	case bad == nil:
	case out == "" && err != nil && strings.Contains(err.Error(), `"no current target"`):
		l = &Listing{}
	case err == nil:
		return nil, fmt.Errorf("the tmux server on %s: %w", s.Socket, bad)
	default:
		return nil, err
	}
	l.Listener = listener
	return l, nil
}

// Capture writes a pane's history and screen as plain text to f, and after it the screen that a full-screen program hides.
// What tmux prints ends with a mark, since it can print nothing and still exit with 0.
func (s Server) Capture(ctx context.Context, pane string, f *os.File) error {
	// display-message takes a % for the beginning of a date.
	mark := "end of pane " + strings.TrimPrefix(pane, "%")
	out := &limited{f, MaxText}
	_, err := client.Server(s).Stream(ctx, out, client.Quiet, "capture-pane", "-p", "-J", "-S", "-", "-t", pane, ";",
		"capture-pane", "-p", "-J", "-a", "-q", "-t", pane, ";", "display-message", "-p", mark)
	if out.left < 0 {
		return ErrTooLong
	}
	if err != nil {
		return err
	}
	tail := make([]byte, len(mark)+1)
	at := MaxText - out.left - int64(len(tail))
	if at < 0 {
		return errors.New("tmux printed nothing")
	}
	if _, err := f.ReadAt(tail, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(tail) != mark+"\n" {
		return errors.New("what tmux printed is cut short")
	}
	return f.Truncate(at)
}

// limited fails once more than left bytes are written to it.
type limited struct {
	to   io.Writer
	left int64
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= int64(len(b)); l.left < 0 {
		return 0, ErrTooLong
	}
	return l.to.Write(b)
}
