package tmux

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/decision"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/must"
	testkit "github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// server is a tmux server that can be judged.
type server struct{ *testkit.Server }

func fresh(t testing.TB, session string, args ...string) *server {
	t.Helper()
	s := &server{testkit.Fresh(t, session, args...)}
	if len(args) == 0 { // a shell that is still on its way to its first prompt changes while it is judged
		wait.Eventually(t, "the shell's prompt", func() bool { return s.Waits(session) })
	}
	return s
}

// actuator saves to a folder of its own.
func actuator(t testing.TB, o Options) *Actuator {
	t.Helper()
	if o.Trash == "" {
		o.Trash = filepath.Join(t.TempDir(), "trash")
	}
	return New(o)
}

// judged is the decision of the loose policy to reap the session of that name.
func (s *server) judged(name string) decision.Decision {
	s.T.Helper()
	return s.decide(s.judge(loose), name, decision.Reap)
}

func (s *server) ticks(pid int) uint64 {
	s.T.Helper()
	h, err := procact.Hold("/proc", pid)
	if err != nil {
		s.T.Fatal(err)
	}
	h.Close()
	return h.Was.Start
}

func held(t testing.TB, a *Actuator, d decision.Decision) *handle {
	t.Helper()
	g := must.Get(a.Hold(t.Context(), act, d))(t)
	t.Cleanup(func() { _ = g.Close() })
	return g.(*handle)
}

func intent(g *handle, d decision.Decision) decision.Intent {
	return decision.Intent{ID: act, Candidate: d.ID, Kind: d.Kind, Identity: d.Identity, Plan: g.Plan(), RestoreUntil: time.Now().Add(time.Hour)}
}

// wantUntouched checks that nothing was saved, or that it was removed again, and that the session is there.
func wantUntouched(t testing.TB, a *Actuator, s *server, name string) {
	t.Helper()
	if !s.Has(name) {
		t.Errorf("session %q is gone", name)
	}
	if _, err := os.Lstat(filepath.Join(a.Trash, act)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left in the trash: %v", err)
	}
}

// child waits until a process in a pane has written its pid to file, and ends it when the test has ended.
func child(t testing.TB, file string) int {
	t.Helper()
	var pid int
	wait.Eventually(t, "a process in the pane", func() bool {
		text, _ := os.ReadFile(file)
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		pid = n
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	h := must.Get(procact.Hold("/proc", pid))(t)
	t.Cleanup(func() {
		_ = h.Signal(unix.SIGKILL)
		h.Close()
	})
	return pid
}

func stop(t testing.TB, pid int) {
	t.Helper()
	must.Do(t, syscall.Kill(pid, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}
