package state

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// TrustState makes sure that no other user can change what lies in the state folder. Its content is trusted: which acts were begun,
// what may be brought back and from where, what is held.
func (f *Folder) TrustState() error {
	err := ledger.Trusted(f.Cfg.State)
	if errors.Is(err, ledger.ErrUntrusted) {
		return config.Mistakef("state folder %s: %w. Nothing was read from it or done: take that right from others (chmod go-w, chown), or give a folder of your own with --state", f.Cfg.State, err)
	}
	return nil // the code that opens it reports any other fault
}

// ReadLedger opens the ledger without writing; one that does not exist yet is as good as empty.
func (f *Folder) ReadLedger(read func(*ledger.Ledger) error) error {
	if err := f.TrustState(); err != nil {
		return err
	}
	l, err := ledger.OpenReadOnly(f.LedgerPath())
	if errors.Is(err, ledger.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Close()
	if err := read(l); err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	return nil
}

// LedgerPath is the file of the ledger.
func (f *Folder) LedgerPath() string { return filepath.Join(f.Cfg.State, "ledger.db") }
