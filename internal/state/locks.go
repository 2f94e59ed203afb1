package state

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// RunLock is the file that the daemon of a state folder has locked for as long as it runs.
func (f *Folder) RunLock() string { return filepath.Join(f.Cfg.State, "run.lock") }

// AsksForLock takes the daemon's lock where there is a state folder.
func (f *Folder) AsksForLock() (unlock func() error, err error) {
	if _, err := os.Lstat(f.Cfg.State); err != nil {
		return nil, err
	}
	return lock.Take(f.RunLock())
}

// UserDir is where the lock lies that all of a user's programs which close tabs may share: the folder that the login made for this user, or,
// if that is missing, the folder of the lock of acts. A folder that another user could have made does not count.
func (f *Folder) UserDir() string {
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", os.Geteuid())} {
		if _, err := os.Lstat(dir); err == nil && filepath.IsAbs(dir) && safeopen.Trusted(dir) == nil {
			return dir
		}
	}
	if dir := f.Acting.Folder(); dir != "" && safeopen.Trusted(dir) == nil {
		return dir
	}
	return f.Cfg.State
}
