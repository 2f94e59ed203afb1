package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// readFile reads one of a repository's files: a regular one of this user or root, of at most limit bytes, and no link.
func readFile(path string, limit int64) (safeopen.File, error) {
	return safeopen.ReadNow(path, safeopen.Want{Max: limit})
}

// adminFolder is an open git folder, with the names of what is in it.
type adminFolder struct {
	safeopen.Dir
	path  string
	names []string
}

func openAdmin(path string) (*adminFolder, error) {
	d, err := safeopen.OpenDir(path)
	if err != nil {
		return nil, err
	}
	names, err := d.Names()
	if err != nil {
		d.Close()
		return nil, err
	}
	return &adminFolder{d, path, names}, nil
}

func (a *adminFolder) has(name string) bool { return slices.Contains(a.names, name) }

// read is readFile of what is at rel in the folder.
func (a *adminFolder) read(rel string, limit int64) (safeopen.File, error) {
	return a.Dir.Read(rel, safeopen.Want{Max: limit})
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// later gives the later of two times, either of which may be the zero time.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// readConfig reads what a repository's configuration says of the repository itself and of its branches.
func readConfig(path string) (f gitsafe.Format, b follow, err error) {
	vars, err := gitsafe.ReadConfig(context.Background(), path)
	if err != nil {
		return f, b, err
	}
	if f, err = gitsafe.FormatOf(vars); err != nil {
		return f, b, fmt.Errorf("%q: %w", path, err)
	}
	return f, following(vars), nil
}

// mainOf is the path of the main checkout of a repository with this format, "" where it has none or this is unknown.
func mainOf(f gitsafe.Format, common string) string {
	switch {
	case f.Bare:
		return ""
	case f.Worktree != "" && filepath.IsAbs(f.Worktree):
		return filepath.Clean(f.Worktree)
	case f.Worktree != "":
		return filepath.Join(common, f.Worktree)
	case filepath.Base(common) == ".git":
		return filepath.Dir(common)
	}
	return ""
}
