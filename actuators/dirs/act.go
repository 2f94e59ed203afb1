package dirs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
)

// leaving is a folder that an act has moved, and that is looked at under its new name.
type leaving struct {
	*handle
	*site
	// before and moved are the folder that it was in, right before and after the move. timed is true where both are known.
	before, moved folder.Stamp
	timed         bool
	out           decision.Outcome
}

// Batch implements actuators.Batcher: a folder is not in one batch with one that it lies in.
func (a *Actuator) Batch(ds []decision.Decision) int {
	for i, d := range ds {
		if d.Identity.Dir == nil {
			return max(i, 1)
		}
		path := d.Identity.Dir.Path
		if slices.ContainsFunc(ds[:i], func(other decision.Decision) bool {
			return actuators.IsBelow(path, other.Identity.Dir.Path) || actuators.IsBelow(other.Identity.Dir.Path, path)
		}) {
			return i
		}
	}
	return len(ds)
}

// Act is ActTogether of the one folder.
func (g *handle) Act(ctx context.Context, in decision.Intent) decision.Outcome {
	return *g.ActTogether(ctx, []actuators.Held{g}, []decision.Intent{in}, func(int) error { return nil })[0]
}

// ActTogether implements actuators.Together. It moves the folders into the trash, then looks under their new names for processes that use
// them, in one look for all, and in each for anything that changed since it was judged, and puts back those in which there is. It removes nothing.
func (a *Actuator) ActTogether(ctx context.Context, held []actuators.Held, ins []decision.Intent, begin func(i int) error) []*decision.Outcome {
	outs := make([]*decision.Outcome, len(held))
	var left []*leaving
	var moved []*site
	for i, h := range held {
		err := begin(i)
		if errors.Is(err, actuators.ErrStale) {
			break
		}
		if err != nil {
			outs[i] = new(actuators.OutcomeOf(err))
			continue
		}
		l, out := h.(*handle).setAside(ctx, ins[i])
		if outs[i] = &out; l == nil {
			continue
		}
		outs[i] = &l.out
		left, moved = append(left, l), append(moved, l.site)
	}
	for range left {
		a.o.Step("dir.look")
	}
	u := a.usersOf(ctx, moved...)
	for _, l := range left {
		l.out = l.finish(ctx, u)
	}
	a.unmark(left)
	return outs
}

// setAside moves the folder into the trash. Where it did not, there is an outcome.
func (g *handle) setAside(ctx context.Context, in decision.Intent) (*leaving, decision.Outcome) {
	s, err := g.site(in)
	if err != nil {
		return nil, decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("%v; nothing was done", err)}
	}
	if in.ID != g.act {
		return nil, decision.Outcome{Outcome: decision.Failed, Detail: fmt.Sprintf("act %s is not the one that %s is held for; nothing was done", in.ID, g.want.Path)}
	}
	g.want = *in.Identity.Dir
	g.o.Step("dir.check")
	if err := g.recheck(ctx); err != nil {
		return nil, actuators.OutcomeOf(untouched(g.want.Path, err))
	}
	g.saving = false
	if err := s.prepare(g.refs); err != nil {
		return nil, s.abandon(ctx, untouched(g.want.Path, err))
	}
	g.o.Step("dir.move")
	before, err := g.parent.Stamp()
	if fail := g.move(s); fail != nil {
		return nil, s.stopped(ctx, untouched(g.want.Path, fail))
	}
	moved, err2 := g.parent.Stamp()
	return &leaving{handle: g, site: s, before: before, moved: moved, timed: errors.Join(err, err2) == nil}, decision.Outcome{}
}

// recheck goes the way to the folder once more: it must end in the one that is held, and all that was checked must still be so. What lies
// in the folder and in its entry is compared after the move, when no program reaches it by its old name.
func (g *handle) recheck(ctx context.Context) error {
	if err := g.allowed(); err != nil {
		return err
	}
	if g.want.Gone {
		return g.stillGone(ctx)
	}
	parent, held, err := locate(g.want.Root, g.want.Path)
	if err != nil {
		return err
	}
	was, err := g.held.Stamp()
	now, err2 := held.Stamp()
	if err := errors.Join(err, err2); err != nil || !now.Equal(was) {
		return errors.Join(err, actuators.Changed("it is another folder now"), parent.Close(), held.Close())
	}
	if err := errors.Join(g.parent.Close(), held.Close()); err != nil {
		g.o.Log.Debug("let go of a folder", "error", err)
	}
	g.parent = parent
	if err := g.check(ctx); err != nil || g.plan.Admin == nil {
		return err
	}
	lock, err := g.atRest(g.plan.Admin.From)
	if err == nil && !sameText(lock, g.plan.Admin.Lock) {
		err = actuators.Changed("its lock changed (git worktree lock)")
	}
	if err != nil {
		return err
	}
	clean, err := g.submodules(ctx, g.plan.Admin.From, g.plan.Admin.Common)
	if err == nil && !maps.Equal(clean, g.clean) {
		err = actuators.Changed("its submodules changed")
	}
	return err
}

func sameText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// move renames the folder in the parent that it was found in, and makes that durable.
func (g *handle) move(s *site) error {
	trash, err := folder.Open(s.plan.Trash)
	if err != nil {
		return err
	}
	defer trash.Close()
	if g.want.Gone {
		if err := missing(g.want); err != nil {
			return err
		}
	}
	if err := s.tree.rename(g.parent, filepath.Base(s.tree.home), trash, treeName); err != nil {
		return err
	}
	return errors.Join(g.parent.Sync(), trash.Sync())
}

