package herdr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// settlePause is how often it is looked whether a tab is gone.
const settlePause = 20 * time.Millisecond

// Act implements actuators.Held. The panes' text is saved first, everything is checked once more, and one tab.close is sent.
// From then on it goes on to the end although ctx ends.
func (g *grasp) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	g.step(StepSave)
	textless, err := g.save(ctx)
	if err != nil {
		return actuators.OutcomeOf(actuators.Refused("%s: %w; it was left untouched", g.who(), err))
	}
	g.step(StepCheck)
	if err := g.check(ctx); err != nil {
		return g.undo(err)
	}
	if ctx.Err() != nil {
		return g.undo(fmt.Errorf("%s: %w; it was left untouched", g.who(), context.Cause(ctx)))
	}
	g.step(StepClose)
	ctx = context.WithoutCancel(ctx)
	_, err = g.client.call(ctx, "tab.close", map[string]string{"tab_id": g.id.ID}, "ok", nil)
	if no := g.notClosed(err); no != nil {
		return g.undo(no)
	}
	if err != nil {
		g.log.Warn("close a tab", "tab", g.id.ID, "error", err)
	}
	g.step(StepReadBack)
	w, unsure := g.readBack(ctx)
	if unsure == nil && w.where == elsewhere {
		return g.undo(actuators.Changed("%s is gone, and its panes are in another tab; none of their processes was touched", g.who()))
	}
	if unsure != nil {
		how := "was closed"
		if err != nil {
			how = "was told to close, and did not say how that went (" + err.Error() + ")"
		}
		out := decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: panes.KeptUntil(g.Trash, in),
			Detail: fmt.Sprintf("%s %s: %v; what was saved of it stays in %s, and the next sweep looks again", g.who(), how, unsure, g.plan.Folder)}
		return out
	}
	out := g.bury(ctx, w)
	out.Detail += g.aftermath(w) + whereText(&g.plan, textless)
	return out
}

// undo removes what was saved of a tab that was not closed here.
func (g *grasp) undo(err error) decision.Outcome {
	if _, left := g.purge(&g.plan); left != nil {
		err = fmt.Errorf("%w; what was saved of it in %s could not be removed: %w", err, g.plan.Folder, left)
	}
	return actuators.OutcomeOf(err)
}

// notClosed says why a close had no effect, where that is sure: the request did not go out, or the server refused it in words
// that say so. After any other error it is not known.
func (g *grasp) notClosed(err error) error {
	switch code(err) {
	case "tab_not_found":
		return actuators.Gone("%s was not there any more when it was to be closed", g.who())
	case "tab_close_failed":
		return actuators.Refused("%s: %w: herdr does not close the last tab of a workspace; it was left untouched", g.who(), err)
	case "invalid_request":
		return actuators.Refused("%s: %w; it was left untouched", g.who(), err)
	case "confirmation_required":
		g.log.Error("a server asks its user whether to close a group of workspaces", "tab", g.id.ID)
		return fmt.Errorf("%s was not closed, and herdr asks its user IN A DIALOG NOW whether to close the whole group of workspaces: %w; "+
			"answer no there. Its workspace had a second tab, and was no group's main checkout, a moment before", g.who(), err)
	}
	if errors.Is(err, errNotSent) {
		return g.unread(err)
	}
	return nil
}

// readBack looks until the tab is positively gone. Its error says that it is not, or that this is not known.
func (g *grasp) readBack(ctx context.Context) (*whereabouts, error) {
	deadline := time.Now().Add(g.settles)
	for {
		w, err := g.whereabouts(ctx, &g.id)
		switch late := time.Now().After(deadline); {
		case err == nil && w.where != there:
			return w, nil
		case late && err != nil:
			return nil, fmt.Errorf("whether it is gone is not known: %w", err)
		case late:
			return nil, errors.New("the server still lists it")
		}
		time.Sleep(settlePause)
	}
}

// aftermath tells of what else is gone from the workspace, which no close of a tab should have taken with it.
func (g *grasp) aftermath(w *whereabouts) string {
	if w.view == nil {
		return "; its server does not listen any more"
	}
	if w.view.workspace(g.id.Workspace) == nil {
		g.log.Error("a workspace is gone after one of its tabs was closed", "tab", g.id.ID, "workspace", g.id.Workspace)
		return fmt.Sprintf("; WORKSPACE %s IS GONE TOO, although it had another tab a moment before", g.id.Workspace)
	}
	left := w.view.siblings(g.id.Workspace, g.id.ID)
	lost := slices.DeleteFunc(g.seen.siblings(g.id.Workspace, g.id.ID), func(id string) bool { return slices.Contains(left, id) })
	if len(lost) > 0 {
		return "; somebody else closed " + strings.Join(lost, ", ") + " of the same workspace meanwhile"
	}
	return ""
}

// whereText says where the panes' text is, and of which panes there is none.
func whereText(p *plan, textless []string) string {
	switch len(textless) {
	case 0:
		return fmt.Sprintf("; the text of %s is in %s", panes.Count(len(p.Panes), "pane", "panes"), p.Folder)
	case len(p.Panes):
		return "; no text of its panes was kept: the server does not give it (pane.read)"
	}
	return fmt.Sprintf("; the text of its panes is in %s, but for %s, which the server did not give", p.Folder, strings.Join(textless, ", "))
}
