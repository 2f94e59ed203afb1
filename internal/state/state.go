// Package state is a state folder: the ledger, locks, holds and the pause in it, and who works with it.
package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Folder is the state folder of one configuration, and who works with it.
type Folder struct {
	Cfg         *config.Config
	Fingerprint string // of what decides: see ConfigFingerprint
	Log         hclog.Logger
	Hands       *stop.Inflight
	Acting      lock.Acting
	// Asker is who asks by the daemon's API, and from the folder that they are in; both are zero where a person runs the command.
	Asker       listen.Conn
	AskerFolder string
	// CommandLine is true where this very command line asks, and Asked is what about.
	CommandLine bool
	Asked       []string
	// Tell has a person read a line about what goes on; nil: they are dropped.
	Tell func(line string)
}

// Note tells a line for a person.
func (f *Folder) Note(format string, args ...any) {
	if f.Tell != nil {
		f.Tell("winnow: " + text.Clean(fmt.Sprintf(format, args...)))
	}
}

// CLIPID is the process of this very command line for which the daemon looks, 0 where it does so for itself or another program: the command counts no more than
// it would by itself. Any other program that asks counts as what it is, and so do those that it started.
func (f *Folder) CLIPID() int {
	if !f.CommandLine {
		return 0
	}
	return f.Asker.PID
}

// TrustState makes sure that no other user can change what lies in the state folder. Its content is trusted: which acts were begun,
// what may be brought back and from where, what is held.
func (f *Folder) TrustState() error {
	err := safeopen.Trusted(f.Cfg.State)
	if errors.Is(err, safeopen.ErrUntrusted) {
		return config.Usagef("state folder %s: %w. Nothing was read from it or done: take that right from others (chmod go-w, chown), or give a folder of your own with --state", f.Cfg.State, err)
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

// Stamp changes when the ledger or the pause does.
func (f *Folder) Stamp() string {
	var out strings.Builder
	path := f.LedgerPath()
	for _, name := range []string{path, path + "-wal", f.Acting.PausePath(f.Cfg.State)} {
		if st, err := os.Lstat(name); err == nil {
			fmt.Fprintf(&out, "%x.%x-", st.ModTime().UnixNano(), st.Size())
		} else {
			out.WriteString("0-")
		}
	}
	return out.String()
}
