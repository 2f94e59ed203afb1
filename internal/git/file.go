package git

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"winnow/internal/foreign"
)

// readFile reads one of a repository's files: a regular one of this user or root, of at most limit bytes, and no link.
func readFile(path string, limit int64) (foreign.File, error) {
	return foreign.ReadNow(path, foreign.Want{Max: limit})
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
