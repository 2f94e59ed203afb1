package dirs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/foreign"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// maxTable is more than a list of mounts, or a unit, has in bytes.
const maxTable = 1 << 20

// unitFolders are where the units of mounts lie that an administrator or a generator made.
var unitFolders = []string{"etc/systemd/system", "run/systemd/system", "run/systemd/generator", "run/systemd/transient"}

// allMounted says which folder on the way to path the machine mounts something on (fstab, units of systemd), where that is not mounted now.
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
		if p.at != "/" && proc.Under(path, p.at) && !slices.Contains(mounts.points, p.at) {
			return fmt.Errorf("%s has something to mount on %s, which is not mounted now, and it may come back with that", p.from, p.at)
		}
	}
	return nil
}

// mountPoint is a folder on which the machine mounts something that lasts, and what says so.
type mountPoint struct{ at, from string }

// mountPoints reads fstab and the units of mounts. A unit that this user may not read is passed over.
func (o Options) mountPoints() (all []mountPoint, err error) {
	table := filepath.Join(o.Machine, "etc/fstab")
	text, err := foreign.ReadNow(table, foreign.Want{Max: maxTable})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text.Data)) {
		if f := strings.Fields(line); len(f) > 2 && f[0][0] != '#' && f[1][0] == '/' && f[2] != "tmpfs" {
			all = append(all, mountPoint{filepath.Clean(proc.Unescape(f[1])), table})
		}
	}
	for _, folder := range unitFolders {
		units, err := filepath.Glob(filepath.Join(o.Machine, folder, "*.mount"))
		if err != nil {
			return nil, err
		}
		for _, unit := range units {
			if at, ok := mountOfUnit(unit); ok {
				all = append(all, mountPoint{at, unit})
			}
		}
	}
	return all, nil
}

// mountOfUnit is where a unit mounts something that lasts. One that is masked (a link to /dev/null) mounts nothing.
func mountOfUnit(unit string) (at string, ok bool) {
	real, err := filepath.EvalSymlinks(unit)
	if err != nil {
		return "", false
	}
	text, err := foreign.ReadNow(real, foreign.Want{Max: maxTable})
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
