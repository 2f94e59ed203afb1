package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// trustState makes sure that no other user can change what lies in the state folder. Its content is trusted: which acts were begun,
// what may be brought back and from where, what is held.
func (a *stateFolder) trustState() error {
	err := ledger.Trusted(a.cfg.State)
	if errors.Is(err, ledger.ErrUntrusted) {
		return config.Mistakef("state folder %s: %w. Nothing was read from it or done: take that right from others (chmod go-w, chown), or give a folder of your own with --state", a.cfg.State, err)
	}
	return nil // the code that opens it reports any other fault
}

// readLedger opens the ledger without writing; one that does not exist yet is as good as empty.
func (a *stateFolder) readLedger(read func(*ledger.Ledger) error) error {
	if err := a.trustState(); err != nil {
		return err
	}
	l, err := ledger.OpenReadOnly(a.ledgerPath())
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

func (a *stateFolder) ledgerPath() string { return filepath.Join(a.cfg.State, "ledger.db") }
