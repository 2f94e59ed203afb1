package vscode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/vscode"
	change "github.com/winnow-reaper/winnow/internal/sys/vscode/act"
)

// Purge implements actuators.Restorer.
func (a *Actuator) Purge(_ context.Context, in decision.Intent) (int64, error) {
	return panes.Purge(a.Trash, in)
}

// Restore implements actuators.Restorer. It opens a terminal of that name with a new shell in the tab's folder, in the same window, or where
// that is gone in one that has one of its folders open. What ran there has ended, and is not started again. A folder that is gone is refused:
// another one would not be what was asked for.
func (a *Actuator) Restore(ctx context.Context, in decision.Intent) (string, error) {
	p := &plan{}
	if _, err := panes.ReadPlan(a.Trash, in, p); err != nil {
		return "", err
	}
	if err := panes.CheckSaved(filepath.Join(a.Trash, p.Act, panes.Manifest), fmt.Sprintf("what was saved of terminal %q", p.Name), "opened"); err != nil {
		return "", err
	}
	cwd, err := p.folder()
	if err != nil {
		return "", err
	}
	w, err := a.windowFor(ctx, p)
	if err != nil {
		return "", err
	}
	n, err := change.OpenTab(ctx, w, p.called(), cwd)
	switch {
	case vscode.Code(err) != "" && vscode.Code(err) != change.Failed, errors.Is(err, vscode.ErrNotSent):
		return "", fmt.Errorf("open terminal %q again: %w; nothing was opened, and what was saved of it is kept", p.Name, err)
	case err != nil:
		return "", fmt.Errorf("open terminal %q again: %w; whether it was opened is not known: look into the window before another try", p.Name, err)
	}
	return p.says(n, w.Is.Window, cwd), nil
}

// folder is where the new shell begins: where the tab was opened, or the first folder of its window, as an editor has it. It is "" where the
// window had no folder.
func (p *plan) folder() (string, error) {
	cwd := p.Cwd
	if cwd == "" && len(p.Folders) > 0 {
		cwd = p.Folders[0]
	}
	if cwd == "" {
		return "", nil
	}
	if st, err := os.Stat(cwd); err != nil || !st.IsDir() {
		return "", actuators.Refused("open terminal %q again: its folder %q is missing; nothing was opened: make that folder and try again, or open a terminal by hand in another one", p.Name, cwd)
	}
	return cwd, nil
}

// called is the name of the new terminal, which must have one.
func (p *plan) called() string {
	return cmp.Or(p.Name, p.CreationName, p.Program, "terminal")
}

func (p *plan) says(n int, window, cwd string) string {
	said := fmt.Sprintf("terminal %d (%q) of window %s has a new shell", n, p.called(), window)
	if cwd != "" {
		said += " in " + cwd
	}
	if window != p.Window {
		said += fmt.Sprintf("; window %s, which it was closed in, no longer exists", p.Window)
	}
	said += "; what it showed was not kept"
	if p.Program != "" {
		said += fmt.Sprintf(", and what ran there (%s) is not run again", p.Program)
	}
	return said
}

// windowFor finds the window that the tab was in, or else one that has one of that window's folders or the tab's folder open.
func (a *Actuator) windowFor(ctx context.Context, p *plan) (vscode.Window, error) {
	paths := []string{p.Socket}
	for _, dir := range vscode.Folders(a.Env, a.Never.UID) {
		found, _ := vscode.Sockets(dir) // no window is asked in a folder that cannot be relied on
		paths = append(paths, found...)
	}
	var silent []string
	for i, path := range paths {
		w := vscode.Window{Socket: path, UID: a.Never.UID, Patience: a.patience}
		hello, _, err := vscode.List(ctx, w, nil)
		switch {
		case err == nil && (hello.Window == p.Window || p.fits(hello.Folders)):
			w.Is = &hello
			return w, nil
		case err != nil && i == 0 && !errors.Is(err, vscode.ErrNoServer): // it may be there, and then it is the right one
			return vscode.Window{}, fmt.Errorf("open terminal %q again: its window %s: %w; nothing was opened: try again", p.Name, p.Window, err)
		case err != nil && !errors.Is(err, vscode.ErrNoServer):
			silent = append(silent, err.Error())
		}
	}
	next := "open its folder in the editor, with the Winnow extension, and try again"
	if where := strings.Join(p.Folders, ", "); where != "" {
		next = "open " + where + " in the editor, with the Winnow extension, and try again"
	}
	if len(silent) > 0 {
		next += fmt.Sprintf(". Some windows did not answer: %v", strings.Join(silent, "; "))
	}
	return vscode.Window{}, actuators.Refused("open terminal %q again: its window %s no longer exists, and no other one has its folder open; nothing was opened: %s", p.Name, p.Window, next)
}

// fits reports whether a window with those folders is one that the tab could have been in.
func (p *plan) fits(folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		f = strings.TrimSuffix(f, "/")
		return slices.Contains(p.Folders, f) || p.Cwd != "" && (p.Cwd == f || strings.HasPrefix(p.Cwd, f+"/"))
	})
}
