package act

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/tmux"
	"github.com/winnow-reaper/winnow/internal/sys/tmux/internal/client"
)

// ErrUnsafe says that no server listens on a socket, and that another user could put one of theirs there before tmux makes one.
var ErrUnsafe = errors.New("no server listens there, and another user could put one of theirs there first")

// Pane is a pane to make. It runs Command with this process's environment. Nothing in it is expanded by tmux.
type Pane struct {
	// Session and Window are ids: with a Window, the pane is made in it; with a Session, in a new window there; without
	// both, in a new session named Name, in a new server if none runs.
	Session, Window string
	// Name and Cwd are a new session's, WindowName a new window's, Width and Height a new session's in columns and rows.
	Name, WindowName, Cwd string
	Width, Height         int
	Command               []string
}

// Made is where a pane was made, by the server's word.
type Made struct{ Session, Window, Name string }

// Open makes a pane.
func Open(ctx context.Context, s tmux.Server, p Pane) (Made, error) {
	run := client.Server(s).Run
	var what []string
	switch {
	case p.Window != "":
		what = []string{"split-window", "-d", "-t", p.Window}
	case p.Session != "":
		what = []string{"new-window", "-d", "-t", p.Session + ":", "-n", literal(p.WindowName)}
	default:
		what = []string{"new-session", "-d", "-s", literal(p.Name), "-n", literal(p.WindowName), "-x", strconv.Itoa(p.Width), "-y", strconv.Itoa(p.Height)}
		if p.Cwd != "" {
			what = append(what, "-c", literal(p.Cwd))
		}
		if err := s.Reach(ctx); errors.Is(err, tmux.ErrNoServer) {
			if err := vacant(s.Socket); err != nil {
				return Made{}, fmt.Errorf("%w: %w", ErrUnsafe, err)
			}
			run = client.Server(s).Start
		}
	}
	what = append(what, "-P", "-F", "#{session_id}\t#{window_id}\t#{session_name}")
	for _, word := range p.Command {
		what = append(what, argument(word))
	}
	out, err := run(ctx, ownEnv(), what...)
	if err != nil {
		return Made{}, err
	}
	f := strings.Split(strings.TrimSuffix(out, "\n"), "\t")
	if len(f) != 3 || !tmux.IsSession(f[0]) {
		return Made{}, fmt.Errorf("the tmux server on %s did not say what it started", s.Socket)
	}
	return Made{Session: f[0], Window: f[1], Name: f[2]}, nil
}

// Arrange gives a window's panes a layout, by its name or as tmux described it.
func Arrange(ctx context.Context, s tmux.Server, window, layout string) error {
	_, err := client.Server(s).Run(ctx, client.Quiet, "select-layout", "-t", window, layout)
	return err
}

// vacant refuses a socket's path where another user could put a socket first, also in a folder with the sticky bit.
func vacant(socket string) error {
	dir := filepath.Dir(socket)
	_, err := safeopen.Folder(dir)
	if err == nil && filepath.Base(dir) == "tmux-"+strconv.Itoa(os.Geteuid()) {
		err = peercred.TmuxFolder(dir)
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Lstat(dir, &st)
	}
	if err == nil && st.Mode&0o022 != 0 && (st.Mode&unix.S_IWOTH != 0 || int(st.Gid) != os.Getegid()) {
		err = safeopen.ErrWritable
	}
	return err
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

// literal writes s so that tmux's formats give s again, and no format in s is expanded: #(command) would be run.
func literal(s string) string { return argument(strings.ReplaceAll(s, "#", "##")) }

// argument writes s so that tmux takes it for one argument: a ; at the end would begin another command.
func argument(s string) string {
	if rest, ok := strings.CutSuffix(s, ";"); ok {
		return rest + `\;`
	}
	return s
}
