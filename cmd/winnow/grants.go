package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// holds are those in a ledger, and the leases, which count for every state folder. A nil ledger has none.
func (a *stateFolder) holds(ctx context.Context, l *ledger.Ledger) ([]snapshot.Hold, error) {
	all, err := a.acting.Leases(ctx, a.cfg.State)
	if err != nil || l == nil {
		return all, err
	}
	holds, err := l.Holds(ctx)
	all = append(holds, all...)
	slices.SortStableFunc(all, func(x, y snapshot.Hold) int { return strings.Compare(x.ID, y.ID) })
	return all, err
}

// lift lifts the holds and the leases on a candidate, and says how many there were.
func (a *stateFolder) lift(ctx context.Context, l *ledger.Ledger, id string) (n int, err error) {
	if n, err = l.Release(ctx, id, ""); err != nil {
		return n, err
	}
	leases, err := a.acting.Leases(ctx, a.cfg.State)
	if err != nil || !slices.ContainsFunc(leases, func(h snapshot.Hold) bool { return h.ID == id }) {
		return n, err
	}
	g, err := a.openGrants()
	if err != nil {
		return n, err
	}
	more, err := g.Release(ctx, id, "")
	return n + more, errors.Join(err, g.Close())
}

// place places a hold unless an act has begun that takes it: the error is a *ledger.Begun then.
func (a *stateFolder) place(ctx context.Context, id string, place func() error) error {
	g, err := a.openGrants()
	if err != nil {
		return err
	}
	return errors.Join(g.Place(ctx, id, place), g.Close())
}

func (a *stateFolder) openGrants() (*ledger.Grants, error) {
	root := a.cfg.Collect.Processes.Root
	return a.acting.OpenGrants(a.cfg.State, func(id string) ([]int, error) { return lineOf(root, id) })
}

// lineOf gives the process of a candidate's id and all above it; none where that process has ended.
func lineOf(root, id string) ([]int, error) {
	var pid int
	var ticks uint64
	if _, err := fmt.Sscanf(strings.TrimPrefix(id, snapshot.KindProcess+":"), "%d@%d", &pid, &ticks); err != nil {
		return nil, nil // it names no process that ever was
	}
	h, err := proc.Hold(root, pid)
	if errors.Is(err, proc.ErrEnded) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if h.Was.Start != ticks {
		return nil, nil
	}
	line, err := proc.Lineage(root, pid)
	if h.Over() {
		return nil, nil
	}
	return line, err
}

// Begin implements actuators.Grants.
func (s *sweeper) Begin(ctx context.Context, act string, d decision.Decision) error {
	if step != nil {
		step("act.begin")
	}
	holds := s.ledger.Holds
	if _, there := s.policy.Rules()[decision.RuleHeld]; !there || s.cfg.Rules.Level(d.Kind, decision.RuleHeld) == decision.Off {
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
func (s *sweeper) openOrder() (err error) {
	if s.order == nil {
		s.order, err = s.openGrants()
	}
	return err
}

// End implements actuators.Grants.
func (s *sweeper) End(ctx context.Context, act string, taken bool) {
	if err := s.order.End(ctx, act, taken); err != nil {
		s.log.Warn("say that an act has ended; until the end of this sweep nobody is granted what it was about", "act", act, "error", err)
	}
}
