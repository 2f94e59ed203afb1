package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// Locate finds folder's git folders without running git. ErrNone says that it has none; any other error that it has, and they
// cannot be read.
func Locate(folder string) (Place, error) {
	dot := filepath.Join(folder, ".git")
	info, err := os.Stat(dot)
	switch {
	case gone(err):
		if _, lerr := os.Lstat(dot); lerr == nil {
			return Place{Path: folder}, fmt.Errorf("locate repository: %q is a symbolic link to nothing", dot)
		}
		return bare(folder)
	case err != nil:
		return Place{Path: folder}, fmt.Errorf("locate repository: %w", err)
	case info.IsDir():
		return inside(folder, dot)
	}
	f, err := readFile(dot, maxSmall)
	if err != nil {
		return Place{Path: folder}, fmt.Errorf("locate repository: %w", err)
	}
	admin, err := parseGitfile(f.data)
	if err != nil {
		return Place{Path: folder}, fmt.Errorf("locate repository: %q %w", dot, err)
	}
	return inside(folder, admin)
}

// inside looks at the admin folder that folder's .git is or names.
func inside(folder, admin string) (Place, error) {
	p := Place{Path: folder}
	real, err := realPath(folder, admin)
	if err != nil {
		return orphaned(p, admin, err)
	}
	p.AdminDir, p.CommonDir = real, real
	f, err := readFile(filepath.Join(real, "commondir"), maxSmall)
	switch {
	case err == nil:
		p.Linked = true
		p.CommonDir = ""
		path, err := parsePath(f.data)
		if err != nil {
			return p, fmt.Errorf("locate repository: commondir in %q %w", real, err)
		}
		if p.CommonDir, err = realPath(real, path); err != nil {
			return p, fmt.Errorf("locate repository: common folder: %w", err)
		}
	case !gone(err):
		return p, fmt.Errorf("locate repository: %w", err)
	}
	if !isRepository(p.CommonDir) || !exists(filepath.Join(real, "HEAD")) {
		return p, fmt.Errorf("locate repository: not a git repository: %q has no HEAD, objects or refs", real)
	}
	return p, nil
}

// orphaned fills what can still be said of a checkout whose admin folder cannot be reached.
func orphaned(p Place, admin string, err error) (Place, error) {
	if !filepath.IsAbs(admin) {
		admin = filepath.Join(p.Path, admin)
	}
	p.AdminDir = admin
	parent := filepath.Dir(admin)
	if filepath.Base(parent) == "worktrees" {
		p.Linked = true
		if common, cerr := filepath.EvalSymlinks(filepath.Dir(parent)); cerr == nil && isRepository(common) {
			p.CommonDir = common
		}
	}
	if gone(err) {
		p.Lost = true
		return p, fmt.Errorf("locate repository: not a git repository: admin folder %q is missing", admin)
	}
	return p, fmt.Errorf("locate repository: %w", err)
}

// bare recognises a repository without .git by what git itself looks for: HEAD, objects and refs.
func bare(folder string) (Place, error) {
	if !isRepository(folder) {
		return Place{Path: folder}, ErrNone
	}
	return Place{Path: folder, AdminDir: folder, CommonDir: folder, Bare: true}, nil
}

func isRepository(folder string) bool {
	return folder != "" && exists(filepath.Join(folder, "HEAD")) && exists(filepath.Join(folder, "objects")) &&
		exists(filepath.Join(folder, "refs"))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Around finds the repository that path lies in, by walking up. A checkout that is broken still counts when its repository can
// be told.
func Around(path string) (Place, bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Place{}, false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for {
		p, err := Locate(path)
		if err == nil || p.CommonDir != "" {
			return p, true
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, ErrNone) || parent == path {
			return Place{}, false
		}
		path = parent
	}
}
