package herdr

import (
	"context"
	"fmt"
	"os"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
)

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
	err = h.keptText().Save(h.plan, func(write panes.Writer) error {
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
