package herdr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	change "github.com/winnow-reaper/winnow/internal/sys/herdr/act"
)

// settlePause is how often it is looked whether a tab is gone.
const settlePause = 20 * time.Millisecond

// Act implements actuators.Held. Everything that the last judgement rests on is read once more, and one tab.close is sent. From
// then on it goes on to the end although ctx ends.
func (h *held) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	h.Step(StepCheck)
	seen, err := h.unchanged(ctx, in.Identity.Tab)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: %w; it was left untouched", h.who(), context.Cause(ctx))
	}
	if err != nil {
		return actuators.OutcomeOf(err)
	}
	h.Step(StepClose)
	ctx = context.WithoutCancel(ctx)
	err = change.CloseTab(ctx, h.client, h.id.ID)
	if no := h.notClosed(err); no != nil {
		return actuators.OutcomeOf(no)
	}
	h.undone = false
	if err != nil {
		h.Log.Warn("close a tab", "tab", h.id.ID, "error", err)
	}
	h.Step(StepReadBack)
	w, unsure := h.readBack(ctx)
	if unsure == nil && w.where == elsewhere {
		h.undone = true
		return actuators.OutcomeOf(actuators.Changed("%s is gone, and its panes are in another tab; none of their processes was touched", h.who()))
	}
	if unsure != nil {
		how := "was closed"
		if err != nil {
			how = "was asked to close, and its server did not say whether it did (" + err.Error() + ")"
		}
		return decision.Outcome{Outcome: decision.Failed, Open: true, Disputed: errors.Is(unsure, actuators.ErrDisputed), RestoreUntil: h.KeptUntil(in),
			Detail: fmt.Sprintf("%s %s: %v; what was saved of it stays in %s, and the next sweep looks again", h.who(), how, unsure, h.plan.Folder)}
	}
	out := h.bury(ctx, w)
	out.Detail += h.aftermath(seen, w.view) + whereText(&h.plan, h.textless)
	return out
}

// notClosed says why a close had no effect, where that is sure: the request did not go out, or the server refused it in words
// that say so. After any other error it is not known.
func (h *held) notClosed(err error) error {
	switch herdr.Code(err) {
	case change.TabNotFound:
		return actuators.Gone("%s was gone when it was to be closed", h.who())
	case change.TabCloseFailed:
		return actuators.Refused("%s: %w: herdr does not close the last tab of a workspace; it was left untouched", h.who(), err)
	case herdr.InvalidRequest:
		return actuators.Refused("%s: %w; it was left untouched", h.who(), err)
	case change.ConfirmationRequired:
		h.Log.Error("a server asks its user whether to close a group of workspaces", "tab", h.id.ID)
		return fmt.Errorf("%s was not closed: herdr asks its user IN A DIALOG NOW whether to close the group of workspaces: %w; "+
			"answer no there. Its workspace was judged a moment before", h.who(), err)
	}
	if errors.Is(err, herdr.ErrNotSent) {
		return h.unread(err)
	}
	return nil
}

// readBack looks until the tab is positively gone. Its error says that it is not, or that this is not known.
func (h *held) readBack(ctx context.Context) (*whereabouts, error) {
	deadline := time.Now().Add(h.settles)
	for {
		w, err := h.whereabouts(ctx, &h.id)
		switch late := time.Now().After(deadline); {
		case err == nil && w.where != there:
			return w, nil
		case late && err != nil:
			return nil, fmt.Errorf("whether it is gone is not known: %w", err)
		case late:
			return nil, actuators.Disputed("the server still lists it")
		}
		time.Sleep(settlePause)
	}
}

// aftermath tells of what else is gone from the workspace that was there right before the close.
func (h *held) aftermath(before, after *herdr.World) string {
	if after == nil {
		return "; its server no longer listens"
	}
	if after.Workspace(h.id.Workspace) == nil {
		h.Log.Error("a workspace is gone after one of its tabs was closed", "tab", h.id.ID, "workspace", h.id.Workspace)
		return fmt.Sprintf("; WORKSPACE %s IS GONE TOO%s", h.id.Workspace, map[bool]string{true: ", although it had another tab a moment before"}[len(h.otherTabs(before)) > 0])
	}
	left := h.otherTabs(after)
	lost := slices.DeleteFunc(h.otherTabs(before), func(id string) bool { return slices.Contains(left, id) })
	if len(lost) > 0 {
		return "; another program or person closed " + strings.Join(lost, ", ") + " of the same workspace meanwhile"
	}
	return ""
}

