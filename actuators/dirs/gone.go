package dirs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// A worktree whose folder is gone leaves an entry in its repository, <common>/worktrees/<name>. An act moves that one entry into the trash, as
// it moves a folder: in it the entry is called tree. Nothing else of the repository is touched, and no prune is run.

// takeEntry takes hold of the entry of a worktree whose folder is gone, and plans where it goes.
func (g *handle) takeEntry(ctx context.Context) error {
	admin, common, err := g.holdEntry(ctx)
	if err != nil {
		return err
	}
	s, err := g.held.Stamp()
	if err != nil {
		return actuators.Refused("look at its entry: %w", err)
	}
	trash, err := g.trashFor(s)
	if err != nil {
		return err
	}
	lock, err := g.atRest(admin)
	if err != nil {
		return err
	}
	f, err := g.held.OpenBelow(".", unix.O_RDONLY)
	if err != nil {
		return actuators.Refused("look into its entry: %w", err)
	}
	defer f.Close()
	was, err := surveyor{refuse: modules(nil)}.take(ctx, f) // an act puts no lock on an entry that goes by itself, so a lock is part of it
	if err != nil {
		return err
	}
	g.plan = plan{From: g.want.Path, Root: g.want.Root, Trash: trash, Gone: true, Tree: &was, Admin: &adminPlan{
		From: admin, To: filepath.Join(trash, treeName), Common: common, Head: g.want.Head, Refs: refPrefix(g.act), Lock: lock,
		Device: s.Dev, Inode: s.Ino, BornAt: s.Born,
	}}
	return nil
}

// holdEntry opens the entry and the folder of entries, on a way without links, checks the entry, and gives its path and that of the repository.
func (g *handle) holdEntry(ctx context.Context) (admin, common string, err error) {
	if g.want.Head == "" || g.want.AdminDir == "" || g.want.CommonDir == "" || !g.want.Worktree {
		return "", "", actuators.Refused("its repository or its commit is not known")
	}
	if _, err := os.Lstat(g.want.AdminDir); errors.Is(err, os.ErrNotExist) {
		return "", "", actuators.Gone("the entry %s of %s no longer exists", g.want.AdminDir, g.want.Path)
	}
	if admin, common, err = g.repository(); err != nil {
		return "", "", err
	}
	if admin != g.want.AdminDir || common != g.want.CommonDir {
		return "", "", actuators.Refused("a link leads to its entry %s", g.want.AdminDir)
	}
	if _, err := safeopen.Folder(common); err != nil {
		return "", "", actuators.Refused("its repository: %w", err)
	}
	parent, err := folder.Open(filepath.Dir(admin))
	if err != nil {
		return "", "", opening(admin, err)
	}
	held, err := parent.OpenBelow(filepath.Base(admin), unix.O_PATH)
	if err != nil {
		return "", "", errors.Join(opening(admin, err), parent.Close())
	}
	if err := errors.Join(g.parent.Close(), g.held.Close()); err != nil {
		g.o.Log.Debug("let go of a folder", "error", err)
	}
	g.parent, g.held = parent, held
	return admin, common, g.checkEntry(ctx, admin, common)
}

// checkEntry makes sure that the entry that is held is the one that is wanted, that it is at rest, and that its worktree's folder is gone.
func (g *handle) checkEntry(ctx context.Context, admin, common string) error {
	s, err := g.held.Stamp()
	if err != nil {
		return actuators.Refused("look at its entry: %w", err)
	}
	want := stampOf(g.want)
	switch {
	case !s.Equal(want):
		return actuators.Changed("its entry %s is another one now", admin)
	case s.MountRoot || want.Mount == 0 || s.Mount != want.Mount || s.UID != os.Geteuid() && os.Geteuid() != 0:
		return actuators.Refused("its entry %s is a mount point, on another mount than before, or another user's", admin)
	}
	self, err := proc.Lineage(g.o.ProcRoot, os.Getpid())
	if err != nil {
		return actuators.Refused("find out what Winnow runs under: %w", err)
	}
	for _, path := range []string{g.want.Path, admin} {
		if err := mounted(path); err != nil {
			return err
		}
		if err := actuators.NobodyOfOurs(g.o.ProcRoot, append(self, g.o.Self...), path); err != nil {
			return err
		}
	}
	if err := objectsElsewhere(ctx, common, admin); err != nil {
		return err
	}
	if path, err := git.EntryPath(admin); err != nil || path != g.want.Path {
		return errors.Join(actuators.Changed("its entry names another folder now"), err)
	}
	head, err := git.NewRefs(common).Head(admin)
	if err != nil {
		return actuators.Refused("read its HEAD: %w", err)
	}
	if head != g.want.Head {
		return actuators.Changed("its HEAD is another commit now")
	}
	return missing(g.want)
}

