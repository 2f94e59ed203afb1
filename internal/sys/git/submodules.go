package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// maxSubmodules is how many submodules of one worktree are looked into, those in submodules among them.
const maxSubmodules = 64

// Submodules looks into the submodules of one worktree: which of them hold nothing but what their remotes have.
type Submodules struct {
	Git Program
	// Mounts are mount points that are not entered, and Budget is how many entries of the trees are looked at still.
	Mounts []string
	Budget int
	// Work gives those of the paths that git ignores in the checkout at path that no tool makes again; nil gives none.
	Work func(path string, ignored []string) []string
	// Clean are the git folders of the submodules that hold nothing else, by the folders of their files.
	Clean map[string]string

	seen int
}

// Find gives the repositories in a linked worktree that keep it.
func (s *Submodules) Find(ctx context.Context, r *Repository, w *Worktree) ([]string, error) {
	inside, err := Nested(ctx, w.Path, s.Mounts, &s.Budget)
	if err != nil {
		return nil, err
	}
	view, err := w.view()
	if err != nil {
		return nil, err
	}
	idx, err := indexOf(view.Index, r.hashSize())
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	return s.Judge(ctx, r, w, inside, idx.gitlinks)
}

// Judge gives the repositories in a worktree that keep it: of those that lie in it, of the submodules that its index
// names and that are filled, and of those that git keeps in its admin folder, all but the clean submodules. They are
// named by their paths, and submodules with the reason.
func (s *Submodules) Judge(
	ctx context.Context, r *Repository, w *Worktree, inside, gitlinks []string,
) ([]string, error) {
	filled, err := Filled(w.Path, gitlinks)
	if err != nil {
		return nil, err
	}
	modules, err := w.Modules(ctx)
	if err != nil {
		return nil, err
	}
	recorded, err := r.readRecorded(ctx, s.Git, w, filled)
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(inside), func(name string) bool { return slices.Contains(filled, name) })
	folders := map[string]bool{}
	for _, name := range filled {
		folder, why := s.judge(ctx, w, name, recorded[name])
		folders[folder] = true
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case why != nil:
			kept = append(kept, fmt.Sprintf("submodule %s: %v", name, why))
		}
	}
	for _, name := range modules {
		if !folders[filepath.Join(w.AdminDir, "modules", name)] {
			kept = append(kept, fmt.Sprintf("submodule %s: only its git folder is there", name))
		}
	}
	slices.Sort(kept)
	return append([]string{}, kept...), nil
}

