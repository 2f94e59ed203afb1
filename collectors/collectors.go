// Package collectors sees. It reads the world into one snapshot and changes nothing.
package collectors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

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

// lateness is how long past its deadline a reader may still answer: one that honours its deadline needs a moment to say so
// and to hand over what it has.
const lateness = 100 * time.Millisecond

var (
	errStuck = errors.New("the reader did not answer in time and was abandoned")
)

// await runs read and gives what it gave, or gives up on it shortly after ctx ends. What an abandoned read writes later goes to
// a reading that no other code holds.
func await(ctx context.Context, what reading, read func(context.Context, *reading), log hclog.Logger) reading {
	answer := make(chan reading, 1)
	go func() { answer <- guarded(ctx, what, read, log) }()
	select {
	case end := <-answer:
		return end
	case <-ctx.Done():
	}
	timer := time.NewTimer(lateness)
	defer timer.Stop()
	select {
	case end := <-answer:
		return end
	case <-timer.C:
		late := what // the reader's goroutine still reads what
		late.err = fmt.Errorf("%w: %w", errStuck, ctx.Err())
		return late
	}
}

// guarded runs read and turns a panic into an error.
func guarded(ctx context.Context, what reading, read func(context.Context, *reading), log hclog.Logger) (end reading) {
	end = what
	defer func() {
		if p := recover(); p != nil {
			log.Error("reader panicked", "source", what.Name, "panic", oneLine(fmt.Sprint(p)), "stack", string(debug.Stack()))
			end = what
			end.err = fmt.Errorf("the reader panicked: %v; this is a fault in winnow: please report it", p)
		}
	}()
	read(ctx, &end)
	return end
}
