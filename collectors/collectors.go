// Package collectors sees. It reads the world into one snapshot and changes nothing.
package collectors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"

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

// Env gives the environment of a look. The nil one is empty.
type Env func(key string) string

// Get gives a variable, "" where it is missing.
func (e Env) Get(key string) string {
	if e == nil {
		return ""
	}
	return e(key)
}

// Failing is the reader of what could not even be looked for.
type Failing struct{ Err error }

// Read implements Reader.
func (f Failing) Read(context.Context) (Part, error) { return Part{}, f.Err }

// Resolved is where path leads, or path itself where that is not known.
func Resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Distinct leaves the first path of those that lead to the same place.
func Distinct(paths []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		real := Resolved(path)
		defer func() { seen[real] = true }()
		return seen[real]
	})
}

// Short is a suffix that tells one path from another, the same one at every look.
func Short(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:2])
}

// Names gives each path the name of its source: the kind, a slash, and what name says. Of two with the same name, those that are not at
// home where that name comes from get a suffix, and so do those with the name reserved.
func Names(kind, reserved string, paths []string, name func(path string) (name string, home bool)) map[string]string {
	count := map[string]int{}
	for _, path := range paths {
		called, _ := name(path)
		count[called]++
	}
	out := map[string]string{}
	for _, path := range paths {
		called, home := name(path)
		if (count[called] > 1 || called == reserved) && !home {
			called += "~" + Short(path)
		}
		out[path] = kind + "/" + called
	}
	return out
}
