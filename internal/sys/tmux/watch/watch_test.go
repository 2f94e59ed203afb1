package watch

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// watched is a server that is watched until the test ends or stop is called.
func watched(t *testing.T, s *tmux.Server, owner string) (happened chan struct{}, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	happened, listens, ended := make(chan struct{}, 100), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- Watch(ctx, s.Socket, owner, wait.Patience, func() { close(listens) }, func() { happened <- struct{}{} })
	}()
	t.Cleanup(cancel)
	select {
	case <-listens:
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(wait.Patience):
		t.Fatal("it does not listen")
	}
	return happened, func() error { cancel(); return <-ended }
}

func TestWatch(t *testing.T) {
	t.Parallel()
	s := tmux.Fresh(t, "keeper")
	s.Run("set-hook", "-g", "session-created", "set-option -g @seen 1") // of the person's own
	before := s.Run("show-hooks", "-g", ";", "show-hooks", "-gw")
	happened, stop := watched(t, s, "a")
	hears(t, happened, "a session", func(n int) { s.Run("new-session", "-d", "-s", fmt.Sprint("job-", n), "sleep", "900") })
	hears(t, happened, "a window", func(int) { s.Run("new-window", "-d", "-t", "keeper:", "sleep", "900") })
	hears(t, happened, "another name", func(n int) {
		s.Run("rename-session", "-t", "job-1", fmt.Sprint("other-", n), ";", "rename-session", "-t", fmt.Sprint("other-", n), "job-1")
	})
	hears(t, happened, "a pane that ends", func(int) { s.Run("split-window", "-d", "-t", "keeper:", "true") })
	hears(t, happened, "a session's end", func(n int) {
		s.Run("new-session", "-d", "-s", fmt.Sprint("two-", n), ";", "kill-session", "-t", fmt.Sprint("two-", n))
	})

	if got := s.Run("list-sessions", "-F", "#{session_attached}"); strings.ContainsAny(got, "123456789") {
		t.Errorf("a session looks attended: %q", got)
	}
	if clients := s.Run("list-clients"); clients != "" {
		t.Errorf("clients: %q", clients)
	}
	if err := stop(); err == nil {
		t.Error("it ended without a word")
	}
	if after := s.Run("show-hooks", "-g", ";", "show-hooks", "-gw"); after != before {
		t.Errorf("the hooks are not what they were:\n%s\n%s", before, after)
	}
}

// hears does something until it is told, and waits for the quiet after it: what happens right after another thing may be one with it.
func hears(t *testing.T, happened <-chan struct{}, what string, do func(n int)) {
	t.Helper()
	n := 0
	if !wait.Until(wait.Patience, func() bool {
		n++
		do(n)
		select {
		case <-happened:
			return true
		case <-time.After(time.Second):
			return false
		}
	}) {
		t.Fatalf("nothing was heard of %s", what)
	}
	for quiet := time.After(5 * rest); ; {
		select {
		case <-happened:
		case <-quiet:
			return
		}
	}
}

// TestWatchLeavesWhatIsNotOurs: an entry in our place that a person made is left, and so is the server.
func TestWatchLeavesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	s := tmux.Fresh(t, "keeper")
	s.Run("set-hook", "-g", fmt.Sprintf("pane-died[%d]", entryOf("a").place), "display-message mine")
	before := s.Run("show-hooks", "-g", ";", "show-hooks", "-gw")
	err := Watch(t.Context(), s.Socket, "a", wait.Patience, func() { t.Error("it listens") }, func() {})
	if err == nil || !strings.Contains(err.Error(), "somebody else's") {
		t.Errorf("%v", err)
	}
	if after := s.Run("show-hooks", "-g", ";", "show-hooks", "-gw"); after != before {
		t.Errorf("the hooks are not what they were:\n%s\n%s", before, after)
	}
}

// TestWatchTakesOver what a program left that was killed, and ends with the server.
func TestWatchTakesOver(t *testing.T) {
	t.Parallel()
	s := tmux.Fresh(t, "keeper")
	s.Run("set-hook", "-g", fmt.Sprintf("session-created[%d]", entryOf("a").place), entryOf("a").command())
	happened, _ := watched(t, s, "a")
	hears(t, happened, "a session", func(n int) { s.Run("new-session", "-d", "-s", fmt.Sprint("job-", n), "sleep", "900") })

	ended := make(chan error, 1)
	two := tmux.Fresh(t, "keeper")
	listens := make(chan struct{})
	go func() {
		ended <- Watch(t.Context(), two.Socket, "a", wait.Patience, func() { close(listens) }, func() {})
	}()
	<-listens
	two.Run("kill-server")
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the server's end is no error")
		}
	case <-time.After(wait.Patience):
		t.Fatal("it does not end with the server")
	}
}

// TestTwoWatchOneServer: the end of the first takes nothing from the second.
func TestTwoWatchOneServer(t *testing.T) {
	t.Parallel()
	s := tmux.Fresh(t, "keeper")
	before := s.Run("show-hooks", "-g", ";", "show-hooks", "-gw")
	_, stop := watched(t, s, "a")
	happened, stopSecond := watched(t, s, "b")
	if err := stop(); err == nil {
		t.Error("it ended without a word")
	}
	hears(t, happened, "a session", func(n int) { s.Run("new-session", "-d", "-s", fmt.Sprint("job-", n), "sleep", "900") })
	if err := stopSecond(); err == nil {
		t.Error("it ended without a word")
	}
	if after := s.Run("show-hooks", "-g", ";", "show-hooks", "-gw"); after != before {
		t.Errorf("the hooks are not what they were:\n%s\n%s", before, after)
	}
}
