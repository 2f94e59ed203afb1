package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Where a unit comes from.
const (
	// Ours was written by Install.
	Ours = "ours"
	// FromPackage is a package's, in the folder where the system's own units lie.
	FromPackage = "package"
	// Others is somebody else's: it is neither replaced nor removed.
	Others = "others"
	// Absent is none.
	Absent = "absent"
)

// Place is where the units of one manager lie.
type Place struct {
	// System is true for the system's manager, false for the user's own.
	System bool
	// User is whose instance it is, for the system's manager.
	User string
	// Folder is where Install writes: ~/.config/systemd/user, or /etc/systemd/system.
	Folder string
	// Package is where packages put theirs: /usr/lib/systemd/user, or /usr/lib/systemd/system.
	Package string
}

// forms are the units that each form has.
var forms = []struct {
	name  string
	timer bool
}{{"daemon", false}, {"timer", true}}

// names gives the units of a form, the one that is enabled first.
func (p Place) names(timer bool) []string { return Unit{Instances: p.System, Timer: timer}.names() }

// enabled is the name under which a unit is enabled: a template's has the user in it.
func (p Place) enabled(name string) string {
	if p.System {
		return strings.Replace(name, "@", "@"+p.User, 1)
	}
	return name
}

// look says where the unit of that name comes from, its file and its text. What stands in Folder comes before what a package brought.
func (p Place) look(name string) (from, path string, text []byte, err error) {
	path = filepath.Join(p.Folder, name)
	st, err := os.Lstat(path)
	switch {
	case err == nil && !st.Mode().IsRegular():
		return Others, path, nil, nil // a link, such as systemctl mask and systemctl link make
	case err == nil:
		if text, err = os.ReadFile(path); err != nil {
			return "", path, nil, fmt.Errorf("read the unit: %w", err)
		}
		if first, _, _ := bytes.Cut(text, []byte("\n")); string(first) == Mark {
			return Ours, path, text, nil
		}
		return Others, path, text, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", path, nil, fmt.Errorf("look for the unit: %w", err)
	}
	packaged := filepath.Join(p.Package, name)
	switch text, err = os.ReadFile(packaged); {
	case errors.Is(err, fs.ErrNotExist):
		return Absent, path, nil, nil
	case err != nil:
		return "", packaged, nil, fmt.Errorf("read the unit: %w", err)
	}
	return FromPackage, packaged, text, nil
}

// write puts a unit into its place, in one step, for everybody to read.
func (p Place) write(ctx context.Context, f File) error {
	if err := os.MkdirAll(p.Folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of units: %w", err)
	}
	path := filepath.Join(p.Folder, f.Name)
	if err := atomicfile.WriteData(ctx, path, f.Text); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}

// links are the links by which systemctl enable had units of that name start (TARGET.wants/NAME), in this folder. A template's are those of
// all its instances.
func (p Place) links(name string) ([]string, error) {
	pattern := name
	if p.System {
		pattern = strings.Replace(name, "@", "@*", 1)
	}
	links, err := filepath.Glob(filepath.Join(p.Folder, "*.wants", pattern))
	slices.Sort(links)
	return links, err
}

// Replaceable says why a program must not be what a unit runs: another user than root and this one could put another in its place. nil where no other user can.
func Replaceable(program string) error {
	real, err := safeopen.Path(program)
	if err != nil {
		return err
	}
	f, err := safeopen.Open(real, safeopen.Want{Max: maxProgram, Ruling: true})
	if err != nil {
		return err
	}
	return f.Close()
}

// maxProgram bounds the file of a program, in bytes: a larger one does not count.
const maxProgram = 1 << 40
