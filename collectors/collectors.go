// Package collectors sees. It reads the world into one snapshot and changes nothing.
package collectors

import (
	"context"
	"errors"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// ErrAbsent says that a source is positively not there: no server on that socket, no such file or folder. ErrPermission says
// that it is there and may not be read. Readers wrap them; every other error is a failure of its own.
var (
	ErrAbsent     = safeopen.ErrAbsent
	ErrPermission = errors.New("no permission")
)

// Reader reads one source. It returns what it found, or an error and nothing: a source that was read in part has failed, and
// what it gave is still shown when it sets Partial. It honours ctx's deadline and changes nothing in the world.
type Reader interface {
	Read(ctx context.Context) (Part, error)
}

// Part is what one source gave.
type Part struct {
	Tabs      map[string]snapshot.Tab
	Sessions  map[string]snapshot.Session
	Terminals map[string]snapshot.Terminal
	Dirs      map[string]snapshot.Dir
	Processes map[string]*snapshot.Process
	Spawns    []snapshot.Spawn
	Registry  []snapshot.Entry
	Open      []snapshot.OpenSession
	// Workspaces are those of Codev's that the source names.
	Workspaces []snapshot.Workspace
	// Server is the server that answered, where the source is one.
	Server *snapshot.Server
	// Named are folders that the source's records name: where discovery is on, the repositories around them are read too.
	Named []string
	// Unreadable counts what was listed and could not be read.
	Unreadable int
	// Refused says, a sentence each, what was found and is not a candidate because it is not this user's to decide about.
	Refused []string
	// Partial keeps what is in the part although Read returned an error.
	Partial bool
	// Rest reads what is dear of the folders in the part, once all other sources have been read, and gives all of the part's Dirs, Unreadable and
	// Refused again, under the rules of Reader. Nil where nothing is left to read.
	Rest func(ctx context.Context) (Part, error) `json:"-"`
}

// Source is one thing to read, with the name under which its state is recorded.
type Source struct {
	Name string
	Kind string
	Path string
	// Format is the form of a spawn ledger or registry.
	Format string
	Reader Reader
}
