package line

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Folder opens a folder of sockets, and refuses one that is a link, that does not belong to this very user, or in which or on the way to
// which another user can write. The caller closes it.
func Folder(path string) (fd int, err error) {
	if _, err := safeopen.Folder(path); err != nil {
		return -1, err
	}
	fd, err = unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	switch {
	case err != nil:
	case int(st.Uid) != os.Geteuid(): // safeopen.Folder takes root's for everybody's
		err = safeopen.ErrOwner
	case st.Mode&(unix.S_IWGRP|unix.S_IWOTH) != 0: // and one with the sticky bit
		err = safeopen.ErrWritable
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, &fs.PathError{Op: "trust", Path: path, Err: err}
	}
	return fd, nil
}
