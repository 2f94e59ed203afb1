package herdr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	change "github.com/winnow-reaper/winnow/internal/sys/herdr/act"
)

// Purge implements actuators.Restorer. It removes the files that the act made and their folder, and nothing else.
func (a *Actuator) Purge(_ context.Context, in decision.Intent) (int64, error) {
	return panes.Purge(a.Trash, in)
}

// Restore implements actuators.Restorer. It opens a tab with the same label in the same workspace, or in the server's own
// choice where that is gone, with one new shell in the folder of the first pane, and leaves the focus where it is. What ran
// there has ended. The saved text stays where it is until the trash expires: herdr has no way to put it into a pane but to type
// it.
func (a *Actuator) Restore(ctx context.Context, in decision.Intent) (string, error) {
	p := &plan{}
	if _, err := panes.ReadPlan(a.Trash, in, p); err != nil {
		return "", err
	}
	texts, err := a.texts(p)
	if err != nil {
		return "", err
	}
	c := a.client(p.Socket)
	v, err := c.Look(ctx)
	if err != nil {
		return "", fmt.Errorf("open tab %q again: %w; nothing was opened: start herdr and try again", p.Label, err)
	}
	want := change.NewTab{Label: p.Label}
	var notes []string
	if herdr.WorkspaceID(p.Workspace) && v.Workspace(p.Workspace) != nil {
		want.Workspace = p.Workspace
	} else {
		notes = append(notes, fmt.Sprintf("workspace %s no longer exists, so the server chose one", p.Workspace))
	}
	if cwd := p.Panes[0].Cwd; cwd != "" {
		if st, err := os.Stat(cwd); err == nil && st.IsDir() {
			want.Cwd = cwd
		} else {
			notes = append(notes, fmt.Sprintf("the folder %q no longer exists, so its shell is in another one", cwd))
		}
	}
	back, err := change.OpenTab(ctx, c, want)
	if herdr.Code(err) != "" || errors.Is(err, herdr.ErrNotSent) {
		return "", fmt.Errorf("open tab %q again: %w; nothing was opened, and what was saved is still in %s", p.Label, err, filepath.Join(a.Trash, p.Act))
	} else if err != nil {
		return "", fmt.Errorf("open tab %q again: %w; whether it was opened is not known: look into herdr before another try", p.Label, err)
	}
	s := fmt.Sprintf("tab %s (%q) of workspace %s on %s has a new shell; what ran there has ended", back.ID, p.Label, back.Workspace, p.Socket)
	if len(texts) > 0 {
		notes = append(notes, "the saved text of its "+panes.Count(len(p.Panes), "pane", "panes")+" is in "+strings.Join(texts, ", "))
	} else {
		notes = append(notes, "no text of its panes was saved")
	}
	return strings.Join(append([]string{s}, notes...), "; "), nil
}

// texts lists the files with the panes' text. It refuses where the act saved nothing, or what it saved is gone.
func (a *Actuator) texts(p *plan) (out []string, err error) {
	what := fmt.Sprintf("what was saved of tab %s (%q)", p.Tab, p.Label)
	if err := panes.CheckSaved(filepath.Join(a.Trash, p.Act, panes.Manifest), what, "opened"); err != nil {
		return nil, err
	}
	for _, pane := range p.Panes {
		path := filepath.Join(a.Trash, p.Act, pane.File)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) { // the server did not give it
			continue
		}
		if err := panes.CheckSaved(path, what, "opened"); err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	return out, nil
}
