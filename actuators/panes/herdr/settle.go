package herdr

import (
	"context"
	"fmt"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
)

// Settle implements actuators.Actuator. A tab counts as gone only where a server no longer lists it, or lists others'
// terminals under its id, or where no server listens and its shells have ended. Processes that outlived the close are left to
// later sweeps: nothing has held them since, so their numbers may be others'.
func (a *Actuator) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	id := in.Identity.Tab
	if err := admissible(in.ID, in.Candidate, id); err != nil {
		return actuators.OutcomeOf(fmt.Errorf("how the act on %s went is not known: %w", in.Candidate, err))
	}
	w, err := a.whereabouts(ctx, id)
	if err != nil {
		return decision.Outcome{Outcome: decision.Failed, Open: true, RestoreUntil: panes.KeptUntil(a.Trash, in),
			Detail: fmt.Sprintf("whether %s is gone is unknown: %v; what was saved of it is kept, and the next sweep looks again", called(id), err)}
	}
	switch w.where {
	case there:
		return panes.Interrupted(a.Trash, in, decision.Failed,
			fmt.Sprintf("the act on %s was interrupted before it was closed; nothing was done, and the next sweep decides again", called(id)))
	case elsewhere:
		return panes.Interrupted(a.Trash, in, decision.Changed,
			fmt.Sprintf("the act on %s was interrupted before it was closed, and its panes are in another tab now; nothing was done", called(id)))
	}
	return decision.Outcome{Outcome: decision.Done, RestoreUntil: panes.KeptUntil(a.Trash, in),
		Detail: fmt.Sprintf("%s is gone; settled after an interruption. Processes that outlived it are left to the next sweep", called(id))}
}
