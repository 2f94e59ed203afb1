package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

// Finder finds git folders during one look. Worktrees lie side by side, and so do their admin folders, so it remembers where the
// folders above them lead and which of them are repositories. It is for one look: what it remembers gets stale.
type Finder struct {
	// What was found of folders, by their paths. Nothing that failed is remembered.
	real, repos, trees sync.Map // strings
	places             sync.Map // located
	opened             sync.Map // *opening
	once               bool
}

// located is where the git folders of a folder are, and which folder that was.
type located struct {
	place Place
	of    folder.Stamp
}

// opening is a repository that was opened, or that somebody is about to open: the others wait, since it is much to read. Where it does not
// answer, whoever waits is given up on as who asks is.
type opening struct {
	mu   sync.Mutex
	repo *Repository
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
