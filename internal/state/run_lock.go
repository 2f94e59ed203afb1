package state

import (
	"os"
	"path/filepath"

	"github.com/winnow-reaper/winnow/internal/ledger"
)

// RunLock is the file that the daemon of a state folder has locked for as long as it runs.
func (f *Folder) RunLock() string { return filepath.Join(f.Cfg.State, "run.lock") }

// AsksForLock takes the daemon's lock where there is a state folder.
func (f *Folder) AsksForLock() (unlock func() error, err error) {
	if _, err := os.Lstat(f.Cfg.State); err != nil {
		return nil, err
	}
	return ledger.Lock(f.RunLock())
}
