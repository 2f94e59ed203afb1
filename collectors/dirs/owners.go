package dirs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
)

// inOwnRoots leaves out what lies in a folder that others can exchange, and says so. What is gone by now is left to the look.
func (l *look) inOwnRoots(list []found) []found {
	kept := list[:0]
	for _, f := range list {
		if l.prober.ctx.Err() != nil { // nothing more is read, and it is shown as unread
			kept = append(kept, f)
			continue
		}
		if err := l.trust.root(l.prober, filepath.Dir(f.path)); err != nil && !gone(err) {
			l.refuse(f.path, err)
			l.dealt()
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

func (l *look) refuse(path string, err error) {
	l.refused = append(l.refused, fmt.Sprintf("%s is no candidate: %v", path, err))
	l.o.Log.Warn("folder is no candidate", "path", path, "error", err)
}

// settle leaves out what was exchanged while it was read, and what is gone by now. A folder that is not the one that was looked at first was
// read in part from something else, and so was all that lies in a root that a link has taken the place of.
//
// Each root is held open meanwhile: by its path, a link could stand in its place for one of two questions and be gone for the other.
func (l *look) settle(ctx context.Context) {
	l.prober = newProber(context.WithoutCancel(ctx), l.o) // what was read is compared also when the time is over
	fresh := newTrust()
	held := map[string]int{}
	defer func() {
		for _, fd := range held {
			_ = unix.Close(fd)
		}
	}()
	l.candidates = slices.DeleteFunc(l.candidates, func(c *candidate) bool {
		if c.dir.Inode == nil || c.gone != nil {
			return false // nothing was read, or settleGone asks
		}
		root := filepath.Dir(c.dir.Path)
		err := fresh.root(l.prober, root)
		fd, open := held[root]
		if err == nil && !open {
			want := l.trust.roots[root].id
			if fd, err = ask(l.prober, func(*git.Finder) (int, error) { return hold(root, want) }); err == nil {
				held[root] = fd
			}
		}
		switch {
		case gone(err):
			return true
		case err != nil:
			l.refuse(c.dir.Path, err)
			return true
		}
		return l.exchanged(c, fd)
	})
}

// hold opens a root, which must still be the folder that was asked about, also when its path has changed by now.
func hold(root string, want folder.Stamp) (int, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return -1, fmt.Errorf("%s: %w", root, errExchanged)
	}
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	if now, err := folder.StampAt(fd, ""); err != nil || now.Dev != want.Dev || now.Ino != want.Ino {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("%s: %w", root, errExchanged)
	}
	return fd, nil
}

// exchanged reports whether a candidate is another thing by now than what was read, in the root that is open as fd.
func (l *look) exchanged(c *candidate, fd int) bool {
	now, err := ask(l.prober, func(*git.Finder) (folder.Stamp, error) { return folder.StampAt(fd, filepath.Base(c.dir.Path)) })
	switch {
	case err == nil && now.Ino == *c.dir.Inode && now.Dev == *c.dir.Device && (c.dir.BornAt == nil || now.Born.Equal(*c.dir.BornAt)): // an inode is given again
		return false
	case err == nil:
		l.refuse(c.dir.Path, errExchanged)
	case !gone(err):
		c.fail(err)
		return false
	}
	return true
}

var errExchanged = errors.New("it was replaced while it was read; the next look reads it again")

// user names who uses a folder. What the kernel itself does has no process.
func user(h snapshot.Holder) string {
	if h.PID == 0 {
		return fmt.Sprintf("%s (%s)", h.Name, h.How)
	}
	return fmt.Sprintf("%s (%d)", h.Name, h.PID)
}
