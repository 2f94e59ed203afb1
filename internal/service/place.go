package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/state"
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

// Find gives where the units lie, of the machine's manager or of the user's own, and the user that they run as. With
// writes it is an error where this process may not write there.
func Find(system bool, asUser string, writes bool) (Service, *user.User, error) {
	s := Service{Manager: Systemctl{System: system}}
	me, err := user.Current()
	switch {
	case err != nil:
		return s, nil, fmt.Errorf("find out who runs this: %w; nothing was done", err)
	case !system && asUser != "":
		return s, nil, config.Usagef("--as-user %s: your own manager runs what is yours; add --system for the machine's", asUser)
	case !system:
		base, err := os.UserConfigDir()
		if err != nil {
			return s, nil, fmt.Errorf("find the folder of your units: %w; nothing was done", err)
		}
		s.Place = Place{Folder: filepath.Join(base, "systemd", "user"), Package: "/usr/lib/systemd/user"}
		if writes {
			err = ownFolder(s.Folder)
		}
		return s, me, err
	case writes && os.Geteuid() != 0:
		return s, nil, fmt.Errorf("--system changes /etc/systemd/system, which only root may: run it with sudo; nothing was done")
	}
	name := asUser
	if name == "" && os.Geteuid() == 0 {
		name = os.Getenv("SUDO_USER")
	}
	as, err := user.Lookup(cmp.Or(name, me.Username))
	if err != nil {
		return s, nil, config.Usagef("--as-user: %v; nothing was done", err)
	}
	s.Place = Place{System: true, User: as.Username, Folder: "/etc/systemd/system", Package: "/usr/lib/systemd/system"}
	return s, as, nil
}

// ownFolder says why nothing is to be written below a folder, which need not be there: it belongs to another user, as with sudo -E, which leaves HOME as it was. What root made there the
// user could not change any more.
func ownFolder(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		st, err := os.Stat(at)
		switch {
		case err != nil && at != filepath.Dir(at):
			continue // not there yet
		case err != nil:
			return fmt.Errorf("look for the folder of your units: %w; nothing was done", err)
		}
		if owner := safeopen.Owner(st); owner > 0 && owner != os.Geteuid() {
			return fmt.Errorf("%s is not the folder of this user's units: %s belongs to uid %d, and this runs as uid %d. Run it without sudo for your own manager, or with --system for the machine's; nothing was done",
				dir, at, owner, os.Geteuid())
		}
		return nil
	}
}

// UnseenVariables are the variables of this shell that say how winnow works and that a manager does not have. What a
// flag of the unit says is left out.
func UnseenVariables(environ []string) (names []string) {
	asFlags := []string{"WINNOW_CONFIG", "WINNOW_STATE", "WINNOW_POLICY", "WINNOW_NO_EMBEDDED_POLICY"}
	for _, pair := range environ {
		name, val, _ := strings.Cut(pair, "=")
		if val != "" && (slices.Contains(state.Steering, name) || strings.HasPrefix(name, "WINNOW_") && !slices.Contains(asFlags, name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
