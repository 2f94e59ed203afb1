package herdr

import (
	"context"
	"fmt"
	"time"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// hangUpWithin is how long the processes of a closed tab have to end. herdr itself hangs up, asks and kills, a quarter of a
// second each, before it answers.
const hangUpWithin = 500 * time.Millisecond

// bury ends the held processes that outlived the close, but none in a pane that was moved out of the tab at the last moment, nor
// in any where another server answers now: a server that is handed over keeps its shells.
func (g *grasp) bury(ctx context.Context, w *whereabouts) decision.Outcome {
	return panes.Burial{
		Who: fmt.Sprintf("%s of the herdr server on %s", g.who(), g.id.Socket), By: "close",
		Within: hangUpWithin, TermGrace: g.TermGrace, Spare: func(h *panes.Held) error { return g.others(h, w) },
		Never: g.never, Step: g.step, Term: StepTerm, Kill: StepKillLeft, Log: g.log.With("tab", g.id.ID),
	}.Bury(ctx, g.members)
}

// others says why a process is not this act's to end, or nothing.
func (g *grasp) others(h *panes.Held, w *whereabouts) error {
	switch {
	case h.Over():
		return nil
	case w.moved[g.pane[h].Terminal] != "":
		return actuators.Changed("its pane was moved, and is %s now", w.moved[g.pane[h].Terminal])
	case w.view == nil || w.view.peer != g.client.server:
		return actuators.Changed("the server is not the one any more that was asked to close the tab")
	}
	return nil
}
