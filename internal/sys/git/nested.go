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

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
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
			case traps(name, top) && e.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0:
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

// traps says whether git status opens a file of that name wherever it finds one.
func traps(name string, top bool) bool {
	return name == ".gitignore" || name == ".gitattributes" || name == ".gitmodules" && top
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
	none, err := f.Empty()
	return err == nil && none
}

// Modules lists the submodules whose repositories lie in a worktree's admin folder, and would go with it.
func (w *Worktree) Modules(ctx context.Context) ([]string, error) {
	if !w.modules {
		return nil, nil
	}
	return Nested(ctx, filepath.Join(w.AdminDir, "modules"), nil, new(Budget))
}
