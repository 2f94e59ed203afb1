package dirs

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

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

// idleAround makes sure, once the folder is away, that no process uses the worktree that it was taken out of: what starts there finds the
// folder missing.
func (s *site) idleAround(u users) error {
	at := s.in.Identity.Dir.In
	if at == "" {
		return nil
	}
	return u.refuseUsed(at)
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
