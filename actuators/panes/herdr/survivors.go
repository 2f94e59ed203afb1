package herdr

import (
	"context"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
)

// hangUpWithin is how long the processes of a closed tab have to end. herdr itself hangs up, asks and kills, a quarter of a
// second each, before it answers.
const hangUpWithin = 500 * time.Millisecond

// bury ends the held processes that outlived the close, but none in a pane that was moved out of the tab at the last moment, nor
// in any where another server answers now: a server that is handed over keeps its shells.
func (h *held) bury(ctx context.Context, w *whereabouts) decision.Outcome {
	return panes.Burial{
		Who: fmt.Sprintf("%s of the herdr server on %s", h.who(), h.id.Socket), By: "close",
		Within: hangUpWithin, TermGrace: h.TermGrace, Spare: func(m *procact.Held) error { return h.checkOurs(m, w) },
		Never: h.Never, Step: h.Step, Term: StepTerm, Kill: StepKillLeft, Log: h.Log.With("tab", h.id.ID),
	}.Bury(ctx, h.members)
}

// checkOurs says why a process is not this act's to end, or nothing.
func (h *held) checkOurs(m *procact.Held, w *whereabouts) error {
	switch {
	case m.Ended():
		return nil
	case w.moved[h.pane[m].Terminal] != "":
		return actuators.Changed("its pane was moved, and is %s now", w.moved[h.pane[m].Terminal])
	case w.view == nil || w.view.Server != h.id.ServerPID:
		return actuators.Changed("the server is no longer the one that was asked to close the tab")
	}
	return nil
}
