package dirs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"winnow/engine/snapshot"
)

// own leaves out what is not this user's to decide about, and says so: a folder of another user, and one in a folder that others can
// exchange. What is gone by now is left to the look.
func (l *look) own(list []found) []found {
	kept := list[:0]
	for _, f := range list {
		if err := l.trust.root(filepath.Dir(f.path)); err != nil && !gone(err) {
			l.refuse(f.path, err)
			continue
		}
		if err := ownFile(f.path); err != nil && !gone(err) {
			l.refuse(f.path, err)
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
func (l *look) settle() {
	fresh := newTrust()
	l.candidates = slices.DeleteFunc(l.candidates, func(c *candidate) bool {
		root := filepath.Dir(c.dir.Path)
		err := fresh.root(root)
		if err == nil && fresh.roots[root].id != l.trust.roots[root].id {
			err = errExchanged
		}
		if err != nil && !gone(err) {
			l.refuse(c.dir.Path, err)
			return true
		}
		return l.exchanged(c)
	})
}

func (l *look) exchanged(c *candidate) bool {
	if c.dir.Inode == nil || c.dir.Device == nil {
		return false
	}
	id, err := idOf(c.dir.Path)
	switch {
	case err == nil && id.ino == *c.dir.Inode && id.dev == *c.dir.Device:
		return false
	case err == nil:
		l.refuse(c.dir.Path, errExchanged)
	case !gone(err):
		c.fail(err)
		return false
	}
	return true
}

var errExchanged = errors.New("it was exchanged while it was read; it is looked at again next time")

// user names who uses a folder. What the kernel itself does has no process.
func user(h snapshot.Holder) string {
	if h.PID == 0 {
		return fmt.Sprintf("%s (%s)", h.Name, h.How)
	}
	return fmt.Sprintf("%s (%d)", h.Name, h.PID)
}
