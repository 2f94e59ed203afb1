package safeopen

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

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
		switch err = unix.Lstat(path, &st); {
		case err == nil:
			return st, nil
		case !errors.Is(err, unix.EINTR):
			return st, &fs.PathError{Op: "look at", Path: path, Err: err}
		}
	}
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

// systems says whether what lies at path is root's although it does not look so: in a user namespace that does not have the machine's
// root, all that is root's shows the number that stands for users who are not in the namespace (user_namespaces(7)). So does what is another user's;
// but only root can put anything into /.
func systems(path string, uid uint32) bool {
	if filepath.Dir(path) != "/" && path != "/dev/shm" && path != "/run/user" && path != "/var/tmp" { // which only root makes, too
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

// ErrUntrusted says that another user can change what lies in a folder, or on the way to it, so that nothing in it can be relied on.
var ErrUntrusted = errors.New("it cannot be relied on")

// Trusted makes sure that only this user and root can change what lies in dir: every folder and link on the way must be
// this user's or root's, dir itself this user's, and no other user may write it. One that does not exist yet is in order when it can be
// made where only this user and root can put things; in a folder such as /tmp another user may still make it first, so that it
// is asked again once it is there.
//
// Others may read it: what Winnow makes in it is for this user alone.
func Trusted(dir string) error {
	real, err := Path(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return trustedAbove(dir)
	}
	if err == nil {
		err = isPrivate(real)
	}
	return untrusted(err)
}

// trustedAbove is Trusted of a folder that is not there: it asks for the nearest one above it that is.
func trustedAbove(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for dir != "/" {
		dir = filepath.Dir(dir)
		real, err := Path(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = Folder(real)
		}
		return untrusted(err)
	}
	return nil
}

// isPrivate is true to a folder that is this user's, and that no other user can write: not even with the sticky bit, with which others can
// still put new names into it.
func isPrivate(real string) error {
	if _, err := Folder(real); err != nil {
		return err
	}
	st, err := os.Lstat(real)
	if err != nil {
		return err
	}
	if uid := Owner(st); uid != os.Geteuid() {
		return &fs.PathError{Op: "trust", Path: real, Err: fmt.Errorf("%w (uid %d; this is uid %d)", ErrOwner, uid, os.Geteuid())}
	}
	if st.Mode()&os.ModeSticky != 0 && st.Mode().Perm()&0o022 != 0 {
		return &fs.PathError{Op: "trust", Path: real, Err: fmt.Errorf("%w (mode %04o)", ErrWritable, st.Mode().Perm())}
	}
	return nil
}

// untrusted marks what is due to others. What is wrong with a folder otherwise, such as a file in its place, is an error only.
func untrusted(err error) error {
	for _, others := range []error{ErrOwner, ErrWritable, ErrLink} {
		if errors.Is(err, others) {
			return fmt.Errorf("%w: %w", ErrUntrusted, err)
		}
	}
	return err
}

// MakeTrusted makes the folder where it is not there, for this user alone, and makes sure of it.
func MakeTrusted(dir string) error {
	if err := Trusted(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return Trusted(dir)
}

// Owner is the user id that a file belongs to, -1 where the file system does not say it.
func Owner(st fs.FileInfo) int {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}
