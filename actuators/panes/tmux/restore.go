package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
	"winnow/internal/foreign"
	"winnow/internal/peer"
)

// script is what a restored pane runs: it shows what was saved and becomes a shell. tmux sets SHELL in its panes. The folder
// is entered here and not by tmux, which expands formats in -c, and starts in the home folder where it cannot enter one.
const script = `cd -- "$2" 2>/dev/null; cat -- "$1"; exec "${SHELL:-sh}"`

// Restore implements actuators.Restorer. It starts a session of the same name on the same socket, with a server where there is
// none: a pane for each saved one, in its folder, showing the saved scrollback above a new shell. What ran there is over. It
// refuses where a session has the name.
func (a *Actuator) Restore(ctx context.Context, in decision.Intent) (string, error) {
	p, err := planOf(in)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(a.Trash, p.Act)
	for _, pane := range p.Panes {
		st, err := os.Lstat(filepath.Join(folder, pane.File))
		if errors.Is(err, fs.ErrNotExist) {
			return "", actuators.Refused("the saved scrollback of session %q (%s) is not in the trash any more; nothing was started", p.Name, p.Session)
		}
		if err != nil {
			return "", fmt.Errorf("look for the saved scrollback: %w; nothing was started", err)
		}
		if !st.Mode().IsRegular() {
			return "", actuators.Refused("%s is no file; nothing was started", filepath.Join(folder, pane.File))
		}
	}
	c := a.client(p.Socket)
	if err := c.vacant(ctx, p.Name); err != nil {
		return "", err
	}
	r := restoring{client: c, folder: folder, env: ownEnv()}
	if err := r.start(ctx, p); err != nil {
		return "", err
	}
	return r.sentence(p), nil
}

// vacant refuses where the server has a session of exactly that name. tmux itself refuses to start a second one, too.
func (c client) vacant(ctx context.Context, name string) error {
	if err := c.reach(ctx); errors.Is(err, errNoServer) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%w; nothing was started", err)
	}
	out, err := c.run(ctx, quiet, "list-sessions", "-F", "name "+tab+"#{session_name}")
	if err != nil {
		return fmt.Errorf("list sessions: %w; nothing was started", err)
	}
	for line := range strings.Lines(out) {
		if line == "name "+tab+name+"\n" {
			return actuators.Refused("a session named %q is there already on %s; nothing was started: rename it, or end it, and try again", name, c.socket)
		}
	}
	return nil
}

// restoring is one session that is being started.
type restoring struct {
	client
	folder string
	env    []string
	// The new session's id and name, by the server's word.
	id, name string
	// homeless are the folders that are not there any more.
	homeless []string
}

// start makes the windows and panes in their order. It ends at the first that fails, with what is there by then in the error.
func (r *restoring) start(ctx context.Context, p *plan) error {
	windows := map[string]string{} // by the saved window's id
	for i, pane := range p.Panes {
		what := []string{"split-window", "-d", "-t", windows[pane.Window]}
		switch {
		case i == 0:
			what = []string{"new-session", "-d", "-s", literal(p.Name), "-n", literal(pane.WindowName), "-x", strconv.Itoa(pane.Width), "-y", strconv.Itoa(pane.Height)}
		case windows[pane.Window] == "":
			what = []string{"new-window", "-d", "-t", r.id + ":", "-n", literal(pane.WindowName)}
		}
		window, err := r.open(ctx, what, pane)
		if err != nil && i == 0 {
			return fmt.Errorf("start session %q: %w; nothing was started, and what was saved is still in %s", p.Name, err, r.folder)
		}
		if err != nil {
			return fmt.Errorf("restore pane %d of %d: %w; session %s (%s) has the panes before it, and what was saved is still in %s",
				i+1, len(p.Panes), err, r.id, r.name, r.folder)
		}
		if windows[pane.Window] == "" {
			windows[pane.Window] = window
		} else { // room for the next one
			_, _ = r.run(ctx, quiet, "select-layout", "-t", window, "tiled")
		}
	}
	for _, pane := range p.Panes { // a layout that does not fit any more leaves the panes tiled
		_, _ = r.run(ctx, quiet, "select-layout", "-t", windows[pane.Window], pane.Layout)
	}
	return nil
}

// open runs one command that makes a pane, and gives the pane's window.
func (r *restoring) open(ctx context.Context, what []string, pane planned) (window string, err error) {
	cwd := pane.Cwd
	if st, err := os.Stat(cwd); err != nil || !st.IsDir() {
		r.homeless = append(r.homeless, cwd)
		cwd = "."
	}
	if what[0] == "new-session" && cwd != "." {
		what = append(what, "-c", literal(cwd))
	}
	what = append(what, "-P", "-F", join("#{session_id}", "#{window_id}", "#{session_name}"),
		"sh", "-c", argument(script), "sh", argument(filepath.Join(r.folder, pane.File)), argument(cwd))
	run := r.run
	if what[0] == "new-session" {
		run = r.startOn
	}
	out, err := run(ctx, r.env, what...)
	if err != nil {
		return "", err
	}
	f := strings.Split(strings.TrimSuffix(out, "\n"), tab)
	if len(f) != 3 || !sessionID.MatchString(f[0]) {
		return "", fmt.Errorf("the tmux server on %s did not say what it started", r.socket)
	}
	r.id, r.name = f[0], f[2]
	return f[1], nil
}

// startOn is run for a command that starts a server where there is none. The client makes the socket then, and nothing can be held:
// so nobody else may be able to put one there first, not even in a folder with the sticky bit.
func (c client) startOn(ctx context.Context, env []string, args ...string) (string, error) {
	if err := c.reach(ctx); !errors.Is(err, errNoServer) {
		return c.run(ctx, env, args...)
	}
	dir := filepath.Dir(c.socket)
	_, err := foreign.Folder(dir)
	if err == nil && filepath.Base(dir) == "tmux-"+strconv.Itoa(os.Geteuid()) {
		err = peer.TmuxFolder(dir)
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Lstat(dir, &st)
	}
	if err == nil && st.Mode&0o022 != 0 && (st.Mode&unix.S_IWOTH != 0 || int(st.Gid) != os.Getegid()) {
		err = foreign.ErrWritable
	}
	if err != nil {
		return "", actuators.Refused("no server listens on %s, and another user could put one of his there first: %w; start one (tmux -S %s new-session -d) and try again",
			c.socket, err, c.socket)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	out, stderr := &peer.Head{Most: maxAnswer, Full: cancel}, &peer.Head{Most: maxComplaint}
	cmd := exec.CommandContext(ctx, c.tmux, append([]string{"-u", "-S", c.socket}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, out, stderr, waitDelay
	err = cmd.Run()
	return out.String(), c.verdict(ctx, err, stderr)
}

func (r *restoring) sentence(p *plan) string {
	s := fmt.Sprintf("session %s (%s) on %s has %s, each with its saved scrollback above a new shell; what ran there is over. tmux -S %s attach -t '%s' shows it",
		r.id, r.name, r.socket, panes.Count(len(p.Panes), "pane", "panes"), r.socket, r.id)
	for _, cwd := range r.homeless {
		s += fmt.Sprintf("; the folder %q is not there any more, so its pane is elsewhere", cwd)
	}
	return s
}

// literal writes s so that tmux's formats give s again, and none in it is expanded: #(command) would be run.
func literal(s string) string { return argument(strings.ReplaceAll(s, "#", "##")) }

// argument writes s so that tmux takes it for one argument: a ; at the end would begin another command.
func argument(s string) string {
	if rest, ok := strings.CutSuffix(s, ";"); ok {
		return rest + `\;`
	}
	return s
}