// readRecorded gives the commits that the worktree's own commit records for these submodules.
func (r *Repository) readRecorded(
	ctx context.Context, git Program, w *Worktree, names []string,
) (found map[string]string, err error) {
	found = map[string]string{}
	if len(names) == 0 || w.Head == "" {
		return found, nil
	}
	sealed, err := r.seal(ctx, git, gitsafe.View{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sealed.Close()) }()
	args := append([]string{"ls-tree", "-z", "--full-tree", w.Head, "--"}, names...)
	_, err = sealed.Run(ctx, gitsafe.Call{Args: args}, func(record []byte) error {
		what, name, _ := strings.Cut(string(record), "\t")
		if oid, ok := strings.CutPrefix(what, "160000 commit "); ok {
			found[name] = oid
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask git for the submodules: %w", err)
	}
	return found, nil
}

// judge says where the git folder of the submodule at name in a worktree is, and why it is not clean.
func (s *Submodules) judge(ctx context.Context, w *Worktree, name, recorded string) (admin string, why error) {
	if s.seen++; s.seen > maxSubmodules {
		return "", fmt.Errorf("no more than %d are looked into", maxSubmodules)
	}
	path := filepath.Join(w.Path, name)
	if real, err := filepath.EvalSymlinks(path); err != nil || real != path {
		return "", errors.Join(errors.New("a link leads to it"), err)
	}
	switch info, err := os.Lstat(filepath.Join(path, ".git")); {
	case gone(err):
		return "", errors.New("its folder is not empty, and is no repository")
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("its .git is not the file that a submodule has")
	}
	finder := NewFinder()
	place, err := finder.Locate(path)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(filepath.Join(w.AdminDir, "modules"), place.AdminDir)
	if err != nil || !filepath.IsLocal(rel) || place.Linked {
		return "", errors.New("its git folder is not in the worktree's own entry")
	}
	r, err := finder.Open(place.CommonDir)
	if err != nil {
		return place.AdminDir, err
	}
	m := r.Read(place)
	switch {
	case len(m.Errors) > 0:
		return place.AdminDir, m.Errors[0]
	case r.Main != path:
		return place.AdminDir, errors.New("its configuration names another folder (core.worktree)")
	case m.Head == "" || m.Head != recorded:
		return place.AdminDir, fmt.Errorf("its commit %.7s is not the one that is recorded (%.7s)", m.Head, recorded)
	}
	if why = s.checkWork(ctx, r, m); why == nil {
		s.Clean[path] = place.AdminDir
	}
	return place.AdminDir, why
}

// checkWork says what a submodule holds that its remotes have not; nil says that it holds nothing.
func (s *Submodules) checkWork(ctx context.Context, r *Repository, m *Worktree) error {
	if err := m.checkFolder(); err != nil {
		return err
	}
	stores, err := gitsafe.Stores(ctx, m.CommonDir)
	if err == nil && len(stores) > 1 {
		err = errors.New("it borrows objects from another repository")
	}
	if err != nil {
		return err
	}
	inside, err := Nested(ctx, m.Path, s.Mounts, &s.Budget) // what holds git up is found before git is asked
	if err != nil {
		return err
	}
	content, err := r.Status(ctx, s.Git, m)
	switch {
	case err != nil:
		return err
	case content.Hidden != nil:
		return content.Hidden
	case content.Dirty > 0:
		return fmt.Errorf("changed files or submodules in it: %d", content.Dirty)
	case len(content.Untracked) > 0:
		return fmt.Errorf("%s in it is untracked", content.Untracked[0])
	}
	if s.Work != nil {
		if work := s.Work(m.Path, content.Ignored); len(work) > 0 {
			return fmt.Errorf("%s in it is ignored, and no tool makes it again", work[0])
		}
	}
	kept, err := s.Judge(ctx, r, m, inside, content.Gitlinks)
	if err == nil && len(kept) > 0 {
		err = fmt.Errorf("in it is %s", kept[0])
	}
	if err != nil {
		return err
	}
	return r.checkPushed(ctx, s.Git, m)
}

// usualNames are the names in the git folder of a submodule that is at rest. What else lies there may be the only copy
// of something: an operation, a lock, worktrees of its own, files of git-lfs.
var usualNames = strings.Fields("COMMIT_EDITMSG FETCH_HEAD HEAD ORIG_HEAD branches config description hooks index " +
	"info logs modules objects packed-refs refs shallow")

// checkFolder fails for a git folder in which something else lies, or a hook that was put there.
func (w *Worktree) checkFolder() error {
	entries, err := os.ReadDir(w.AdminDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(usualNames, e.Name()) || e.Type()&^fs.ModeDir != 0 {
			return fmt.Errorf("%s is in its git folder", e.Name())
		}
		w.modules = w.modules || e.Name() == "modules"
	}
	hooks, err := os.ReadDir(filepath.Join(w.AdminDir, "hooks"))
	for _, e := range hooks {
		if !strings.HasSuffix(e.Name(), ".sample") {
			return fmt.Errorf("the hook %s is in its git folder", e.Name())
		}
	}
	if gone(err) {
		return nil
	}
	return err
}

// checkPushed fails unless the remote-tracking branches of its remotes reach all that the refs, the reflogs and the
// state of a repository name. A commit that is missing fails too.
func (r *Repository) checkPushed(ctx context.Context, git Program, w *Worktree) (err error) {
	admin, err := openAdmin(w.AdminDir)
	if err != nil {
		return err
	}
	defer admin.Close()
	w.collectOwn(admin)
	packed, err := r.refs.packed()
	switch {
	case w.ownErr != nil:
		return w.ownErr
	case err != nil:
		return err
	case r.follow.unread:
		return errors.New("its configuration includes other files, so that its remotes are not known")
	}
	own, kept := map[string]bool{}, map[string]bool{}
	add(own, w.own)
	for _, oid := range packed {
		add(own, []string{oid})
	}
	for name, usable := range r.follow.remotes {
		if !usable {
			continue
		}
		if err := r.refs.eachRef("refs/remotes/"+name+"/", func(_, oid string) {
			if oid != "" {
				kept[oid] = true
			}
		}); err != nil {
			return err
		}
	}
	sealed, err := r.seal(ctx, git, gitsafe.View{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sealed.Close()) }()
	lost, err := landing.FirstUnkept(ctx, sealed, own, kept)
	switch {
	case err != nil:
		return fmt.Errorf("ask git what its remotes have: %w", err)
	case lost == w.Head:
		return fmt.Errorf("its commit %.7s is on no remote", lost)
	case lost != "":
		return fmt.Errorf("%.7s, which a ref or a reflog of it names, is on no remote", lost)
	}
	return nil
}
