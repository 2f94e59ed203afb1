// Package editor is a window of an editor for tests, as the Winnow extension serves it (editors/vscode/protocol.schema.json): it has terminal
// tabs, some with real processes on real terminals, closes and opens them as VS Code does, and can be made to misbehave in every way that a
// client must survive. Nothing but tests imports it.
//
// Every request and every reply is held against the protocol's schema. Every request is recorded, and one that changes anything and was not
// announced with Expect fails the test.
package editor

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/faults"
	"github.com/winnow-reaper/winnow/test/kit/procs"
)

// Options is how the window is. The zero value is a window of VS Code without folders, on a socket in a folder of its own.
type Options struct {
	// Dir is the folder of sockets, which is made where it is missing.
	Dir     string
	Folders []string
	Focused bool
	// Extension and Editor are the versions that the window says.
	Extension, Editor string
	// ProofWithin is how long a connection may stay without its proof.
	ProofWithin time.Duration
}

// Window is one. All its methods may be called from any goroutine, also from hooks.
type Window struct {
	o     Options
	home  string
	mark  string // what every process in a tab has in its environment
	wire  *schema
	ticks uint64

	live sync.Mutex // guards the five below
	ln   *net.UnixListener
	id   string
	file string
	conn map[*conversation]bool
	shut bool

	working sync.WaitGroup

	faults.Server[Call, Fault]
	rec   record
	world world
}

// New starts a window. The caller closes it.
func New(o Options) (*Window, error) {
	wire, err := compiled()
	if err != nil {
		return nil, fmt.Errorf("start a window: %w", err)
	}
	_, ticks, err := startOf(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("start a window: %w", err)
	}
	home, err := os.MkdirTemp("", "editor")
	if err != nil {
		return nil, fmt.Errorf("start a window: %w", err)
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(home, "editors")
	}
	if o.ProofWithin == 0 {
		o.ProofWithin = 5 * time.Second
	}
	w := &Window{o: o, home: home, mark: "TESTKIT_EDITOR=" + filepath.Base(home), wire: wire, ticks: ticks}
	w.world = world{folders: append([]string{}, o.Folders...), focused: o.Focused}
	w.Init(Call.mutates, func(a, c Call) bool { return a.Method == c.Method && a.Target == c.Target })
	if err := w.listen(); err != nil {
		_ = os.RemoveAll(home)
		return nil, fmt.Errorf("start a window: %w", err)
	}
	return w, nil
}

// Start starts a window that ends with the test. The test fails if a request changed anything unannounced, or if a request or a reply was
// not what the schema says.
func Start(tb testing.TB, o Options) *Window {
	tb.Helper()
	w, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := w.Close(); err != nil {
			tb.Error(err)
		}
		for _, c := range w.Unexpected() {
			tb.Errorf("the window was asked for %s of %q, which the test did not announce", c.Method, c.Target)
		}
		for _, text := range w.Invalid() {
			tb.Errorf("the protocol's schema forbids: %s", text)
		}
	})
	return w
}

// Close ends the window, its connections, also those that hang, and every process that was started in a tab, wherever it has gone.
func (w *Window) Close() error {
	w.Vanish(false)
	w.live.Lock()
	w.shut = true
	w.live.Unlock()
	w.working.Wait()
	w.world.end()
	return errors.Join(procs.EndMarked(w.mark), os.RemoveAll(w.home))
}

// Socket is where the window listens, or listened last.
func (w *Window) Socket() string {
	w.live.Lock()
	defer w.live.Unlock()
	return w.file
}

// Dir is the folder of the socket.
func (w *Window) Dir() string { return w.o.Dir }

// ID is what the window calls itself since it was loaded.
func (w *Window) ID() string {
	w.live.Lock()
	defer w.live.Unlock()
	return w.id
}

// PID and Ticks are the extension host: this process, and its start in clock ticks since boot.
func (w *Window) PID() int { return os.Getpid() }

// Ticks is when the extension host began.
func (w *Window) Ticks() uint64 { return w.ticks }

// Vanish ends this life of the window as far as clients can see. One whose extension host was killed leaves its socket's file.
func (w *Window) Vanish(leaveSocket bool) {
	w.live.Lock()
	defer w.live.Unlock()
	if w.ln == nil {
		return
	}
	w.ln.SetUnlinkOnClose(!leaveSocket)
	hangUp(w.ln)
	for c := range w.conn {
		_ = c.conn.Close()
	}
	w.ln = nil
}

// Reload loads the window again: it has another id, another socket, and new numbers for its tabs. A tab that an extension draws is gone.
// Of the others it is not known any more how they were opened, unless remembered is set.
func (w *Window) Reload(remembered bool) error {
	w.Vanish(false)
	w.world.reload(remembered)
	return w.listen()
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
