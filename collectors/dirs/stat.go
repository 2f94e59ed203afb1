package dirs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"winnow/engine/snapshot"
)

// stat reads what the file system says of the folder itself, without following a link.
func stat(f found) (snapshot.Dir, error) {
	d := snapshot.Dir{Name: filepath.Base(f.path), Path: f.path, Root: f.root}
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, f.path, unix.AT_SYMLINK_NOFOLLOW,
		unix.STATX_BASIC_STATS|unix.STATX_BTIME|unix.STATX_MNT_ID, &st)
	if err != nil {
		return d, &os.PathError{Op: "statx", Path: f.path, Err: err}
	}
	d.Device = new(unix.Mkdev(st.Dev_major, st.Dev_minor))
	d.Symlink = new(st.Mode&unix.S_IFMT == unix.S_IFLNK)
	if st.Mask&unix.STATX_INO != 0 {
		d.Inode = new(st.Ino)
	}
	if st.Mask&unix.STATX_UID != 0 {
		d.UID = new(int(st.Uid))
	}
	if st.Mask&unix.STATX_MTIME != 0 {
		d.ModifiedAt = new(moment(st.Mtime))
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		d.BornAt = new(moment(st.Btime))
	}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		d.MountID = new(st.Mnt_id)
	}
	return d, nil
}

func moment(t unix.StatxTimestamp) time.Time { return time.Unix(t.Sec, int64(t.Nsec)).UTC() }

// empty says whether a folder has no entry at all.
func empty(path string) (bool, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), path)
	defer func() { _ = dir.Close() }()
	_, err = dir.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("list folder: %w", err)
	}
	return false, nil
}
