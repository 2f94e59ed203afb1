package safeopen

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links a path may lead through, as in the kernel (MAXSYMLINKS).
const maxLinks = 40

// Path makes sure that only this user and root can change what path leads to, and gives its real path. Every folder
// and every link on the way must belong to this user or to root, and a folder that others can write must have the
// sticky bit, with which users can rename and remove only what is their own. What path ends in must belong to this
// user or to root too.
//
// A path whose end does not exist is fs.ErrNotExist.
func Path(path string) (real string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", err
	}
	at, rest, links := "/", strings.Split(strings.TrimPrefix(path, "/"), "/"), 0
	st, err := lstat(at)
	if err != nil {
		return "", err
	}
	for len(rest) > 0 {
		if err := passable(at, &st); err != nil {
			return "", err
		}
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			if st, err = lstat(at); err != nil {
				return "", err
			}
			continue
		}
		next := filepath.Join(at, name)
		if st, err = lstat(next); err != nil {
			return "", err
		}
		if err := owned(&st); err != nil && !systems(next, st.Uid) {
			return "", &fs.PathError{Op: "trust", Path: next, Err: err}
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "trust", Path: path, Err: unix.ELOOP}
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		if st, err = lstat(at); err != nil {
			return "", err
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// passable says whether the entries of a folder can be relied on.
func passable(path string, st *unix.Stat_t) error {
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return &fs.PathError{Op: "trust", Path: path, Err: unix.ENOTDIR}
	}
	if err := writable(st); err != nil && st.Mode&unix.S_ISVTX == 0 {
		return &fs.PathError{Op: "trust", Path: path, Err: fmt.Errorf("%w, and so they can put anything in its place", err)}
	}
	return nil
}

// Folder makes sure that path is a folder, not a link to one, that it belongs to this user or root, and that no other
// user can change what lies in it or on the way to it. It gives the real path.
func Folder(path string) (real string, err error) {
	st, err := lstat(path)
	switch {
	case err != nil:
		return "", err
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return "", &fs.PathError{Op: "trust", Path: path, Err: ErrLink}
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return "", &fs.PathError{Op: "trust", Path: path, Err: ErrNotFolder}
	}
	if real, err = Path(path); err != nil {
		return "", err
	}
	return real, passable(path, &st)
}

func lstat(path string) (st unix.Stat_t, err error) {
	for {
		err = unix.Lstat(path, &st)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return st, &fs.PathError{Op: "look at", Path: path, Err: err}
	}
	return st, nil
}

// Closed makes sure that only this user and root can put anything into the folder at path, not even beside what is
// there, as they can where it has the sticky bit. SQLite takes what lies beside a database for a part of it.
func Closed(path string) error {
	st, err := lstat(path)
	if err != nil {
		return err
	}
	if err = cmp.Or(owned(&st), writable(&st)); st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = ErrNotFolder
	}
	if err != nil {
		return &fs.PathError{Op: "trust", Path: path, Err: err}
	}
	return nil
}

// CheckOwner fails for what belongs neither to this user nor to root, a link by itself: with an error that is ErrOwner
// and names the owner.
func CheckOwner(path string) error {
	st, err := lstat(path)
	if err != nil {
		return err
	}
	return OwnedBy(path, st.Uid)
}

// OwnedBy is CheckOwner of something that is known to belong to that user.
func OwnedBy(path string, uid uint32) error {
	if ours(uid) {
		return nil
	}
	return &fs.PathError{Op: "trust", Path: path, Err: stranger(uid)}
}

// stranger is the owner of something that is neither this user's nor root's.
type stranger uint32

func (s stranger) Error() string {
	return fmt.Sprintf("it belongs to user %d, and this is user %d", uint32(s), os.Geteuid())
}

func (stranger) Is(target error) bool { return target == ErrOwner }

// standard are folders that only root makes, besides those that lie in /.
var standard = []string{"/dev/shm", "/run/user", "/var/tmp"}

// systems says whether what lies at path is root's although it does not look so: in a user namespace that does not have the machine's
// root, all that is root's shows the number that stands for users who are not in the namespace (user_namespaces(7)). So does what is another user's;
// but only root can put anything into /.
func systems(path string, uid uint32) bool {
	if filepath.Dir(path) != "/" && !slices.Contains(standard, path) {
		return false
	}
	nobody, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil || strings.TrimSpace(string(nobody)) != strconv.FormatUint(uint64(uid), 10) {
		return false
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && unmapped(string(ids), uid)
}

// unmapped says whether no user of the namespace with this map has that number: first number inside, first outside, how many.
func unmapped(ids string, uid uint32) bool {
	for line := range strings.Lines(ids) {
		var inside, outside, count uint64
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
			return false
		}
		if uint64(uid) >= inside && uint64(uid)-inside < count {
			return false
		}
	}
	return ids != ""
}
