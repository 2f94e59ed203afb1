package panes

import (
	"context"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
)

// acting is what a kind's actuator has to be able to do.
type acting interface {
	actuators.Actuator
	actuators.Restorer
}

// Tabs acts on tabs, each through the program that it is a tab of.
type Tabs struct {
	Herdr, Editor acting
}

var _ acting = Tabs{}

func (t Tabs) actuatorFor(id decision.Identity) acting {
	if id.Editor != nil {
		return t.Editor
	}
	return t.Herdr
}

// Hold implements actuators.Actuator.
func (t Tabs) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	if d.Identity.Editor != nil && d.Identity.Tab != nil {
		return nil, actuators.Refused("%s is a tab of herdr and of an editor at once; it was left untouched", d.ID)
	}
	return t.actuatorFor(d.Identity).Hold(ctx, act, d)
}

// Settle implements actuators.Actuator.
func (t Tabs) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	return t.actuatorFor(in.Identity).Settle(ctx, in)
}

// Restore implements actuators.Restorer.
func (t Tabs) Restore(ctx context.Context, in decision.Intent) (string, error) {
	return t.actuatorFor(in.Identity).Restore(ctx, in)
}

// Purge implements actuators.Restorer.
func (t Tabs) Purge(ctx context.Context, in decision.Intent) (int64, error) {
	return t.actuatorFor(in.Identity).Purge(ctx, in)
}