// stopped ends an act whose move failed: by looking, since a failed sync comes after the rename. A folder that is neither here nor
// there was taken by another program or person, and this act leaves it alone.
func (s *site) stopped(ctx context.Context, why error) decision.Outcome {
	at, err := s.tree.look()
	switch {
	case err != nil:
		return decision.Outcome{Outcome: decision.Failed, Open: true,
			Detail: fmt.Sprintf("%v; where it is now is unknown: %v; the next sweep looks again", why, err)}
	case at.away:
		return s.putBack(ctx, why)
	}
	return s.abandon(ctx, why)
}

// Undo puts back what an act that was cut short had moved, and says why it was not finished.
func (a *Actuator) Undo(ctx context.Context, in decision.Intent, why error) decision.Outcome {
	s, err := a.site(in)
	if err == nil {
		if at, err := s.tree.look(); err == nil && at.away {
			return s.putBack(ctx, why)
		}
	}
	return a.Settle(ctx, in)
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
		return s.abandon(ctx, fmt.Errorf("%s: interrupted before it was set aside; it was left untouched", s.plan.From))
	case at.away:
		a.o.Step("dir.look")
		out := s.finish(ctx, a.usersOf(ctx, s))
		out.Detail = "cut short and settled now: " + out.Detail
		return out
	}
	if s.admin != nil {
		if err := act.Unlock(s.admin.home, ownLock(in.ID)); err != nil {
			a.o.Log.Debug("unlock the entry of a folder that is gone", "act", in.ID, "error", err)
		}
	}
	return decision.Outcome{Outcome: decision.Failed,
		Detail: fmt.Sprintf("cut short: the folder is neither at %s nor in %s, so another program moved or removed it. Its commits are kept under %s",
			s.plan.From, s.plan.Trash, refPrefix(in.ID))}
}

// checkAround is for a folder that goes out of a worktree that stays: that must be a linked worktree still, no repository's main checkout,
// and nothing that Winnow runs under may stand in it.
func (g *handle) checkAround(self []int) error {
	at := g.want.In
	if !actuators.IsBelow(g.want.Path, at) || g.want.Path == at || !actuators.IsBelow(at, g.want.Root) || at == g.want.Root {
		return actuators.Refused("%s does not lie in a worktree below %s", g.want.Path, g.want.Root)
	}
	if err := actuators.NobodyOfOurs(g.o.ProcRoot, self, at); err != nil {
		return err
	}
	parent, held, err := locate(g.want.Root, at)
	if err != nil {
		return err
	}
	linked, err := actuators.NotMainCheckout(held.FD, at)
	if err := errors.Join(err, parent.Close(), held.Close()); err != nil {
		return err
	}
	if !linked {
		return actuators.Changed("%s, in which it lies, is no worktree any more", at)
	}
	return nil
}

// around makes sure that the worktree that the folder was taken out of is in its place: a folder that is made for it alone would be in the way
// of the worktree.
func (s *site) around() error {
	at := s.in.Identity.Dir.In
	f, err := folder.Open(at)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return actuators.Refused("the worktree %s is not in its place; nothing was restored. Bring it back first (winnow trash lists it), or leave this to its tool, which makes it again: it lies in %s",
			at, s.tree.away)
	}
	if err != nil {
		return actuators.Refused("look at the worktree %s: %w; nothing was restored", at, err)
	}
	return f.Close()
}

// unmark gives the folders that content was taken out of the times that they had before, where nothing but these acts has changed them: what
// Winnow does is no sign of work in the worktree. Several acts may have taken something out of one folder, one after the other.
func (a *Actuator) unmark(left []*leaving) {
	type place struct{ dev, ino uint64 }
	first, last := map[place]*leaving{}, map[place]*leaving{}
	foreign := map[place]bool{}
	for _, l := range left {
		at := place{l.before.Dev, l.before.Ino}
		before := last[at]
		if before == nil {
			first[at] = l
		}
		last[at] = l
		if l.want.In == "" || !l.timed || l.out.Outcome != decision.Done || before != nil && !before.moved.Modified.Equal(l.before.Modified) {
			foreign[at] = true
		}
	}
	for at, l := range last {
		if now, err := l.parent.Stamp(); foreign[at] || err != nil || !now.Modified.Equal(l.moved.Modified) {
			continue
		}
		if err := setModified(l.parent, first[at].before.Modified); err != nil {
			a.o.Log.Debug("set the time of a folder back", "path", l.parent.Path, "error", err)
		}
	}
}

// mark gives content that came back the time of now: that a person wants it is a sign of work, so that the next sweep leaves it.
func (s *site) mark() {
	if s.in.Identity.Dir.In == "" && !s.plan.Gone {
		return
	}
	f, err := folder.Open(s.tree.home)
	if err == nil {
		err = errors.Join(setModified(f, time.Now()), f.Close())
	}
	if err != nil {
		s.o.Log.Debug("set the time of a folder that came back", "path", s.tree.home, "error", err)
	}
}

func setModified(f folder.Folder, at time.Time) error {
	to, err := unix.TimeToTimespec(at)
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(f.FD, ".", []unix.Timespec{{Nsec: unix.UTIME_OMIT}, to}, 0)
}
