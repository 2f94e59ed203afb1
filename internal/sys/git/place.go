package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

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
		if !f.isRepository(folder) {
			return Place{Path: folder}, ErrNone
		}
		return Place{Path: folder, AdminDir: folder, CommonDir: folder, Bare: true}, nil
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
		repository := strings.TrimSuffix(filepath.Dir(parent), "/.git")
		if _, err := os.Lstat(repository); p.Linked && gone(err) {
			return p, fmt.Errorf("its repository %s is gone", repository)
		}
		return p, fmt.Errorf("locate repository: not a git repository: admin folder %q is missing", admin)
	}
	return p, fmt.Errorf("locate repository: %w", err)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Finder finds git folders during one look. Worktrees lie side by side, and so do their admin folders, so it remembers where the
// folders above them lead and which of them are repositories. It is for one look: what it remembers gets stale.
type Finder struct {
	// What was found of folders, by their paths. Nothing that failed is remembered.
	real, repos, trees sync.Map // strings
	places             sync.Map // located
	opened             sync.Map // *opening[Repository]
	once               bool
}

// located is where the git folders of a folder are, and which folder that was.
type located struct {
	place Place
	of    folder.Stamp
}

// NewFinder gives a Finder for one look.
func NewFinder() *Finder { return &Finder{} }

// NewOnce gives a Finder that also remembers which places it found, so that all who share it in one look read what says so once.
func NewOnce() *Finder { return &Finder{once: true} }

// realPath resolves path against base, which is a real path, and then every symbolic link in it.
func (f *Finder) realPath(base, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	path = filepath.Clean(path)
	dir, name := filepath.Split(path)
	real, ok := f.real.Load(dir)
	if !ok {
		found, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		real, _ = f.real.LoadOrStore(dir, found)
	}
	at := filepath.Join(real.(string), name)
	info, err := os.Lstat(at)
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return filepath.EvalSymlinks(at)
	}
	return at, nil
}

// isRepository says whether folder is a repository by what git itself looks for: HEAD, objects and refs.
func (f *Finder) isRepository(folder string) bool {
	if folder == "" {
		return false
	}
	if _, known := f.repos.Load(folder); known {
		return true
	}
	is := exists(filepath.Join(folder, "HEAD")) && exists(filepath.Join(folder, "objects")) && exists(filepath.Join(folder, "refs"))
	if is {
		f.repos.Store(folder, folder)
	}
	return is
}

// Around finds the repository that path lies in, by walking up. A checkout that is broken still counts when its repository is
// known.
func (f *Finder) Around(path string) (Place, bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Place{}, false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for {
		p, err := f.Locate(path)
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

// Entry reports whether the entry that a linked worktree's .git names leads back to that very worktree. An error says that this is not
// known.
func (f *Finder) Entry(p Place) (bool, error) {
	path, err := f.Tree(p.AdminDir)
	if gone(err) {
		return false, nil
	}
	return path == p.Path, err
}

// Registered is Entry, and false where this is not known.
func (f *Finder) Registered(p Place) bool {
	back, err := f.Entry(p)
	return back && err == nil
}
