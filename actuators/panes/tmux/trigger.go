package tmux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"winnow/internal/peer"
)

// What is between a look at a shell and the kill is the time in which a program can be sent to it unseen. So it is kept short at
// both ends. A client is connected beforehand and reads the command that kills from its standard input, so that no program has to
// be started after the look. And the server itself marks the session when anything is sent to a pane of it (hooks, tmux(1)), and
// tests that mark in the command that kills: there is no moment between the two for the commands of inputs.
//
// What is left: text that reaches a shell by other ways than these commands and an attached client's keys, which is pipe-pane -I or
// a signal or timer that the shell itself waits for, between the look and the server's test (some tenths of a millisecond, more on
// a machine that is busy).

// mark is an option of the session that is set once something was sent to it.
const mark = "@winnow_input"

// slot is the place of our hooks among those of the user's own.
const slot = "[9741]"

// inputs are the commands that send something to a pane. (send-prefix is none that can be hooked; it needs a key of a client's.)
var inputs = []string{"send-keys", "paste-buffer"}

// settles is how long it takes at most until what was sent before the hooks were there has reached the terminal and woken the shell.
const settles = 20 * time.Millisecond

// trigger is a connected client that waits for the command to run.
type trigger struct {
	client client
	ctx    context.Context
	cancel context.CancelFunc
	socket *peer.Socket
	cmd    *exec.Cmd
	stderr *peer.Head
	in     io.WriteCloser
	out    *bufio.Reader
	// command is what was to be run; disarm takes the hooks away.
	command, disarm []string
	over            bool
}

// errNoStdin says that the server is too old to read commands from a client's standard input (before tmux 3.1), and ran none.
var errNoStdin = errors.New("it reads no commands from a client's standard input")

// arm puts the hooks in place and connects. The hooks go when the client ends, also when this process ends before it: the server
// then reads no command and goes on to what takes them away. While they are there, hooks of the user's own on the same commands
// do not run for this one session, where they are set for all.
func (g *grasp) arm(ctx context.Context) (*trigger, error) {
	chain, tail, err := g.hooks(ctx)
	if err != nil {
		return nil, err
	}
	t := &trigger{client: g.client, disarm: tail}
	t.ctx, t.cancel = context.WithTimeout(ctx, answerWithin)
	if t.socket, err = g.client.hold(t.ctx); err != nil {
		t.cancel()
		return nil, err
	}
	chain = append(append(chain, "display-message", "-p", "ready", ";", "source-file", "-"), tail...)
	t.cmd, t.stderr = g.client.command(t.ctx, t.socket, quiet, chain)
	t.cmd.Dir = "/" // an older server would take - for a file in the client's folder
	if err = t.start(); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// hooks are the commands that set the hooks, and those that take them away, each after a separator.
func (g *grasp) hooks(ctx context.Context) (set, unset []string, err error) {
	target := g.id.ID + ":"
	own, err := g.client.run(ctx, quiet, "show-hooks", "-t", target)
	if err != nil {
		return nil, nil, err
	}
	add := func(to []string, command ...string) []string { return append(append(to, command...), ";") }
	set = add(set, "set-option", "-u", "-t", target, mark)
	for _, input := range inputs {
		hook := "after-" + input
		set = add(set, "set-hook", "-t", target, hook+slot, "set-option -t '"+target+"' "+mark+" 1")
		gone := hook
		if strings.Contains("\n"+own, "\n"+hook) { // the session has its own: without one, the hooks for all count again
			gone += slot
		}
		unset = append(unset, ";", "set-hook", "-u", "-t", target, gone)
	}
	return set, append(unset, ";", "set-option", "-u", "-t", target, mark), nil
}

func (t *trigger) start() error {
	in, errIn := t.cmd.StdinPipe()
	out, errOut := t.cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return err
	}
	if err := t.cmd.Start(); err != nil {
		return fmt.Errorf("the tmux server on %s: %w", t.client.socket, err)
	}
	t.in, t.out = in, bufio.NewReader(io.LimitReader(out, maxAnswer))
	said, err := t.out.ReadString('\n')
	if err != nil || said != "ready\n" {
		if err = t.wait(); err == nil {
			err = errors.New("it ended")
		}
		return fmt.Errorf("the client did not get ready: %w", err)
	}
	return nil
}

// fire has the server run the command now, and gives what it printed. After errNoStdin it ran nothing.
func (t *trigger) fire(command ...string) (string, error) {
	t.command = command
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = quote(w)
	}
	_, _ = io.WriteString(t.in, strings.Join(words, " ")+"\n") // what became of it the client tells
	out, err := t.end()
	if out == "" && strings.Contains(t.stderr.String(), "No such file or directory: -") {
		return "", errNoStdin
	}
	return out, err
}

// plain runs the command by a client of its own, which takes some milliseconds to start.
func (t *trigger) plain(ctx context.Context) (string, error) {
	out, err := t.client.run(ctx, quiet, t.command...)
	if !strings.HasPrefix(out, agreed) {
		_, _ = t.client.run(ctx, quiet, t.disarm[1:]...)
	}
	return out, err
}

func (t *trigger) end() (string, error) {
	_ = t.in.Close()
	out, err := io.ReadAll(t.out)
	if lost := t.wait(); lost != nil {
		err = lost
	}
	return string(out), err
}

// wait waits for the client to end.
func (t *trigger) wait() error {
	t.over = true
	return t.client.verdict(t.ctx, t.cmd.Wait(), t.stderr)
}

// close lets go. Where nothing was fired, the client reads no command, and takes the hooks away.
func (t *trigger) close() {
	if t.in != nil && !t.over {
		_, _ = t.end()
	}
	t.cancel()
	_ = t.socket.Close()
}

// quote writes s so that tmux's own language gives s again: nothing means anything between single quotes.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }
