package safeopen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

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
