package dirs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// maxTable is more than a list of mounts, or a unit, has in bytes.
const maxTable = 1 << 20

// unitFolders are where the units of mounts lie that an administrator or a generator made.
var unitFolders = []string{"etc/systemd/system", "run/systemd/system", "run/systemd/generator", "run/systemd/transient"}

// maxRemembered is how many mount points are remembered of earlier looks, those that were seen last.
const maxRemembered = 200

// Mounted are the mount points on which folders lie, by the list of mounts in a file, followed by those of earlier looks.
func Mounted(mountinfo string, s *snapshot.Snapshot, before []string) ([]string, error) {
	all, err := proc.ReadMounts(mountinfo)
	if err != nil {
		return before, err
	}
	points, seen := map[string]bool{}, map[string]bool{}
	for _, mount := range all {
		points[mount.Point] = true
	}
	for _, d := range s.Dirs {
		if d.Gone != nil && *d.Gone {
			continue
		}
		at := filepath.Clean(d.Path)
		for !points[at] && at != filepath.Dir(at) {
			at = filepath.Dir(at)
		}
		if at != filepath.Dir(at) {
			seen[at] = true
		}
	}
	out := slices.Sorted(maps.Keys(seen))
	for _, at := range before {
		if !seen[at] {
			out = append(out, at)
		}
	}
	return out[:min(len(out), maxRemembered)], nil
}

// allMounted says which folder on the way to path the machine mounts something on (fstab, units of systemd), or had something mounted on in an earlier look, where
// that is not mounted now.
func (o Options) allMounted(path string) error {
	points, err := o.mountPoints()
	if err != nil {
		return fmt.Errorf("whether a disk is missing is not known: %w", err)
	}
	mounts, err := o.mounts()
	if err != nil {
		return fmt.Errorf("whether a disk is missing is not known: %w", err)
	}
	for _, p := range points {
		if real, err := filepath.EvalSymlinks(p.at); err == nil {
			p.at = real
		}
		if p.at != "/" && proc.IsBelow(path, p.at) && !slices.Contains(mounts.points, p.at) {
			return fmt.Errorf("%s %s, which is not mounted now, and it may come back with that", p.from, p.at)
		}
	}
	return nil
}

// mountPoint is a folder on which the machine mounts something that lasts, and what says so, before the folder's name.
type mountPoint struct{ at, from string }

// mountPoints reads fstab and the units of mounts, and has those of earlier looks. A unit that this user may not read is passed over.
func (o Options) mountPoints() (all []mountPoint, err error) {
	table := filepath.Join(o.Machine, "etc/fstab")
	text, err := safeopen.ReadNow(table, safeopen.Want{Max: maxTable})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text.Data)) {
		if f := strings.Fields(line); len(f) > 2 && f[0][0] != '#' && f[1][0] == '/' && f[2] != "tmpfs" {
			all = append(all, mountPoint{filepath.Clean(proc.Unescape(f[1])), table + " has something to mount on"})
		}
	}
	for _, folder := range unitFolders {
		units, err := filepath.Glob(filepath.Join(o.Machine, folder, "*.mount"))
		if err != nil {
			return nil, err
		}
		for _, unit := range units {
			if at, ok := mountOfUnit(unit); ok {
				all = append(all, mountPoint{at, unit + " has something to mount on"})
			}
		}
	}
	for _, at := range o.Mounted {
		all = append(all, mountPoint{at, "an earlier look saw it on a disk that was mounted on"})
	}
	return all, nil
}

// mountOfUnit is where a unit mounts something that lasts. One that is masked (a link to /dev/null) mounts nothing.
func mountOfUnit(unit string) (at string, ok bool) {
	real, err := filepath.EvalSymlinks(unit)
	if err != nil {
		return "", false
	}
	text, err := safeopen.ReadNow(real, safeopen.Want{Max: maxTable})
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text.Data)) {
		key, value, _ := strings.Cut(line, "=")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "Where":
			at = value
		case "Type":
			if value == "tmpfs" {
				return "", false
			}
		}
	}
	return filepath.Clean(at), filepath.IsAbs(at)
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
	var inside []string
	for _, point := range m.points {
		if strings.HasPrefix(point, path+"/") {
			inside = append(inside, point)
		}
	}
	return inside
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
