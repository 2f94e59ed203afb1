package dirs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"winnow/engine/snapshot"
	"winnow/internal/git"
)

// defaultTimeout holds where Options gives no Timeout.
const defaultTimeout = 10 * time.Second

// errLong is why the reading of one folder or repository ended before that of the others.
var errLong = fmt.Errorf("it was not read in time (%w): it alone is kept; see what holds it up (a mount, a filter, a busy machine), or raise collect.timeout",
	context.DeadlineExceeded)

// errBusy is why a folder was not reached at all.
var errBusy = fmt.Errorf("it was not reached before the time of its source was over (%w): it alone is kept, and the next look reads it; raise collect.timeout where that goes on",
	context.DeadlineExceeded)

// scout asks about places on the disk, one at a time, and gives up on each that does not answer: a mount whose server is gone keeps for ever who
// asks it.
type scout struct {
	ctx    context.Context
	o      Options
	finder *git.Finder
	hung   int // how many questions were given up on
	// notes say of entries in a repository why no candidate came of them.
	notes []string
}

func newScout(ctx context.Context, o Options) *scout {
	return &scout{ctx: ctx, o: o, finder: git.NewFinder()}
}

const (
	// quickPart is which part of the timeout a question may take that is answered from a few inodes.
	quickPart = 5
	// manyHung is after how many that were given up on a question may take only as much as each item adds to its source's time, so that all of
	// them together never take more than that.
	manyHung, hungPart = 2, 100
)

// ask gives what found gives, or why there is no answer. What is given up on goes on by itself, so found must touch nothing that its caller, or
// a later question, uses too.
func ask[T any](s *scout, found func(f *git.Finder) (T, error)) (T, error) {
	type answer struct {
		found T
		err   error
	}
	limit := s.o.Timeout / quickPart
	if s.hung >= manyHung {
		limit = s.o.Timeout / hungPart
	}
	own, cancel := context.WithTimeoutCause(s.ctx, limit, errLong)
	defer cancel()
	finder := s.finder
	a, err := answer{}, context.Cause(own)
	if err == nil {
		a, err = git.Await(own, func() answer {
			found, err := found(finder)
			return answer{found, err}
		})
	}
	if err != nil {
		s.hung++
		s.finder = git.NewFinder() // the other one is still in use
		return a.found, err
	}
	return a.found, a.err
}

// locate is git.Finder.Locate. The place is given with an error too, as far as it is known.
func (s *scout) locate(path string) (git.Place, error) {
	type located struct {
		place git.Place
		err   error
	}
	l, err := ask(s, func(f *git.Finder) (located, error) {
		place, err := f.Locate(path)
		return located{place, err}, nil
	})
	if err != nil {
		return git.Place{Path: path}, err
	}
	return l.place, l.err
}

// mutual reports whether a checkout's own .git leads back to the repository that names it, by the very entry that does.
func (s *scout) mutual(common, path string) bool {
	back, err := ask(s, func(f *git.Finder) (bool, error) { return mutual(f, common, path), nil })
	return back && err == nil
}

// missing takes note of an entry whose worktree's folder is positively not there, although the folder around it is. Where that is missing too,
// a disk may not be mounted. Nothing takes such an entry away here, and never a prune of all of them: git removes this one alone.
func (s *scout) missing(common, admin string) {
	path, err := ask(s, func(*git.Finder) (string, error) {
		path, err := git.EntryPath(admin)
		if err != nil {
			return "", err
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return "", cmp.Or(err, fs.ErrExist)
		}
		_, err = os.Lstat(filepath.Dir(path))
		return path, err
	})
	if err == nil {
		s.notes = append(s.notes, fmt.Sprintf("%s is no candidate: its folder is gone, and its entry %s is still there; git -C %s worktree remove %s removes that entry alone",
			path, admin, common, path))
	}
}

// glance is what is cheap to know of a folder.
type glance struct {
	dir      snapshot.Dir
	statErr  error
	empty    *bool
	emptyErr error
	place    git.Place
	placeErr error
}

// glance reads what is cheap. Nothing is read through a link.
func (s *scout) glance(f found) (glance, error) {
	return ask(s, func(finder *git.Finder) (g glance, err error) {
		if g.dir, g.statErr = stat(f); g.dir.Symlink == nil || *g.dir.Symlink {
			return g, nil
		}
		if none, err := empty(f.path); err == nil {
			g.empty = new(none)
		} else {
			g.emptyErr = err
		}
		g.place, g.placeErr = finder.Locate(f.path)
		return g, nil
	})
}
