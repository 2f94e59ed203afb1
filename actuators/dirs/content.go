package dirs

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/internal/folder"
)

// checkAround is for a folder that goes out of a worktree that stays: that must be a linked worktree still, no repository's main checkout,
// and nothing that Winnow runs under may stand in it.
func (g *grasp) checkAround(self []int) error {
	at := g.want.In
	if !actuators.Within(g.want.Path, at) || g.want.Path == at || !actuators.Within(at, g.want.Root) || at == g.want.Root {
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

// idleAround makes sure, once the folder is away, that no process uses the worktree that it was taken out of: what starts there finds the
// folder missing.
func (s *site) idleAround(ctx context.Context) error {
	at := s.in.Identity.Dir.In
	if at == "" {
		return nil
	}
	return s.nobody(ctx, at)
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

// unmark gives the folder that the content was in the time that it had before the act, where nothing but the act has changed it: what
// Winnow does is no sign of work in the worktree.
func (g *grasp) unmark(before, moved folder.Stamp) {
	if now, err := g.parent.Stamp(); err != nil || !now.Modified.Equal(moved.Modified) {
		return
	}
	if err := setModified(g.parent, before.Modified); err != nil {
		g.o.Log.Debug("set the time of a folder back", "path", g.parent.Path, "error", err)
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
