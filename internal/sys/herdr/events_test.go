package herdr_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	server "github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// watching is a Watch under way.
type watching struct {
	n, begun atomic.Int64
	err      chan error
	cancel   context.CancelFunc
}

func watch(t *testing.T, socket string) *watching {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{err: make(chan error, 1), cancel: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := &herdr.Client{Socket: socket, UID: os.Geteuid(), Patience: wait.Patience}
		w.err <- c.Watch(ctx, func() { w.begun.Add(1) }, func() { w.n.Add(1) })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return w
}

func (w *watching) ends(t *testing.T) error {
	t.Helper()
	select {
	case err := <-w.err:
		return err
	case <-time.After(wait.Patience):
		t.Fatal("it does not end")
	}
	return nil
}

const tick = 5 * time.Millisecond

// TestWatch: the past is one event however much it is, what happens later is told one by one, and what programs print is not told.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, profile := range []server.Profile{server.V071, server.V080, server.V082, server.V091, server.Future} {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			s := server.Start(t, server.Options{Tick: tick, Profile: profile})
			space := s.Workspace("w")
			tab := s.Tab(space, "a", server.Pane{Fake: &server.Info{}})
			for range 100 {
				s.Rename(tab, "again")
			}
			w := watch(t, s.Socket())
			wait.Eventually(t, "told of the past", func() bool { return w.n.Load() > 0 })
			if n, begun := w.n.Load(), w.begun.Load(); n != 1 || begun != 1 {
				t.Fatalf("%s: told %d times of the past; it began %d times", profile, n, begun)
			}
			s.Retitle(s.Panes(tab)[0].ID, 50)
			s.Rename(tab, "new")
			wait.Eventually(t, "told of the name", func() bool { return w.n.Load() > 1 })
			s.SetStatus(s.Panes(tab)[0].ID, "working")
			wait.Eventually(t, "told of the agent", func() bool { return w.n.Load() > 2 })
			if n := w.n.Load(); n != 3 {
				t.Errorf("%s: told %d times", profile, n)
			}
			w.cancel()
			if err := w.ends(t); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", profile, err)
			}
			wait.Eventually(t, "left", func() bool { return s.Subscribers() == 0 })
		})
	}
}

// TestABusyPast ends after as many events as a server remembers, though there is never a moment without one.
func TestABusyPast(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{Tick: tick})
	tab := s.Tab(s.Workspace("w"), "a", server.Pane{Fake: &server.Info{}})
	w := watch(t, s.Socket())
	wait.Eventually(t, "told", func() bool {
		for range 10 {
			s.Rename(tab, "again")
		}
		return w.n.Load() > 1
	})
}

// TestNoPast: what happened between the last look and the agreement is not known, so one look is due once the server has agreed.
func TestNoPast(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{Tick: tick})
	w := watch(t, s.Socket())
	wait.Eventually(t, "agreed", func() bool { return w.begun.Load() == 1 })
	wait.Eventually(t, "told of the time before", func() bool { return w.n.Load() == 1 })
	s.Tab(s.Workspace("w"), "a", server.Pane{Fake: &server.Info{}})
	wait.Eventually(t, "told", func() bool { return w.n.Load() == 4 }) // and of a workspace, a tab, a pane
}

// TestWatchEnds with its server, however that ends, and says so.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*server.Server){
		"stop": func(s *server.Server) { s.Stop(false) }, "crash": func(s *server.Server) { s.Stop(true) }, "handoff": (*server.Server).Handoff,
	} {
		s := server.Start(t, server.Options{Tick: tick})
		s.Tab(s.Workspace("w"), "a", server.Pane{Fake: &server.Info{}})
		w := watch(t, s.Socket())
		wait.Eventually(t, "agreed", func() bool { return w.begun.Load() == 1 })
		end(s)
		if err := w.ends(t); err == nil || !strings.Contains(err.Error(), "ended") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWatchRefuses what is no herdr server of this user, and does not wait for one that says nothing.
func TestWatchRefuses(t *testing.T) {
	t.Parallel()
	dir := must.Get(os.MkdirTemp("/tmp", "h"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := watch(t, filepath.Join(dir, "none")).ends(t); !errors.Is(err, herdr.ErrNoServer) {
		t.Errorf("no server: %v", err)
	}
	for name, fault := range map[string]server.Fault{
		"an error": server.ErrorReply("invalid_request", "no"), "garbage": server.Garbage, "no answer": server.CloseWithoutReply, "half an answer": server.PartialLine, "too long": server.HugeReply,
	} {
		s := server.Start(t, server.Options{Tick: tick})
		s.Fault(func(int, server.Call) server.Fault { return fault })
		w := watch(t, s.Socket())
		if err := w.ends(t); err == nil || w.begun.Load() != 0 {
			t.Errorf("%s: %v, begun %d", name, err, w.begun.Load())
		}
	}
	// A folder that others may write to can lead to any server.
	open := filepath.Join(dir, "open")
	must.Do(t, os.Mkdir(open, 0o777))
	must.Do(t, os.Chmod(open, 0o777))
	s := server.Start(t, server.Options{Socket: filepath.Join(open, "s"), Tick: tick})
	if err := watch(t, s.Socket()).ends(t); !errors.Is(err, herdr.ErrNotSent) || !errors.Is(err, safeopen.ErrWritable) {
		t.Errorf("in a folder that others may write to: %v", err)
	}
	if n := len(s.Calls()); n != 0 {
		t.Errorf("%d requests were sent there", n)
	}
}

// TestAStreamIsBounded: a line without an end fills no memory, and one that is nothing is passed over.
func TestAStreamIsBounded(t *testing.T) {
	t.Parallel()
	dir := must.Get(os.MkdirTemp("/tmp", "h"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := must.Get(net.Listen("unix", filepath.Join(dir, "s")))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 4096))
		_, _ = c.Write([]byte(`{"id":"winnow","result":{"type":"subscription_started"}}` + "\n\nnot JSON\n[]\n" + `{"event":7}` + "\n" + `{"event":"pane_updated"}` + "\n"))
		for part := []byte(strings.Repeat("x", 64<<10)); ; {
			if _, err := c.Write(part); err != nil {
				return
			}
		}
	}()
	w := watch(t, filepath.Join(dir, "s"))
	if err := w.ends(t); err == nil || !strings.Contains(err.Error(), "longer than winnow reads") {
		t.Errorf("%v", err)
	}
	if n := w.n.Load(); n != 0 || w.begun.Load() != 1 {
		t.Errorf("told %d times, begun %d", n, w.begun.Load())
	}
}
