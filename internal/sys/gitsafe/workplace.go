package gitsafe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// prefix is what the name of each folder begins with in which git is asked.
const prefix = "winnow-git-"

// leftAfter is how old such a folder is at least when it counts as left behind by a program that was killed: one that was made this
// moment is not locked yet.
const leftAfter = time.Minute

// workplace makes a folder that no other user can reach into, to make a git folder in: in memory where there is such a place, since it
// is made for each worktree, else among the temporary files. It is locked for as long as the second value is open.
func workplace() (string, *os.File, error) {
	var errs []error
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", os.TempDir(), "/tmp"} {
		if dir == "" {
			continue
		}
		real, err := safeopen.Path(dir)
		if err == nil {
			var made string
			if made, err = os.MkdirTemp(real, prefix); err == nil {
				lock, err := lockFolder(made)
				if err != nil {
					return "", nil, errors.Join(err, os.Remove(made))
				}
				return made, lock, nil
			}
		}
		errs = append(errs, err)
	}
	return "", nil, fmt.Errorf("make a git folder to ask git in: %w; set TMPDIR to a folder of your own", errors.Join(errs...))
}

// lockFolder takes the lock on a folder, without waiting. The kernel lets go of it also when this process is killed.
func lockFolder(path string) (*os.File, error) {
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// clearLeft removes what a program that was killed left behind of such folders in dir: this user's own, that no process holds. They hold
// links and copies, and no work.
func clearLeft(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil || int(st.Uid) != os.Geteuid() || time.Since(time.Unix(st.Mtim.Unix())) < leftAfter {
			continue
		}
		if lock, err := lockFolder(path); err == nil {
			_ = os.RemoveAll(path) // follows no link; what it cannot remove is tried again next time
			_ = lock.Close()
		}
	}
}
