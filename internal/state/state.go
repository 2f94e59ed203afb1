// Package state is a state folder: the ledger, locks, holds and the pause in it, and who works with it.
package state

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Folder is the state folder of one configuration, and who works with it.
type Folder struct {
	Cfg         *config.Config
	Fingerprint string // of what decides: see deciding
	Log         hclog.Logger
	Hands       *stop.Inflight
	Acting      ledger.Acting
	// Asker is who asks by the daemon's API, and from the folder that they are in; both are zero where a person runs the command.
	Asker       listen.Conn
	AskerFolder string
	// CommandLine is true where this very command line asks, and Asked is what about.
	CommandLine bool
	Asked       []string
	// Tell has a person read a line about what goes on; nil: nobody reads along.
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
