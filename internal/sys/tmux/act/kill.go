// Package act changes tmux servers: it kills one session under a condition, and makes panes. Only actuators import it.
package act

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/limit"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/tmux"
	"github.com/winnow-reaper/winnow/internal/sys/tmux/internal/client"
)

// What is between a look at a shell and the kill is the time in which a program can be sent to it unseen. So it is kept short at
// both ends. A client is connected beforehand and reads the command that kills from its standard input, so that no program has to
// be started after the look. And the server itself marks the session when anything is sent to a pane of it (hooks, tmux(1)), and
// tests that mark in the command that kills: there is no moment between the two for the commands of inputs.
//
// What is left: text that reaches a shell by other ways than these commands and an attached client's keys, which is pipe-pane -I or
// a signal or timer that the shell itself waits for, between the look and the server's test (some tenths of a millisecond, more on
// a machine that is busy).

// slot is the place of our hooks among those of the user's own.
const slot = "[9741]"

// inputs are the commands that send something to a pane. (send-prefix cannot be hooked; it needs a key of a client.)
var inputs = []string{"send-keys", "paste-buffer"}

// Trigger is a connected client that waits for the order to kill one session.
type Trigger struct {
	server  client.Server
	session string
	ctx     context.Context
	cancel  context.CancelFunc
	socket  *peercred.Socket
	cmd     *exec.Cmd
	stderr  *limit.Writer
	in      io.WriteCloser
	out     *bufio.Reader
	// kill is what was to be run; disarm takes the hooks away.
	kill, disarm []string
	over         bool
}

// ErrNoStdin says that the server is too old to read commands from a client's standard input (before tmux 3.1), and ran none.
var ErrNoStdin = errors.New("it reads no commands from a client's standard input")

// Arm has the server mark the session from now on when something is sent to it, and connects. The hooks go when the client ends, also when
// this process ends before it: the server then reads no command and goes on to what takes them away. While they are there, hooks of the
// user's own on the same commands do not run for this one session, where they are set for all.
func Arm(ctx context.Context, s tmux.Server, session string) (*Trigger, error) {
	t := &Trigger{server: client.Server(s), session: session}
	chain, err := t.hooks(ctx)
	if err != nil {
		return nil, err
	}
	t.ctx, t.cancel = t.server.Bounded(ctx)
	if t.socket, _, err = t.server.Hold(t.ctx); err != nil {
		t.cancel()
		return nil, err
	}
	chain = append(append(chain, "display-message", "-p", "ready", ";", "source-file", "-"), t.disarm...)
	t.cmd, t.stderr = t.server.Command(t.ctx, t.socket, client.Quiet, chain)
	t.cmd.Dir = "/" // an older server would take - for a file in the client's folder
	if err = t.start(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// hooks are the commands that set the hooks, each with a separator after it. Those that take them away are t.disarm, with separators before.
func (t *Trigger) hooks(ctx context.Context) (set []string, err error) {
	target := t.session + ":"
	own, err := t.server.Run(ctx, client.Quiet, "show-hooks", "-t", target)
	if err != nil {
		return nil, err
	}
	set = []string{"set-option", "-u", "-t", target, tmux.Mark, ";"}
	for _, input := range inputs {
		hook := "after-" + input
		set = append(set, "set-hook", "-t", target, hook+slot, "set-option -t '"+target+"' "+tmux.Mark+" 1", ";")
		gone := hook
		if strings.Contains("\n"+own, "\n"+hook) { // the session has its own: without one, the hooks for all count again
			gone += slot
		}
		t.disarm = append(t.disarm, ";", "set-hook", "-u", "-t", target, gone)
	}
	t.disarm = append(t.disarm, ";", "set-option", "-u", "-t", target, tmux.Mark)
	return set, nil
}

func (t *Trigger) start() error {
	in, errIn := t.cmd.StdinPipe()
	out, errOut := t.cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return err
	}
	if err := t.cmd.Start(); err != nil {
		return fmt.Errorf("the tmux server on %s: %w", t.server.Socket, err)
	}
	t.in, t.out = in, bufio.NewReader(io.LimitReader(out, client.MaxAnswer))
	said, err := t.out.ReadString('\n')
	if err != nil || said != "ready\n" {
		if err = t.wait(); err == nil {
			err = errors.New("it ended")
		}
		return fmt.Errorf("the client did not get ready: %w", err)
	}
	return nil
}

// Answer is the server's answer to a kill. Without Agreed and Now it is not known whether it killed.
type Answer struct {
	// Agreed is true where the session was what was expected. Then it was killed, also after an error: the last session takes its server, and this
	// connection, with it.
	Agreed bool
	// Now is the state that the session had instead. It was not killed.
	Now string
}

const agreed = "agreed"

// Kill has the server test in one command whether the session's State and Outputs are these, the outputs only where they are not empty, and
// kill it if so. After ErrNoStdin it ran nothing.
func (t *Trigger) Kill(state, outputs string) (Answer, error) {
	format, condition := tmux.Equals(state, outputs)
	t.kill = []string{"if-shell", "-F", "-t", t.session + ":", condition, "display-message -p " + agreed + " ; kill-session -t '" + t.session + "'",
		"display-message -p -t '" + t.session + ":' 'now " + format + "'"}
	words := make([]string, len(t.kill))
	for i, w := range t.kill {
		words[i] = quote(w)
	}
	_, _ = io.WriteString(t.in, strings.Join(words, " ")+"\n") // what became of it the client tells
	out, err := t.end()
	if out == "" && strings.Contains(t.stderr.String(), "No such file or directory: -") {
		return Answer{}, ErrNoStdin
	}
	return answer(out), err
}

// KillPlain is the same Kill by a client of its own, which takes some milliseconds to start.
func (t *Trigger) KillPlain(ctx context.Context) (Answer, error) {
	out, err := t.server.Run(ctx, client.Quiet, t.kill...)
	a := answer(out)
	if !a.Agreed {
		_, _ = t.server.Run(ctx, client.Quiet, t.disarm[1:]...)
	}
	return a, err
}

func answer(out string) Answer {
	said, _, _ := strings.Cut(out, "\n")
	_, now, _ := strings.Cut("\n"+said, "\nnow ")
	return Answer{Agreed: said == agreed, Now: now}
}

func (t *Trigger) end() (string, error) {
	_ = t.in.Close()
	out, err := io.ReadAll(t.out)
	return string(out), cmp.Or(t.wait(), err)
}

// wait waits for the client to end.
func (t *Trigger) wait() error {
	t.over = true
	return t.server.Verdict(t.ctx, t.cmd.Wait(), t.stderr)
}

// Close lets go. Where nothing was killed, the client reads no command, and takes the hooks away.
func (t *Trigger) Close() {
	if t.in != nil && !t.over {
		_, _ = t.end()
	}
	t.cancel()
	_ = t.socket.Close()
}

// quote writes s so that tmux's own language gives s again: nothing means anything between single quotes.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }

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
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "TMUX" || name == "TMUX_PANE"
	})
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
