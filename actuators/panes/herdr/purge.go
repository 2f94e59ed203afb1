package herdr

import (
	"context"
	"fmt"

	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// Purge implements actuators.Restorer. It removes the files that the act made and their folder, and nothing else. What is not
// there any more is no error.
func (a *Actuator) Purge(_ context.Context, in decision.Intent) (int64, error) {
	p, err := planOf(in)
	if err != nil {
		return 0, err
	}
	return a.purge(p)
}

func (a *Actuator) purge(p *plan) (int64, error) {
	freed, err := a.kept(p).Purge()
	if err != nil {
		return freed, fmt.Errorf("remove the saved text of tab %s (%q): %w", p.Tab, p.Label, err)
	}
	return freed, nil
}

// kept is where the text of a plan's panes is, or will be.
func (a *Actuator) kept(p *plan) panes.Kept {
	return panes.Kept{Trash: a.Trash, Act: p.Act, Panes: len(p.Panes)}
}
