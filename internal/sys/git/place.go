package git

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

// Place says where a checkout's git folders are.
type Place struct {
	// Path is the folder that holds .git, or the bare repository itself.
	Path string
	// AdminDir is this checkout's own git folder and CommonDir the repository's; they are the same but for a linked worktree.
	// On an error either may be known all the same.
	AdminDir, CommonDir string
	// Linked is true for a linked worktree: git's own mark is a commondir file in the admin folder.
	Linked bool
	// Bare is true for a repository that is a folder of its own, without .git.
	Bare bool
	// Lost is true when .git names an admin folder that is not there.
	Lost bool
}

// Locate finds a folder's git folders without running git. ErrNone says that it has none; any other error that it has, and they
// cannot be read.
func (f *Finder) Locate(path string) (Place, error) {
	if !f.once {
		return f.locate(path)
	}
	if known, there := f.places.Load(path); there {
		return known.(located).place, nil
	}
	is, err := folder.StampAt(unix.AT_FDCWD, path)
	if err != nil {
		return f.locate(path)
	}
	return f.LocateIn(path, is)
}

// LocateIn is Locate of a path at which that folder was seen just now: what was found in another one that had the path before is not taken for it.
func (f *Finder) LocateIn(path string, is folder.Stamp) (Place, error) {
	if known, there := f.places.Load(path); there && known.(located).of.Equal(is) {
		return known.(located).place, nil
	}
	place, err := f.locate(path)
	if f.once && err == nil {
		f.places.LoadOrStore(path, located{place, is})
	}
	return place, err
}

func (f *Finder) locate(folder string) (Place, error) {
	dot := filepath.Join(folder, ".git")
	// Of most folders it is a file. What it is else, is looked at only where it is not a file.
	if text, err := readFile(dot, maxSmall); err == nil {
		return f.fromGitFile(folder, dot, text.Data)
	}
	info, err := os.Stat(dot)
	switch {
	case gone(err):
		if _, lerr := os.Lstat(dot); lerr == nil {
			return Place{Path: folder}, fmt.Errorf("locate repository: %q is a symbolic link to nothing", dot)
		}
		return f.bare(folder)
	case err != nil:
		return Place{Path: folder}, fmt.Errorf("locate repository: %w", err)
	case info.IsDir():
		return f.FromAdmin(folder, dot)
	}
	text, err := readFile(dot, maxSmall)
	if err != nil {
		return Place{Path: folder}, fmt.Errorf("locate repository: %w", err)
	}
	return f.fromGitFile(folder, dot, text.Data)
}

// fromGitFile looks at the admin folder that folder's .git names, a file with that text.
func (f *Finder) fromGitFile(folder, dot string, text []byte) (Place, error) {
	admin, err := ParseGitfile(text)
	if err != nil {
		return Place{Path: folder}, fmt.Errorf("locate repository: %q %w", dot, err)
	}
	return f.FromAdmin(folder, admin)
}

// FromAdmin looks at the admin folder that folder's .git is or names.
func (f *Finder) FromAdmin(folder, admin string) (Place, error) {
	p := Place{Path: folder}
	real, err := f.realPath(folder, admin)
	if err != nil {
		return f.orphaned(p, admin, err)
	}
	p.AdminDir, p.CommonDir = real, real
	text, err := readFile(filepath.Join(real, "commondir"), maxSmall)
	switch {
	case err == nil:
		p.Linked = true
		p.CommonDir = ""
		path, err := parsePath(text.Data)
		if err != nil {
			return p, fmt.Errorf("locate repository: commondir in %q %w", real, err)
		}
		if p.CommonDir, err = f.realPath(real, path); err != nil {
			return p, fmt.Errorf("locate repository: common folder: %w", err)
		}
	case !gone(err):
		return p, fmt.Errorf("locate repository: %w", err)
	}
	if !f.isRepository(p.CommonDir) || !exists(filepath.Join(real, "HEAD")) {
		return p, fmt.Errorf("locate repository: not a git repository: %q has no HEAD, objects or refs", real)
	}
	return p, nil
}

// orphaned fills what is still known of a checkout whose admin folder cannot be reached.
func (f *Finder) orphaned(p Place, admin string, err error) (Place, error) {
	if !filepath.IsAbs(admin) {
		admin = filepath.Join(p.Path, admin)
	}
	p.AdminDir = admin
	parent := filepath.Dir(admin)
	if filepath.Base(parent) == "worktrees" {
		p.Linked = true
		if common, cerr := filepath.EvalSymlinks(filepath.Dir(parent)); cerr == nil && f.isRepository(common) {
			p.CommonDir = common
		}
	}
	if gone(err) {
		p.Lost = true
		return p, fmt.Errorf("locate repository: not a git repository: admin folder %q is missing", admin)
	}
	return p, fmt.Errorf("locate repository: %w", err)
}

// bare recognises a repository that has no .git, being one.
func (f *Finder) bare(folder string) (Place, error) {
	if !f.isRepository(folder) {
		return Place{Path: folder}, ErrNone
	}
	return Place{Path: folder, AdminDir: folder, CommonDir: folder, Bare: true}, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
