package safeopen

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is an open folder for reading several files: each is found in the very folder that was opened, without walking its path again.
type Dir struct {
	fd   int
	path string
}

// OpenDir opens the folder at path, no link to one, of this user or of root: with CheckOwner's error where it is another's. The caller closes it.
func OpenDir(path string) (Dir, error) {
	fd, err := openat(unix.AT_FDCWD, path, unix.O_DIRECTORY)
	if err != nil {
		return Dir{fd: -1}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	d := Dir{fd, path}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		d.Close()
		return Dir{fd: -1}, &fs.PathError{Op: "look at", Path: path, Err: err}
	}
	if err := OwnedBy(path, st.Uid); err != nil {
		d.Close()
		return Dir{fd: -1}, err
	}
	return d, nil
}

// Close lets go of the folder. What could not be opened may be closed too.
func (d Dir) Close() {
	if d.fd >= 0 {
		_ = unix.Close(d.fd)
	}
}

// Names lists what is in the folder, in no order. It can be asked once.
func (d Dir) Names() ([]string, error) {
	var names []string
	var buffer [4096]byte
	for {
		n, err := unix.ReadDirent(d.fd, buffer[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "list", Path: d.path, Err: err}
		case n == 0:
			return names, nil
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

// Modified is when what is at rel in the folder was last written, the link itself where it is one; "" is the folder.
func (d Dir) Modified(rel string) (time.Time, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if rel == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	for {
		var st unix.Stat_t
		err := unix.Fstatat(d.fd, rel, &st, flags)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return time.Time{}, &fs.PathError{Op: "look at", Path: filepath.Join(d.path, rel), Err: err}
		}
		return time.Unix(st.Mtim.Unix()), nil
	}
}

// Read is ReadNow of what is at rel in the folder.
func (d Dir) Read(rel string, w Want) (File, error) {
	return read(d.fd, rel, filepath.Join(d.path, rel), w)
}
