package service

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

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
