package dirs

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

// stat reads what the file system says of the folder itself, without following a link.
func stat(f found) (snapshot.Dir, folder.Stamp, error) {
	d := snapshot.Dir{Name: filepath.Base(f.path), Path: f.path, Root: f.root}
	s, err := folder.StampAt(unix.AT_FDCWD, f.path)
	if err != nil {
		return d, s, &os.PathError{Op: "statx", Path: f.path, Err: err}
	}
	d.Device, d.Inode, d.UID, d.ModifiedAt = new(s.Dev), new(s.Ino), new(s.UID), known(s.Modified)
	d.Symlink = new(s.Mode&unix.S_IFMT == unix.S_IFLNK)
	d.BornAt = known(s.Born)
	if s.Mount != 0 {
		d.MountID = new(s.Mount)
	}
	return d, s, nil
}

// empty says whether a folder has no entry at all.
func empty(path string) (bool, error) {
	f, err := folder.OpenAt(unix.AT_FDCWD, path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	none, err := f.Empty()
	if err != nil {
		return false, fmt.Errorf("list folder: %w", err)
	}
	return none, nil
}
