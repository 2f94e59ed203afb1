package dirs

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
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

// settle looks whether each candidate is still the folder that was read first. What was exchanged in between was read in part from
// something else, so that nothing of it counts.
func (l *look) settle() {
	for _, c := range l.candidates {
		if c.dir.Inode == nil || c.dir.Device == nil {
			continue
		}
		var st unix.Stat_t
		err := unix.Lstat(c.dir.Path, &st)
		if err == nil && st.Ino == *c.dir.Inode && uint64(st.Dev) == *c.dir.Device {
			continue
		}
		if err == nil {
			err = fmt.Errorf("%s was exchanged while it was read: it is left as it is, and looked at again next time", c.dir.Path)
		} else if os.IsNotExist(err) {
			continue
		}
		c.dir.Git, c.dir.Checkout, c.dir.Empty, c.dir.HoldersKnown, c.dir.Symlink = nil, nil, nil, nil, nil
		c.fail(err)
	}
}
