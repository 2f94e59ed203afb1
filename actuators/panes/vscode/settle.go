package vscode

import (
	"context"
	"errors"
	"fmt"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/vscode"
)

// Settle implements actuators.Actuator. A tab counts as closed only where its very window no longer lists it. A window that was closed or
// loaded again took its tabs and their numbers with it.
func (a *Actuator) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	e := in.Identity.Editor
	if err := admissible(in.ID, in.Candidate, e); err != nil {
		return actuators.OutcomeOf(fmt.Errorf("how the act on %s went is not known: %w", in.Candidate, err))
	}
	there, err := a.exists(ctx, e)
	switch {
	case errors.Is(err, vscode.ErrNoServer), errors.Is(err, vscode.ErrAnother):
		return decision.Outcome{Outcome: decision.Gone, RestoreUntil: panes.KeptUntil(a.Trash, in),
			Detail: fmt.Sprintf("%s: its window was closed or loaded again before it was known whether the tab was closed; a window that was loaded again is looked at as a new one", called(e))}
	case err != nil:
		return decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: panes.KeptUntil(a.Trash, in),
			Detail: fmt.Sprintf("whether %s is gone is not known: %v; what was saved of it is kept, and the next sweep looks again", called(e), err)}
	case there:
		return panes.Interrupted(a.Trash, in, decision.Failed,
			fmt.Sprintf("the act on %s was interrupted, and the window still shows it; no process was touched, and the next sweep decides again", called(e)))
	}
	return decision.Outcome{Outcome: decision.Done, RestoreUntil: panes.KeptUntil(a.Trash, in), Detail: called(e) + " is gone; settled after an interruption"}
}
