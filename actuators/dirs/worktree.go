package dirs

import (
	"context"
	"path/filepath"
	"strings"

	"winnow/actuators"
)

// checkWorktree makes sure that the folder and the repository's entry for it point at one another and at nothing else, that
// nobody locked it and that no git command is at work in it.
func (g *grasp) checkWorktree(ctx context.Context) error {
	if g.want.Head == "" || g.want.AdminDir == "" || g.want.CommonDir == "" {
		return actuators.Refused("its repository or its commit is not known")
	}
	admin, common, err := g.repository()
	if err != nil {
		return err
	}
	for _, inner := range []string{common, g.want.Main} {
		if inner != "" && actuators.Within(inner, g.want.Path) {
			return actuators.Refused("its repository %s lies inside of it", inner)
		}
	}
	if err := objectsElsewhere(common, g.want.Path); err != nil {
		return err
	}
	f, err := openFolder(admin)
	if err != nil {
		return actuators.Refused("open its entry in the repository: %w", err)
	}
	defer f.close()
	if err := pointsAt(g.held, ".git", "gitdir: ", g.want.Path, admin); err != nil {
		return err
	}
	if err := pointsAt(f, "gitdir", "", admin, filepath.Join(g.want.Path, ".git")); err != nil {
		return err
	}
	if err := pointsAt(f, "commondir", "", admin, common); err != nil {
		return err
	}
	if err := unlocked(f, ""); err != nil {
		return err
	}
	head, err := repo{g.git, admin}.head(ctx)
	if err != nil {
		return actuators.Refused("read its HEAD: %w", err)
	}
	if head != g.want.Head {
		return actuators.Changed("its HEAD is another commit now")
	}
	return nil
}

// repository gives the real paths of the worktree's entry and of its repository's git folder.
func (g *grasp) repository() (admin, common string, err error) {
	if admin, err = filepath.EvalSymlinks(g.want.AdminDir); err == nil {
		common, err = filepath.EvalSymlinks(g.want.CommonDir)
	}
	if err != nil {
		return "", "", actuators.Refused("find its repository: %w", err)
	}
	if filepath.Dir(admin) != filepath.Join(common, "worktrees") {
		return "", "", actuators.Refused("%s is no entry of a linked worktree in %s", admin, common)
	}
	return admin, common, nil
}

// pointsAt refuses when the file called name in f, which names a path after a prefix, names another than want. A relative path
// counts from base.
func pointsAt(f folder, name, prefix, base, want string) error {
	text, err := f.read(name)
	if err != nil {
		return actuators.Refused("read %s: %w", filepath.Join(f.path, name), err)
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if !ok || path == "" {
		return actuators.Refused("%s is not what git writes there", filepath.Join(f.path, name))
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return actuators.Refused("find what %s names: %w", filepath.Join(f.path, name), err)
	}
	if real != want {
		return actuators.Refused("%s names %s and not %s: git worktree repair mends that", filepath.Join(f.path, name), real, want)
	}
	return nil
}

// lockName is git's own mark on a worktree's entry: neither prune nor remove touches it then.
const lockName = "locked"

// ownLock is what an act writes into that mark while the folder is away and its entry is not.
func ownLock(act string) string { return "winnow " + act + "\n" }

// unlocked refuses an entry that is locked, but by the act that is named, and one that a git command is writing to. A store of
// refs that is not made of files is refused: its log cannot be read for commits.
func unlocked(admin folder, act string) error {
	names, err := admin.names()
	if err != nil {
		return actuators.Refused("list %s: %w", admin.path, err)
	}
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, ".lock"):
			return actuators.Refused("a git command is at work in it, or was cut short: there is %s", filepath.Join(admin.path, name))
		case name == "reftable":
			return actuators.Refused("its repository keeps refs in a reftable, which is not supported")
		case name == lockName:
			text, err := admin.read(lockName)
			if err != nil || act == "" || string(text) != ownLock(act) {
				return actuators.Refused("it is locked (git worktree lock)")
			}
		}
	}
	return nil
}

// planAdmin plans where the worktree's entry goes: beside the tree, or, when that is on another mount, into a trash in the
// repository's git folder.
func (g *grasp) planAdmin(ctx context.Context, tree stamp) (*adminPlan, error) {
	admin, common, err := g.repository()
	if err != nil {
		return nil, err
	}
	f, err := openFolder(admin)
	if err != nil {
		return nil, actuators.Refused("open its entry in the repository: %w", err)
	}
	defer f.close()
	s, err := f.stamp()
	if err != nil || s.born.IsZero() {
		return nil, actuators.Refused("look at its entry in the repository: its time of birth is not known (%v)", err)
	}
	if err := mounted(admin); err != nil {
		return nil, err
	}
	entry, err := surveyEntry(ctx, f)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(g.plan.Trash, adminName)
	if s.dev != tree.dev || s.mount != tree.mount {
		to = filepath.Join(common, commonTrash, g.act, adminName)
	}
	return &adminPlan{From: admin, To: to, Common: common, Head: g.want.Head, Refs: refPrefix(g.act), Device: s.dev, Inode: s.ino, BornAt: s.born, Entry: &entry}, nil
}