// missing makes sure that the worktree's folder is gone: the folder around it is there, without a link on the way and on the mount of the
// entry, and does not have its name.
func missing(d decision.Dir) error {
	parent, err := folder.Open(filepath.Dir(d.Path))
	if err != nil {
		return actuators.Refused("look whether it is gone: %w", err)
	}
	defer parent.Close()
	around, err := parent.Stamp()
	if err != nil {
		return actuators.Refused("look whether it is gone: %w", err)
	}
	if around.Dev != d.Device || around.Mount != d.MountID {
		return actuators.Refused("%s is on another mount than its entry", parent.Path)
	}
	switch _, err = folder.StampAt(parent.FD, filepath.Base(d.Path)); {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return actuators.Refused("look whether it is gone: %w", err)
	}
	return actuators.Changed("its folder is there again")
}

// stillGone goes the way to the entry once more: it must be the one that is held, and all that was checked must still be so.
func (g *handle) stillGone(ctx context.Context) error {
	admin, _, err := g.holdEntry(ctx)
	if err != nil {
		return err
	}
	lock, err := g.atRest(admin)
	if err == nil && !sameText(lock, g.plan.Admin.Lock) {
		err = actuators.Changed("its lock changed (git worktree lock)")
	}
	return err
}

// goneYet makes sure, once the entry is away, that the folder has not come back meanwhile and that no process works in it.
func (s *site) goneYet(u users) error {
	if err := missing(*s.in.Identity.Dir); err != nil {
		return err
	}
	if _, err := s.atRest(s.tree.away); err != nil {
		return err
	}
	if err := u.refuseUsed(s.tree.home); err != nil { // what was moved by hand still leads to the entry's own place
		return err
	}
	return u.refuseUsed(s.plan.From)
}

// entry is the place of the worktree's entry in its repository.
func (s *site) entry() string { return s.plan.Admin.From }

// what names what the act moves, for a message.
func (s *site) what() string {
	if s.plan.Gone {
		return fmt.Sprintf("the entry %s of %s", s.tree.home, s.plan.From)
	}
	return s.tree.home
}

// entryRestorable makes sure that the repository can have its entry back.
func (s *site) entryRestorable(ctx context.Context) error {
	p := s.plan
	if _, err := os.Stat(p.Admin.Common); err != nil {
		return fmt.Errorf("find its repository: %w; nothing was restored. The entry lies in %s", err, s.tree.away)
	}
	if err := s.common().Has(ctx, p.Admin.Head); err != nil {
		return actuators.Refused("its commit %s is no longer in %s (%w); nothing was restored. The entry lies in %s", p.Admin.Head, p.Admin.Common, err, s.tree.away)
	}
	if _, err := os.Lstat(p.From); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	place, err := git.NewFinder().Locate(p.From)
	if place.AdminDir == s.tree.home { // the folder itself came back, and lacks its entry
		return nil
	}
	return errors.Join(actuators.Refused("something else is at %s by now; nothing was restored. Move it away, then try again: the entry lies in %s", p.From, s.tree.away), err)
}

// entryRestored mends HEAD where its branch moved or went meanwhile, and lets go of the refs.
func (s *site) entryRestored(ctx context.Context, came bool) (note string, err error) {
	s.o.Step("restore.head")
	note, err = s.mend(ctx)
	if err != nil {
		err = fmt.Errorf("bring its HEAD to the commit that it was: %w", err)
	} else {
		err = s.verifyObjects(ctx, s.plan.Admin.Head, "", came)
	}
	if err != nil {
		return note, fmt.Errorf("%w: %s is in its place again; look at it before you go on: %w. Its commits stay under %s",
			actuators.ErrPart, s.what(), err, s.plan.Admin.Refs)
	}
	s.o.Step("restore.refs")
	if err := s.common().Drop(ctx, refPrefix(s.in.ID)); err != nil {
		return note, fmt.Errorf("%s is restored; %w", s.what(), err)
	}
	return note, nil
}
