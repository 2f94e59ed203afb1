// Package disks says on which mount points folders lie, and which of those that the machine has are not mounted now.
package disks

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
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

// AllMounted says which folder on the way to path the machine mounts something on (fstab, units of systemd), or had something mounted on in an earlier look
// (before), where that is not among the mount points of now. machine is the folder below which the machine's own files lie, "/" for most.
func AllMounted(path, machine string, before, now []string) error {
	points, err := mountPoints(machine, before)
	if err != nil {
		return fmt.Errorf("whether a disk is missing is not known: %w", err)
	}
	for _, p := range points {
		if real, err := filepath.EvalSymlinks(p.at); err == nil {
			p.at = real
		}
		if p.at != "/" && proc.IsBelow(path, p.at) && !slices.Contains(now, p.at) {
			return fmt.Errorf("%s %s, which is not mounted now, and it may come back with that", p.from, p.at)
		}
	}
	return nil
}

// mountPoint is a folder on which the machine mounts something that lasts, and what says so, before the folder's name.
type mountPoint struct{ at, from string }

// mountPoints reads fstab and the units of mounts, and has those of earlier looks. A unit that this user may not read is passed over.
func mountPoints(machine string, before []string) (all []mountPoint, err error) {
	table := filepath.Join(machine, "etc/fstab")
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
		units, err := filepath.Glob(filepath.Join(machine, folder, "*.mount"))
		if err != nil {
			return nil, err
		}
		for _, unit := range units {
			if at, ok := mountOfUnit(unit); ok {
				all = append(all, mountPoint{at, unit + " has something to mount on"})
			}
		}
	}
	for _, at := range before {
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
