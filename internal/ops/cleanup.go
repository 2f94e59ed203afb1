package ops

import (
	"context"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

// Cleanup closes one finished worker's session, or reaps one candidate. mine is true where who asks declares that it is theirs and may go. An error may be a *document.Declined.
func (o *Ops) Cleanup(ctx context.Context, arg string, mine bool) (out document.Cleaned, err error) {
	e, p, err := o.Engine(ctx)
	if err != nil {
		return out, err
	}
	s, err := o.OpenSweeper(ctx, e, p, true, sweep.AskedWait)
	if err != nil {
		return out, err
	}
	defer s.Close()
	if err := s.Halted(); err != nil {
		return out, fmt.Errorf("%w; nothing was closed", err)
	}
	started := time.Now()
	if out.Settled, err = s.Settle(ctx); err != nil {
		return out, err
	}
	mem := s.Remembered(ctx)
	snap, t, err := o.lookFor(ctx, s, mem, arg, mine)
	if err != nil {
		return out, err
	}
	res, err := s.Engine.Decide(ctx, snap, &s.Cfg.Rules.Config)
	if err != nil {
		return out, fmt.Errorf("decide: %w; nothing was closed", err)
	}
	if no := o.Closable(t, snap, res.Decisions...); no != nil {
		return out, decline(no)
	}
	d, no := t.Verdict(res, s.Cfg.Act.Kinds)
	if no != nil {
		return out, decline(no)
	}
	act, err := s.CleanUp(ctx, started, snap, mem, t, res, d)
	if err != nil {
		return out, err
	}
	if no, code := t.Undone(act); no != nil {
		return out, exit.Error{Code: code, Err: no}
	}
	out.Cleaned, out.Act = t.ID, &act
	if owner := t.Owner(); owner != nil {
		out.Worker = owner.ID
	}
	return out, nil
}

// lookFor looks at the machine, and in full at what arg names.
func (o *Ops) lookFor(ctx context.Context, s *sweep.Sweeper, mem look.PriorState, arg string, mine bool) (*snapshot.Snapshot, sweep.Target, error) {
	snap, err := s.LookFor(ctx, sources.Scope{}, mem, s.Engine)
	if err != nil {
		return nil, sweep.Target{}, err
	}
	if err := o.PartInFull(ctx, snap, arg); err != nil {
		return nil, sweep.Target{}, fmt.Errorf("look into %s: %w; nothing was closed", arg, err)
	}
	t, err := o.FindTarget(ctx, snap, arg)
	if err != nil {
		return nil, t, err
	}
	if mine && t.ID != arg { // another one that merely has this in its name
		return nil, t, config.Usagef("--mine needs the whole id of a worktree, and %s was not found; nothing was done", arg)
	}
	t.Mine = mine
	snap.Asked = t.Word()
	if err := o.InFull(ctx, snap, t.ID); err != nil {
		return nil, t, fmt.Errorf("look into %s: %w; nothing was closed", t.ID, err)
	}
	return snap, t, nil
}
