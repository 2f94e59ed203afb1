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

// names gives the units of a form, the one that is enabled first.
func (p Place) names(timer bool) []string { return Unit{Instances: p.System, Timer: timer}.names() }

// enabled is the name under which a unit is enabled: a template's has the user in it.
func (p Place) enabled(name string) string {
	if p.System {
		return strings.Replace(name, "@", "@"+p.User, 1)
	}
	return name
}

// Systemctl is a command line for a person, to the manager of this place.
func (p Place) Systemctl(args string) string { return p.command("systemctl", args) }

func (p Place) command(program, args string) string {
	if p.System {
		return "sudo " + program + " " + args
	}
	return program + " --user " + args
}

// file is the path of the unit of that name, "" where there is no such unit. What stands in Folder comes before what a package brought.
func (p Place) file(name string) (string, error) {
	for _, dir := range []string{p.Folder, p.Package} {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return "", nil
}

// foreignUnit says which unit is in the way because somebody else wrote it: its first line is not Mark, or it is a link, such as systemctl
// mask makes.
func (p Place) foreignUnit() error {
	for _, name := range slices.Concat(p.names(false), p.names(true)) {
		path := filepath.Join(p.Folder, name)
		st, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var text []byte
		if err == nil && st.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		if err != nil {
			return fmt.Errorf("read the unit: %w", err)
		}
		if !bytes.HasPrefix(text, []byte(Mark+"\n")) {
			return fmt.Errorf("%s was not written by winnow service install: look at it, and move it away if it is not needed", path)
		}
	}
	return nil
}

// write puts a unit into its place, in one step, for everybody to read.
func (p Place) write(ctx context.Context, f File, c *Changed) error {
	path := filepath.Join(p.Folder, f.Name)
	if text, err := os.ReadFile(path); err == nil && bytes.Equal(text, f.Text) {
		c.Kept = append(c.Kept, path)
		return nil
	}
	if err := os.MkdirAll(p.Folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of units: %w", err)
	}
	if err := atomicfile.WriteData(ctx, path, f.Text); err != nil {
		return err
	}
	c.Written = append(c.Written, path)
	return os.Chmod(path, 0o644)
}

// links are the links by which systemctl enable had units start (TARGET.wants/NAME), in this folder.
func (p Place) links(pattern string) ([]string, error) {
	return filepath.Glob(filepath.Join(p.Folder, "*.wants", pattern))
}

// otherInstances are the instances of a template that other users have enabled.
func (p Place) otherInstances(name string) (units []string, err error) {
	links, err := p.links(strings.Replace(name, "@", "@*", 1))
	for _, link := range links {
		if unit := filepath.Base(link); unit != p.enabled(name) {
			units = append(units, unit)
		}
	}
	return units, err
}

// Replaceable says why a program must not be what a unit runs: another user than root and this one could put another in its place. nil where
// no other user can.
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
