package codev

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// buildersFolder is where Codev puts the worktrees of a workspace.
const buildersFolder = ".builders"

// trees finds out whether builders' worktrees are still there. It remembers what it found for one look.
type trees struct {
	finder *git.Finder
	known  map[[2]string]tree
	rooms  map[string]bool
}

// tree is whether a worktree is gone, and whether it is there and no longer registered. Nil is unknown.
type tree struct{ gone, unregistered *bool }

func newTrees() *trees {
	return &trees{finder: git.NewFinder(), known: map[[2]string]tree{}, rooms: map[string]bool{}}
}

func (t *trees) look(workspace, worktree string) tree {
	if workspace == "" || worktree == "" || isBelow(worktree, workspace) {
		return tree{} // the workspace itself, or what it lies in, is not a worktree
	}
	at := [2]string{workspace, worktree}
	found, ok := t.known[at]
	if !ok {
		found = t.read(workspace, worktree)
		t.known[at] = found
	}
	return found
}

func (t *trees) read(workspace, worktree string) tree {
	info, err := os.Lstat(worktree)
	switch {
	case errors.Is(err, unix.ENOENT):
		if t.present(workspace) && reachable(workspace, worktree) {
			return tree{gone: new(true)}
		}
		return tree{}
	case err != nil:
		return tree{}
	case !info.IsDir():
		return tree{gone: new(false)}
	}
	return tree{gone: new(false), unregistered: t.unregistered(workspace, worktree)}
}

// present reports whether the workspace is positively there: a folder that can be listed, with something in it. An empty one may be where
// a disk is mounted at other times.
func (t *trees) present(workspace string) bool {
	there, known := t.rooms[workspace]
	if !known {
		there, _ = listed(workspace)
		t.rooms[workspace] = there
	}
	return there
}

// listed reports whether a folder can be listed, so that what is not in it is not there, and whether anything is in it.
func listed(folder string) (some, ok bool) {
	f, err := os.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, false
	}
	defer f.Close()
	names, err := f.Readdirnames(1)
	return len(names) > 0, err == nil || errors.Is(err, io.EOF)
}

// reachable reports whether nothing on the way to a worktree that is not there explains that: every folder above it is one, or is
// positively not there either, up to the workspace. A link that leads nowhere may lead to a disk that is not mounted.
func reachable(workspace, worktree string) bool {
	for dir := filepath.Dir(worktree); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && isBelow(workspace, dir) && dir != workspace:
			continue
		case err != nil:
			return false
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			info, err = os.Stat(dir)
		}
		_, ok := listed(dir)
		return err == nil && info.IsDir() && ok
	}
}

// isBelow reports whether path is folder or lies in it.
func isBelow(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// unregistered reports whether the folder is no longer a worktree of the workspace's repository. It is reported only where that repository
// could be read; a folder that belongs to another one, or is a clone of its own, is nothing that is known here.
func (t *trees) unregistered(workspace, worktree string) *bool {
	if _, ok := listed(worktree); !ok {
		return nil
	}
	whole, err := t.finder.Locate(workspace)
	if err != nil || whole.CommonDir == "" {
		return nil
	}
	p, err := t.finder.Locate(worktree)
	switch {
	case errors.Is(err, git.ErrNone):
		return new(true)
	case p.Lost && p.CommonDir == whole.CommonDir:
		return new(true)
	case err != nil || !p.Linked || p.CommonDir != whole.CommonDir:
		return nil
	}
	p.Path = tower.Resolved(worktree)
	back, err := t.finder.Entry(p)
	if err != nil {
		return nil
	}
	return new(!back)
}

// place is the workspace of Codev's in which a terminal was started, and the worktree there if it was one. Both are "" where it was started
// elsewhere, or where two workspaces have a worktree on the way: one can lie in another one's worktree.
func (j *join) place(cwd string) (workspace, worktree string) {
	if above, below, ok := strings.Cut(cwd, "/"+buildersFolder+"/"); ok {
		cwd = filepath.Join(tower.Resolved(above), buildersFolder, below) // the store's workspaces have no links in them
	}
	around := ""
	for _, w := range j.spaces {
		tree := worktreeIn(w, cwd)
		if tree != "" && worktree != "" {
			return "", ""
		}
		if tree != "" {
			workspace, worktree = w, tree
		}
		if isBelow(w, cwd) && len(w) > len(around) {
			around = w
		}
	}
	return cmp.Or(workspace, around), worktree
}

// worktreeIn is the worktree that a builder's terminal works in: the folder below .builders that its working directory is or lies in.
func worktreeIn(workspace, cwd string) string {
	below, ok := strings.CutPrefix(cwd, filepath.Join(workspace, buildersFolder)+"/")
	if !ok || below == "" {
		return ""
	}
	name, _, _ := strings.Cut(below, "/")
	return filepath.Join(workspace, buildersFolder, name)
}
