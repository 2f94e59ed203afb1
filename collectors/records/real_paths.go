package records

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Real turns paths as people write them into those that the kernel shows: a folder that a record names through a symbolic link
// is to be found again under its real path. It remembers what it resolved; make a new one for each look.
type Real struct{ seen map[string]resolved }

type resolved struct {
	path string
	sure bool
}

// NewReal gives a Real that knows nothing yet.
func NewReal() Real { return Real{seen: map[string]resolved{}} }

// Path resolves an absolute, clean path. What does not exist (any more) is kept as it is below the last folder that does. sure is
// false where a part could not be looked at, so that path may not be the real one.
func (r Real) Path(path string) (real string, sure bool) {
	if path == "/" {
		return "/", true
	}
	if known, ok := r.seen[path]; ok {
		return known.path, known.sure
	}
	parent, sure := r.Path(filepath.Dir(path))
	real = filepath.Join(parent, filepath.Base(path))
	info, err := os.Lstat(real)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		var target string
		if target, err = filepath.EvalSymlinks(real); err == nil {
			real = target
		}
	}
	sure = sure && (err == nil || errors.Is(err, fs.ErrNotExist))
	r.seen[path] = resolved{real, sure}
	return real, sure
}
