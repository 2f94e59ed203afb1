package sweep

import (
	"context"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// Begin implements actuators.Grants.
func (s *Sweeper) Begin(ctx context.Context, act string, d decision.Decision) error {
	if Step != nil {
		Step("act.begin")
	}
	holds := s.Ledger.Holds
	if _, there := s.Policy.Rules()[decision.RuleHeld]; !there || s.Cfg.Rules.Level(d.Kind, decision.RuleHeld) == decision.Off {
		holds = nil // by the rules of this user, what is held may go
	}
	err := s.openOrder()
	var held *snapshot.Hold
	if err == nil {
		held, err = s.order.Begin(ctx, act, ledger.Takes(d), holds)
	}
	switch {
	case err != nil:
		return actuators.Refused("what is held could not be read right before the act on %s: %w; it was left untouched", d.ID, err)
	case held != nil:
		return actuators.Changed("%s must stay, by what was granted right before the act: held by %s: %s; it was left untouched", d.ID, held.Owner, held.Reason)
	}
	return nil
}

// openOrder opens the order of grants and acts, once for all acts of the sweep.
func (s *Sweeper) openOrder() (err error) {
	if s.order == nil {
		s.order, err = s.OpenGrants()
	}
	return err
}

// End implements actuators.Grants.
func (s *Sweeper) End(ctx context.Context, act string, taken bool) {
	if err := s.order.End(ctx, act, taken); err != nil {
		s.Log.Warn("say that an act has ended; until the end of this sweep nobody is granted what it was about", "act", act, "error", err)
	}
}
