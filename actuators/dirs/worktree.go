package dirs

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
)

// checkWorktree makes sure that the folder and the repository's entry for it name one another and nothing else, and that no git
// command is writing to the entry.
func (g *handle) checkWorktree(ctx context.Context) error {
	if g.want.Lost {
		return errors.Join(objectsElsewhere(ctx, g.want.CommonDir, g.want.Path), g.pointing(g.want.AdminDir, g.want.CommonDir))
	}
	if g.want.Head == "" || g.want.AdminDir == "" || g.want.CommonDir == "" {
		return actuators.Refused("its repository or its commit is not known")
	}
	admin, common, err := g.repository()
	if err != nil {
		return err
	}
	for _, inner := range []string{common, g.want.Main} {
		if inner != "" && actuators.IsBelow(inner, g.want.Path) {
			return actuators.Refused("its repository %s lies inside of it", inner)
		}
	}
	if err := objectsElsewhere(ctx, common, g.want.Path); err != nil {
		return err
	}
	if err := g.pointing(admin, common); err != nil {
		return err
	}
	if _, err := g.atRest(admin); err != nil {
		return err
	}
	head, err := git.NewRefs(common).Head(admin)
	if err != nil {
		return actuators.Refused("read its HEAD: %w", err)
	}
	if head != g.want.Head {
		return actuators.Changed("its HEAD is another commit now")
	}
	return nil
}

// repository gives the real paths of the worktree's entry and of its repository's git folder.
func (g *handle) repository() (admin, common string, err error) {
	if admin, err = filepath.EvalSymlinks(g.want.AdminDir); err == nil {
		common, err = filepath.EvalSymlinks(g.want.CommonDir)
	}
	if err != nil {
		return "", "", actuators.Refused("find its repository: %w", err)
	}
	if filepath.Dir(admin) != filepath.Join(common, "worktrees") {
		return "", "", actuators.Refused("%s is not the entry of a linked worktree in %s", admin, common)
	}
	return admin, common, nil
}

// pointing refuses a worktree where it, its entry and its repository do not name one another, or, of one that is lost, where there is an entry again.
func (g *handle) pointing(admin, common string) error {
	text, err := g.held.Read(".git")
	if err != nil {
		return actuators.Refused("read where its entry in the repository is: %w", err)
	}
	to, err := git.ParseGitfile(text)
	if err != nil {
		return actuators.Refused("its file .git %w", err)
	}
	finder := git.NewFinder()
	place, err := finder.FromAdmin(g.want.Path, to)
	switch {
	case g.want.Lost && (!place.Lost || place.AdminDir != admin || place.CommonDir != common):
		return actuators.Changed("its repository has an entry for it again, or is not there")
	case g.want.Lost:
	case err != nil:
		return actuators.Refused("find its entry in the repository: %w", err)
	case !place.Linked || place.AdminDir != admin || place.CommonDir != common || !finder.Registered(place):
		return actuators.Refused("it, its entry %s and its repository do not name one another: git worktree repair mends that", admin)
	}
	return nil
}

// ownLock is what an act writes as git's mark on an entry while the folder is away and its entry is not: git worktree prune would drop the
// entry then.
func ownLock(act string) string { return "winnow " + act + "\n" }

// atRest refuses an entry that a git command is writing to, for it would not be moved whole, and one whose refs are not made of files: its
// log cannot be read for commits. It gives the text of the mark that locks the entry, nil if it is missing.
func (a *Actuator) atRest(admin string) (lock *string, err error) {
	f, err := folder.Open(admin)
	if err != nil {
		return nil, actuators.Refused("open its entry in the repository: %w", err)
	}
	defer f.Close()
	names, err := f.Names()
	if err != nil {
		return nil, actuators.Refused("list %s: %w", admin, err)
	}
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, ".lock") && !a.forsaken(f, name):
			return nil, actuators.Refused("a git command is at work in it, or was cut short: there is %s", filepath.Join(admin, name))
		case name == "reftable":
			return nil, actuators.Refused("its repository keeps refs in a reftable, which is not supported")
		case name == act.LockName:
			text, err := f.Read(name)
			if err != nil {
				return nil, actuators.Refused("read why it is locked: %w", err)
			}
			lock = new(string(text))
		}
	}
	return lock, nil
}

// forsaken says whether a lock in an entry is left from a git command that was cut short long ago. It goes with the entry.
func (a *Actuator) forsaken(entry folder.Folder, name string) bool {
	s, err := folder.StampAt(entry.FD, name)
	return err == nil && git.CutShort(a.o.ProcRoot, entry.Path, time.Since(s.Modified), git.WritingTime)
}

// submodules judges the submodules of a worktree as a look at it does: the clean ones may go with it. Any other
// repository is refused.
func (g *handle) submodules(ctx context.Context, admin, common string) (map[string]string, error) {
	if !exists(filepath.Join(admin, "modules")) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.o.GitTimeout)
	defer cancel()
	repository, err := git.NewFinder().Open(common)
	if err != nil {
		return nil, actuators.Refused("look at its submodules: %w", err)
	}
	tree := repository.Read(git.Place{Path: g.want.Path, AdminDir: admin, CommonDir: common, Linked: true})
	s := git.Submodules{Git: git.Program{Path: g.o.Git}, Budget: git.Budget, Clean: map[string]string{}}
	kept, err := s.Find(ctx, repository, tree)
	switch {
	case err != nil:
		return nil, actuators.Refused("look at its submodules: %w", err)
	case len(kept) > 0:
		return nil, actuators.Refused("there is a repository in it (%s): push its work, or move or remove that first", kept[0])
	}
	clean := map[string]string{}
	for at, folder := range s.Clean {
		clean[strings.TrimPrefix(at, g.want.Path+"/")] = strings.TrimPrefix(folder, admin+"/")
	}
	return clean, nil
}

// planAdmin plans where the worktree's entry goes: beside the tree, or, when that is on another mount, into a trash in the
// repository's git folder.
func (g *handle) planAdmin(ctx context.Context, tree folder.Stamp) (*adminPlan, error) {
	admin, common, err := g.repository()
	if err != nil {
		return nil, err
	}
	f, err := folder.Open(admin)
	if err != nil {
		return nil, actuators.Refused("open its entry in the repository: %w", err)
	}
	defer f.Close()
	s, err := f.Stamp()
	if err != nil || s.Born.IsZero() {
		return nil, actuators.Refused("look at its entry in the repository: its time of birth is not known (%v)", err)
	}
	if err := mounted(admin); err != nil {
		return nil, err
	}
	lock, err := g.atRest(admin)
	if err != nil {
		return nil, err
	}
	if g.clean, err = g.submodules(ctx, admin, common); err != nil {
		return nil, err
	}
	entry, err := surveyor{skip: act.LockName, refuse: modules(g.clean)}.take(ctx, f)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(g.plan.Trash, adminName)
	if s.Dev != tree.Dev || s.Mount != tree.Mount {
		to = filepath.Join(common, commonTrash, g.act, adminName)
	}
	return &adminPlan{From: admin, To: to, Common: common, Head: g.want.Head, Refs: refPrefix(g.act), Lock: lock, Device: s.Dev, Inode: s.Ino, BornAt: s.Born, Entry: &entry}, nil
}