// otherTabs lists the other tabs of the tab's workspace.
func (h *held) otherTabs(w *herdr.World) []string {
	var out []string
	for _, t := range w.Tabs {
		if t.Workspace == h.id.Workspace && t.ID != h.id.ID {
			out = append(out, t.ID)
		}
	}
	return out
}

// whereText says where the panes' text is, and which panes have no saved text.
func whereText(p *plan, textless []string) string {
	switch len(textless) {
	case 0:
		return fmt.Sprintf("; the text of %s is saved", panes.Count(len(p.Panes), "pane", "panes"))
	case len(p.Panes):
		return "; no text of its panes was kept: the server does not give it (pane.read)"
	}
	return fmt.Sprintf("; the text of its panes is saved, but for %s, which the server did not give", strings.Join(textless, ", "))
}

// maxLines is how many of a pane's lines are saved, counted from its end.
const maxLines = 10000

// Save implements actuators.Held. It keeps the text of every pane and the manifest; a server that does not offer a pane's text is no
// error. Before that it notes which processes have left the panes' sessions: the judgement that follows sees those, and no later one.
func (h *held) Save(ctx context.Context) error {
	h.Step(StepSave)
	var err error
	if h.left, err = h.strangers(); err != nil {
		return err
	}
	err = h.kept.Save(h.plan, func(write panes.Writer) error {
		h.undone = true
		for _, p := range h.plan.Panes {
			text, err := h.client.Text(ctx, p.ID, maxLines)
			if herdr.Code(err) == herdr.InvalidRequest {
				h.textless = append(h.textless, p.ID)
				continue
			}
			if err == nil {
				err = write(p.File, func(f *os.File) error { _, err := f.WriteString(text); return err })
			}
			if err != nil {
				return fmt.Errorf("save the text of pane %s: %w", p.ID, err)
			}
		}
		return nil
	})
	if err != nil {
		return actuators.Refused("%s: %w; it was left untouched", h.who(), err)
	}
	return nil
}

// Restore implements actuators.Restorer. It opens a tab with the same label in the same workspace, or in the server's own
// choice where that is gone, with one new shell in the folder of the first pane, and leaves the focus where it is. What ran
// there has ended. The saved text stays where it is until the trash expires: herdr has no way to put it into a pane but to type
// it.
func (a *Actuator) Restore(ctx context.Context, in decision.Intent) (back actuators.Back, err error) {
	p := &plan{}
	if _, err := panes.ReadPlan(a.Trash, in, p); err != nil {
		return back, err
	}
	texts, err := a.texts(p)
	if err != nil {
		return back, err
	}
	c := a.client(p.Socket)
	v, err := c.Look(ctx)
	if err != nil {
		return back, fmt.Errorf("open tab %q again: %w; nothing was opened: start herdr and try again", p.Label, err)
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
	tab, err := change.OpenTab(ctx, c, want)
	if herdr.Code(err) != "" || errors.Is(err, herdr.ErrNotSent) {
		return back, fmt.Errorf("open tab %q again: %w; nothing was opened, and what was saved is still in %s", p.Label, err, filepath.Join(a.Trash, p.Act))
	} else if err != nil {
		return back, fmt.Errorf("open tab %q again: %w; whether it was opened is not known: look into herdr before another try", p.Label, err)
	}
	s := fmt.Sprintf("tab %s (%q) of workspace %s on %s has a new shell; what ran there has ended", tab.ID, p.Label, tab.Workspace, p.Socket)
	if len(texts) > 0 {
		notes = append(notes, "the saved text of its "+panes.Count(len(p.Panes), "pane", "panes")+" is in "+strings.Join(texts, ", "))
	} else {
		notes = append(notes, "no text of its panes was saved")
	}
	return actuators.Back{Candidate: panes.Renamed(in.Candidate, tab.ID), Where: strings.Join(append([]string{s}, notes...), "; ")}, nil
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
