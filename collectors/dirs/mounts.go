package dirs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/dirs/disks"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// allMounted is disks.AllMounted.
func (o Options) allMounted(path string) error {
	mounts, err := o.mounts()
	if err != nil {
		return fmt.Errorf("whether a disk is missing is not known: %w", err)
	}
	return disks.AllMounted(path, o.Machine, o.Mounted, mounts.points)
}

// mounts are the mount points of this process's mount namespace.
type mounts struct {
	points []string
	count  map[string]int // of mount points at or below each folder that has any
}

// mounts are read once for all sources of a look: some machines have thousands.
func (o Options) mounts() (*mounts, error) {
	if !o.wholeLook() {
		return readMounts(o.Mountinfo)
	}
	s := o.Cache
	s.mounting.Lock()
	defer s.mounting.Unlock()
	if s.mounts == nil {
		m, err := readMounts(o.Mountinfo)
		if err != nil {
			return nil, err
		}
		s.mounts = m
	}
	return s.mounts, nil
}

func readMounts(path string) (*mounts, error) {
	all, err := proc.ReadMounts(path)
	if err != nil {
		return nil, err
	}
	m := &mounts{count: map[string]int{}}
	for _, mount := range all {
		m.points = append(m.points, mount.Point)
		for at := mount.Point; ; at = filepath.Dir(at) {
			m.count[at]++
			if at == "/" || at == "." {
				break
			}
		}
	}
	return m, nil
}

// listBelow gives the mount points inside path.
func (m *mounts) listBelow(path string) []string {
	if m == nil || m.count[path] == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.points), func(point string) bool { return !strings.HasPrefix(point, path+"/") })
}

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

// maxEmpty is how many folders and tools' files are looked at in one that holds nothing else.
const maxEmpty = 500

// empty says whether a folder holds no file, but for those in folders that only a tool writes and that hold no repository.
func (o Options) empty(ctx context.Context, path string) (bool, error) {
	f, err := folder.OpenAt(unix.AT_FDCWD, path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	none, err := o.holdsNoFile(f, "", new(maxEmpty))
	if !none || err != nil {
		return false, err
	}
	inside, err := git.Nested(ctx, path, nil, new(2*maxEmpty))
	return err == nil && len(inside) == 0, err
}

func (o Options) holdsNoFile(f folder.Folder, rel string, left *int) (bool, error) {
	names, err := f.Some(maxEmpty)
	if err != nil {
		return false, fmt.Errorf("list folder: %w", err)
	}
	for _, name := range names {
		in, err := f.OpenBelow(name, unix.O_RDONLY)
		*left--
		if errors.Is(err, unix.ENOTDIR) && toolFile(o.ToolFiles, path.Join(rel, name)) && *left >= 0 {
			continue
		}
		if err != nil { // a file, or what cannot be looked into
			return false, nil
		}
		none, err := o.holdsNoFile(in, path.Join(rel, name), left)
		if in.Close(); !none || err != nil || *left < 0 {
			return false, err
		}
	}
	return true, nil
}
