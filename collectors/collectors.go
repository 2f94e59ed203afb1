// Package collectors sees. It reads the world into one snapshot and changes nothing.
package collectors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
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

// NameSources adds to sources one for each path, and sorts all by their paths. The name of a source is the kind, a slash, and what name says. Of two with
// the same name, those that are not at home where that name comes from get a suffix, and so do those with the name reserved.
func NameSources(sources []Source, kind, reserved string, paths []string, name func(path string) (name string, home bool),
	reader func(name, path string) Reader,
) []Source {
	count := map[string]int{}
	for _, path := range paths {
		called, _ := name(path)
		count[called]++
	}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		called, home := name(path)
		if (count[called] > 1 || called == reserved) && !home {
			called += "~" + Short(path)
		}
		called = kind + "/" + called
		sources = append(sources, Source{Name: called, Kind: kind, Path: path, Reader: reader(called, path)})
	}
	slices.SortFunc(sources, func(a, b Source) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name)) })
	return sources
}

// lateness is how long past its deadline a reader may still answer: one that honours its deadline needs a moment to say so
// and to hand over what it has.
const lateness = 100 * time.Millisecond

var errStuck = errors.New("the reader did not answer in time and was abandoned")

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

// perItem is the part of a source's timeout that each item in it adds: a source with 100 folders may take twice as long as one without.
const perItem = 100

// lease is the context of one source's reading. Its deadline can be moved, since how long a reading may take is known only when it is known
// how much there is to read.
type lease struct {
	context.Context // has the values, and the cause of the end
	cancel          context.CancelCauseFunc
	began           time.Time
	timeout         time.Duration
	done            chan struct{}
	counted         count

	mu    sync.Mutex
	end   time.Time
	timer *time.Timer
	err   error
}

// count is how far a reading has come.
type count struct{ done, all atomic.Int64 }

type leaseKey struct{}

func newLease(parent context.Context, timeout time.Duration) *lease {
	inner, cancel := context.WithCancelCause(parent)
	l := &lease{Context: inner, cancel: cancel, began: time.Now(), timeout: timeout, done: make(chan struct{})}
	l.end = l.began.Add(timeout)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(timeout, func() { l.stop(context.DeadlineExceeded) })
	context.AfterFunc(inner, func() { l.stop(inner.Err()) })
	return l
}

// stop ends the lease for good, once.
func (l *lease) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	l.timer.Stop()
	l.cancel(err) // before done is closed, so that whoever sees the end sees its cause
	close(l.done)
}

// Done implements context.Context.
func (l *lease) Done() <-chan struct{} { return l.done }

// Err implements context.Context.
func (l *lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Deadline implements context.Context.
func (l *lease) Deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if outer, ok := l.Context.Deadline(); ok && outer.Before(l.end) {
		return outer, true
	}
	return l.end, true
}

// Value implements context.Context.
func (l *lease) Value(key any) any {
	if key == (leaseKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// allowed is how long the reading may take in all.
func (l *lease) allowed() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end.Sub(l.began)
}

// Items says that the source whose reading ctx belongs to has n items to read: its deadline moves by a hundredth of its timeout for each. It
// gives what is to be called whenever one of them has been dealt with. Outside of a Run it does nothing.
func Items(ctx context.Context, n int) (dealt func()) {
	l, ok := ctx.Value(leaseKey{}).(*lease)
	if !ok {
		return func() {}
	}
	l.counted.all.Store(int64(n))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && n > 0 {
		l.end = l.began.Add(l.timeout + time.Duration(n)*(l.timeout/perItem))
		l.timer.Reset(time.Until(l.end))
	}
	return func() { l.counted.done.Add(1) }
}

// Running is a source that is being read.
type Running struct {
	Name string
	// Count is how many of all its items have been dealt with; all is 0 where it is not known yet, or does not matter.
	Count func() (done, all int)
}

func (c *count) now() (done, all int) { return int(c.done.Load()), int(c.all.Load()) }
