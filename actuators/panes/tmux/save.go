package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

// Save implements actuators.Held: it keeps the scrollback of every pane and the manifest.
func (g *handle) Save(ctx context.Context) error {
	g.Step(StepSave)
	err := g.keptText().Save(g.plan, func(write panes.Writer) error {
		for _, p := range g.plan.Panes {
			if err := write(p.File, func(f *os.File) error { return g.server.Capture(ctx, p.ID, f) }); err != nil {
				return fmt.Errorf("save the scrollback of pane %s: %w", p.ID, err)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, wire.ErrTooLong):
		return actuators.Refused("session %s: %w; it was left untouched: clear-history in that pane, or end it by hand", g.who(), err)
	case err != nil:
		if l, lost := g.server.List(ctx, ""); lost == nil {
			if changed := g.checkIdentity(l); changed != nil {
				return changed
			}
		}
		return fmt.Errorf("session %s: %w; it was left untouched", g.who(), err)
	}
	g.saved = true
	return nil
}

// Close implements actuators.Held. It removes what was saved of a session that was not killed.
func (g *handle) Close() error {
	for _, h := range append(g.members, g.host) {
		if h != nil {
			h.Close()
		}
	}
	g.host, g.members = nil, nil
	if !g.saved || g.keep {
		return nil
	}
	g.saved = false
	_, err := g.keptText().Purge()
	return err
}
