package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
	change "github.com/winnow-reaper/winnow/internal/sys/tmux/act"
)

// script is what a restored pane runs: it shows what was saved and becomes a shell. tmux sets SHELL in its panes. The folder
// is entered here and not by tmux, which expands formats in -c, and starts in the home folder where it cannot enter one.
const script = `cd -- "$2" 2>/dev/null; cat -- "$1"; exec "${SHELL:-sh}"`

// Restore implements actuators.Restorer. It starts a session of the same name on the same socket, with a server where there is
// none: a pane for each saved one, in its folder, showing the saved scrollback above a new shell. What ran there has ended. It
// refuses where a session has the name.
func (a *Actuator) Restore(ctx context.Context, in decision.Intent) (back actuators.Back, err error) {
	p := &plan{}
	if _, err := panes.ReadPlan(a.Trash, in, p); err != nil {
		return back, err
	}
	folder := filepath.Join(a.Trash, p.Act)
	for _, pane := range p.Panes {
		what := fmt.Sprintf("the saved scrollback of session %q (%s)", p.Name, p.Session)
		if err := panes.CheckSaved(filepath.Join(folder, pane.File), what, "started"); err != nil {
			return back, err
		}
	}
	r := restoring{server: a.server(p.Socket), folder: folder}
	if err := r.vacant(ctx, p.Name); err != nil {
		return back, err
	}
	if err := r.start(ctx, p); err != nil {
		return back, err
	}
	back.Candidate = panes.Renamed(in.Candidate, r.made.Session)
	back.Where = fmt.Sprintf("session %s (%s) has %s, each with its saved scrollback above a new shell; what ran there has ended. tmux -S %s attach -t '%s' shows it",
		r.made.Session, r.made.Name, panes.Count(len(p.Panes), "pane", "panes"), r.server.Socket, r.made.Session)
	for _, cwd := range r.homeless {
		back.Where += fmt.Sprintf("; the folder %q is missing, so its pane is elsewhere", cwd)
	}
	return back, nil
}

// restoring is one session that is being started.
type restoring struct {
	server wire.Server
	folder string
	// made is the new session, by the server's word.
	made change.Made
	// homeless are the folders that are missing.
	homeless []string
}

// vacant refuses where the server has a session of exactly that name. tmux itself refuses to start a second one, too.
func (r *restoring) vacant(ctx context.Context, name string) error {
	l, err := r.server.List(ctx, "")
	if errors.Is(err, wire.ErrNoServer) {
		return nil
	} else if err != nil {
		return fmt.Errorf("list sessions: %w; nothing was started", trusted(err))
	}
	for _, s := range l.Sessions {
		if s.Name == name {
			return actuators.Refused("a session named %q is there already on %s; nothing was started: rename it, or end it, and try again", name, r.server.Socket)
		}
	}
	return nil
}

// start makes the windows and panes in their order. It ends at the first that fails, with what is there by then in the error.
func (r *restoring) start(ctx context.Context, p *plan) error {
	windows := map[string]string{} // by the saved window's id
	for i, pane := range p.Panes {
		window, err := r.open(ctx, p.Name, pane, windows[pane.Window])
		switch {
		case i == 0 && errors.Is(err, change.ErrUnsafe):
			return actuators.Refused("start session %q on %s: %w; nothing was started, and what was saved is still in %s: start a server (tmux -S %s new-session -d) and try again",
				p.Name, r.server.Socket, err, r.folder, r.server.Socket)
		case i == 0 && err != nil:
			return fmt.Errorf("start session %q: %w; nothing was started, and what was saved is still in %s", p.Name, err, r.folder)
		case err != nil:
			return fmt.Errorf("restore pane %d of %d: %w; session %s (%s) has the panes before it, and what was saved is still in %s",
				i+1, len(p.Panes), err, r.made.Session, r.made.Name, r.folder)
		}
		if windows[pane.Window] == "" {
			windows[pane.Window] = window
		} else { // room for the next one
			_ = change.Arrange(ctx, r.server, window, "tiled")
		}
	}
	for _, pane := range p.Panes { // a layout that does not fit any more leaves the panes tiled
		_ = change.Arrange(ctx, r.server, windows[pane.Window], pane.Layout)
	}
	return nil
}

// open makes one pane, in the given window or in a new one, and gives its window.
func (r *restoring) open(ctx context.Context, name string, pane planned, window string) (string, error) {
	home, cwd := pane.Cwd, pane.Cwd
	if st, err := os.Stat(cwd); err != nil || !st.IsDir() {
		r.homeless = append(r.homeless, cwd)
		home, cwd = "", "."
	}
	made, err := change.Open(ctx, r.server, change.Pane{Session: r.made.Session, Window: window, Name: name, WindowName: pane.WindowName, Cwd: home,
		Width: pane.Width, Height: pane.Height, Command: []string{"sh", "-c", script, "sh", filepath.Join(r.folder, pane.File), cwd}})
	if err == nil {
		r.made = made
	}
	return made.Window, err
}

// Save implements actuators.Held: it keeps the scrollback of every pane and the manifest.
func (g *handle) Save(ctx context.Context) error {
	g.Step(StepSave)
	err := g.kept.Save(g.plan, func(write panes.Writer) error {
		for _, p := range g.plan.Panes {
			if err := write(p.File, func(f *os.File) error { return g.server.Capture(ctx, p.ID, f) }); err != nil {
				return fmt.Errorf("save the scrollback of pane %s: %w", p.ID, err)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, wire.ErrTooLong):
		return actuators.Refused("session %s: %w; it was left untouched: clear-history in that pane, or end it by hand", g.who(), err)
	case err != nil:
		if l, lost := g.server.List(ctx, ""); lost == nil {
			if changed := g.checkIdentity(l); changed != nil {
				return changed
			}
		}
		return fmt.Errorf("session %s: %w; it was left untouched", g.who(), err)
	}
	g.undone = true
	return nil
}

// Close implements actuators.Held. It removes what was saved of a session that was not killed.
func (g *handle) Close() error {
	for _, h := range append(g.members, g.host) {
		if h != nil {
			h.Close()
		}
	}
	g.host, g.members = nil, nil
	if !g.undone {
		return nil
	}
	g.undone = false
	_, err := g.kept.Purge()
	return err
}
