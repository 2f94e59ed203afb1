package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git/index"
	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// Budget is how many entries of a tree are looked at for repositories inside it.
const Budget = 200_000

// ErrMany says that a tree has more entries than were to be looked at.
var ErrMany = errors.New("it has too many files to look at all")

// ErrTrap says that something lies in a tree that holds up a reader: a pipe in the place of a file that git opens.
var ErrTrap = errors.New("it is no file, and git would wait for it")

// Nested finds the repositories below tree, by their paths relative to it: everything that has a .git, be it a folder, a file or a
// link, bare ones, and those of other version control, whose own folder or file is named where it lies at the top. The outermost is enough:
// it does not look inside one. It follows no symbolic link and does not enter mounts. A folder that cannot be read is an error, because
// there may be more; so are ErrTrap, and ErrMany for more entries than budget, which is what is left of it afterwards.
func Nested(ctx context.Context, tree string, mounts []string, budget *int) ([]string, error) {
	w := walk{ctx: ctx, mounts: mounts, budget: budget, found: []string{}}
	for todo := []string{tree}; len(todo) > 0; {
		path := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		sub, err := w.look(path, path == tree)
		if err != nil {
			return nil, fmt.Errorf("look for nested repositories: %w", err)
		}
		todo = append(todo, sub...)
	}
	for i, path := range w.found {
		w.found[i], _ = filepath.Rel(tree, path)
	}
	slices.Sort(w.found)
	return w.found, nil
}

type walk struct {
	ctx    context.Context
	mounts []string
	budget *int
	found  []string
}

// look reads one folder and gives the folders in it that are to be looked at next.
func (w *walk) look(path string, top bool) ([]string, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := folder.OpenAt(unix.AT_FDCWD, path)
	if errors.Is(err, unix.ENOENT) && !top {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(f.FD), path)
	defer func() { _ = dir.Close() }()
	var sub, cvs []string
	marks := 0
	for {
		entries, err := dir.ReadDir(1024)
		for _, e := range entries {
			switch name := e.Name(); {
			case name == ".git" && !top:
				w.found = append(w.found, path)
				return nil, nil
			case name == ".git":
			case folder.Store(name) && top:
				w.found = append(w.found, filepath.Join(path, name))
			case folder.Store(name):
				w.found = append(w.found, path)
				return nil, nil
			case e.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0 &&
				(name == ".gitignore" || name == ".gitattributes" || name == ".gitmodules" && top): // which git status opens wherever it finds them
				return nil, fmt.Errorf("%q: %w", filepath.Join(path, name), ErrTrap)
			case e.IsDir():
				sub = append(sub, filepath.Join(path, name))
				if name == "objects" || name == "refs" {
					marks++
				}
			case name == "HEAD":
				marks++
			case name == "Entries" || name == "Repository":
				cvs = append(cvs, name)
			}
		}
		if *w.budget -= len(entries); *w.budget < 0 {
			return nil, ErrMany
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if (marks == 3 || folder.CVS(filepath.Base(path), cvs)) && !top {
		w.found = append(w.found, path)
		return nil, nil
	}
	return slices.DeleteFunc(sub, func(p string) bool { return slices.Contains(w.mounts, p) }), nil
}

// Filled gives those of the submodules that an index names, by their paths below path, of which anything may lie there. One that was
// never filled is an empty folder or none, and holds nothing. What lies in the folder of a submodule git status does not tell, so that a
// single file in it counts, and so does what cannot be looked into, or only through a link or on another mount.
func Filled(path string, gitlinks []string) ([]string, error) {
	if len(gitlinks) == 0 {
		return nil, nil
	}
	top, err := folder.OpenAt(unix.AT_FDCWD, path)
	if err != nil {
		return nil, fmt.Errorf("look for submodules: %w", err)
	}
	defer top.Close()
	return slices.DeleteFunc(slices.Clone(gitlinks), func(name string) bool { return hollow(top, name) }), nil
}

// hollow says whether the folder called name below the one that is open is positively empty, or not there.
func hollow(top folder.Folder, name string) bool {
	f, err := top.OpenBelow(name, unix.O_RDONLY)
	if err != nil {
		return errors.Is(err, unix.ENOENT)
	}
	defer f.Close()
	some, err := f.Some(1)
	return err == nil && len(some) == 0
}

// Modules lists the submodules whose repositories lie in a worktree's admin folder, and would go with it.
func (w *Worktree) Modules(ctx context.Context) ([]string, error) {
	if !w.modules {
		return nil, nil
	}
	return Nested(ctx, filepath.Join(w.AdminDir, "modules"), nil, new(Budget))
}

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
	idx, err := index.Read(view.Index, r.hashSize())
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	return s.Judge(ctx, r, w, inside, idx.Gitlinks)
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
	recorded, err := r.lsTree(ctx, s.Git, w.Head, filled, func(mode string) bool { return mode == "160000" })
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(inside), func(name string) bool { return slices.Contains(filled, name) })
	folders := map[string]bool{}
	for _, name := range filled {
		admin, why := s.judge(ctx, w, name, recorded[name])
		folders[admin] = true
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
	lost, err := landing.FirstUnkept(ctx, sealed, w.Head, own, kept)
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
