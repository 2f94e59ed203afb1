package dirs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"winnow/actuators"
	"winnow/engine/decision"
)

// Do moves the folder into the trash, looks under its new name for anybody who uses it and for anything that changed since it was
// judged, and puts it back when there is. It removes nothing.
func (g *grasp) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	s, err := g.site(in)
	if err != nil {
		return decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("%v; nothing was done", err)}
	}
	if in.ID != g.act {
		return decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("act %s is not the one that %s is held for; nothing was done", in.ID, g.want.Path)}
	}
	g.want = *in.Identity.Dir
	g.o.Step("dir.check")
	if err := g.again(ctx); err != nil {
		return actuators.OutcomeOf(untouched(g.want.Path, err))
	}
	if err := s.prepare(ctx); err != nil {
		return s.abandon(ctx, untouched(g.want.Path, err))
	}
	g.o.Step("dir.move")
	if err := g.move(s); err != nil {
		return s.stopped(ctx, untouched(g.want.Path, err))
	}
	return s.finish(ctx)
}

// again goes the way to the folder once more: it must end in the one that is held, and all that was checked must still be so.
func (g *grasp) again(ctx context.Context) error {
	if err := g.allowed(); err != nil {
		return err
	}
	parent, held, err := locate(g.want.Root, g.want.Path)
	if err != nil {
		return err
	}
	was, err := g.held.stamp()
	now, err2 := held.stamp()
	if err := errors.Join(err, err2); err != nil || !now.same(was) {
		return errors.Join(err, actuators.Changed("it is another folder now"), parent.close(), held.close())
	}
	if err := errors.Join(g.parent.close(), held.close()); err != nil {
		g.o.Log.Debug("let go of a folder", "error", err)
	}
	g.parent = parent
	return g.check(ctx)
}

// move renames the folder in the parent that it was found in, and makes that durable.
func (g *grasp) move(s *site) error {
	trash, err := openFolder(s.plan.Trash)
	if err != nil {
		return err
	}
	defer trash.close()
	if err := s.tree.rename(g.parent, filepath.Base(g.want.Path), trash, treeName); err != nil {
		return err
	}
	return errors.Join(g.parent.sync(), trash.sync())
}

// stopped ends an act whose move failed: by looking, since a failed sync comes after the rename. A folder that is neither here nor
// there was taken by somebody else, and nothing of it is this act's.
func (s *site) stopped(ctx context.Context, why error) decision.Outcome {
	at, err := s.tree.look()
	switch {
	case err != nil:
		return decision.Outcome{Outcome: decision.Failed, Open: true,
			Detail: fmt.Sprintf("%v; where it is now could not be found out: %v; the next sweep looks again", why, err)}
	case at.away:
		return s.putBack(ctx, why)
	}
	return s.abandon(ctx, why)
}

// Settle looks where an act that was cut short left the folder, and finishes or undoes it.
func (a *Actuator) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	s, err := a.site(in)
	if err != nil {
		return decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("cut short; %v; nothing was done", err)}
	}
	at, err := s.tree.look()
	if err != nil {
		return decision.Outcome{Outcome: decision.Failed, Open: true, Detail: fmt.Sprintf("cut short; find out how it went: %v; nothing was done", err)}
	}
	switch {
	case at.home:
		return s.abandon(ctx, fmt.Errorf("%s: interrupted before it was set aside; it is as it was", s.plan.From))
	case at.away:
		out := s.finish(ctx)
		out.Detail = "cut short and settled now: " + out.Detail
		return out
	}
	if s.admin != nil {
		if err := s.unlock(s.admin.home); err != nil {
			a.o.Log.Debug("unlock the entry of a folder that is gone", "act", in.ID, "error", err)
		}
	}
	return decision.Outcome{Outcome: decision.Failed,
		Detail: fmt.Sprintf("cut short: the folder is neither at %s nor in %s, so somebody else moved or removed it; its commits are kept under %s",
			s.plan.From, s.plan.Trash, refPrefix(in.ID))}
}
