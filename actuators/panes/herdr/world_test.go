package herdr

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

const label = "codex-review-1a2b3c4d"

// world is a server with three tabs: home, which has the focus, keep and husk. The last two share a workspace.
type world struct {
	t                testing.TB
	s                *herdr.Server
	work             string
	home, keep, husk string
	// shells are those that the server did not start.
	shells []*shell
}

// quiet is a pane whose processes are not asked for.
var quiet = herdr.Pane{Fake: &herdr.Info{}}

func fresh(t testing.TB, o herdr.Options, panes ...herdr.Pane) *world {
	t.Helper()
	w := &world{t: t, s: herdr.Start(t, o)}
	w.home = w.s.Tab(w.s.Workspace("home"), "home", quiet)
	w.work = w.s.Workspace("work")
	w.keep = w.s.Tab(w.work, "keep", quiet)
	w.husk = w.s.Tab(w.work, label, panes...)
	return w
}

// actuator uses folders of its own, and nothing of the environment that the test runs in.
func actuator(t testing.TB, o Options) *Actuator {
	t.Helper()
	dir := t.TempDir()
	o.Trash, o.Lock = cmp.Or(o.Trash, filepath.Join(dir, "trash")), cmp.Or(o.Lock, filepath.Join(dir, "run", "herdr.lock"))
	o.Never.UID = os.Geteuid()
	if o.Shells == nil {
		o.Shells = []string{"sh", "bash"}
	}
	if o.TermGrace == 0 {
		o.TermGrace = 50 * time.Millisecond
	}
	a := New(o)
	a.patience, a.settles = wait.Patience, 200*time.Millisecond
	return a
}

// settled waits until a shell waits for input, which is when it has slept in front of its terminal for a while, and gives its
// start.
func settled(t testing.TB, pid int) (ticks uint64) {
	t.Helper()
	h := must.Get(procact.Hold("/proc", pid))(t)
	defer h.Close()
	var last uint64
	still := 0
	wait.Eventually(t, "a shell that waits for input", func() bool {
		s, err := h.Stat()
		ran, err2 := h.Turns()
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if s.State != 'S' || s.Foreground != pid || ran != last {
			still = 0
		}
		last = ran
		still++
		return still > 4
	})
	return h.Was.Start
}

func holdTab(t testing.TB, a *Actuator, d decision.Decision) *held {
	t.Helper()
	h := must.Get(a.Hold(t.Context(), act, d))(t)
	t.Cleanup(func() { _ = h.Close() })
	return h.(*held)
}

func intent(h *held, d decision.Decision) decision.Intent {
	return decision.Intent{ID: act, Candidate: d.ID, Kind: d.Kind, Identity: d.Identity, Plan: h.Plan(), RestoreUntil: time.Now().Add(time.Hour)}
}

// attempt is what the carrier does with a decision, but for judging it again.
func attempt(t testing.TB, a *Actuator, d decision.Decision) decision.Outcome {
	t.Helper()
	h, err := a.Hold(t.Context(), act, d)
	if err != nil {
		return actuators.OutcomeOf(err)
	}
	defer func() { _ = h.Close() }()
	return h.(*held).do(t.Context(), d)
}

// do saves and acts.
func (h *held) do(ctx context.Context, d decision.Decision) decision.Outcome {
	if err := h.Save(ctx); err != nil {
		return actuators.OutcomeOf(err)
	}
	return h.Act(ctx, intent(h, d))
}

// wantUntouched checks that no request changed anything, and that nothing that was saved is left.
func (w *world) wantUntouched(a *Actuator) {
	w.t.Helper()
	if m := w.s.Mutations(); len(m) > 0 {
		w.t.Errorf("%d requests to change something were sent, the first %s %s", len(m), m[0].Method, m[0].Target)
	}
	wantNothingSaved(w.t, a)
}

func wantNothingSaved(t testing.TB, a *Actuator) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(a.Trash, act)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left in the trash: %v", err)
	}
}

// shell is an idle interactive shell on a terminal of its own, of which the server gets the facts that a test wants.
type shell struct {
	pid    int
	master *os.File
	cmd    *exec.Cmd
}

// launch starts a shell whose session ends with the test, or with end.
func launch(t testing.TB) *shell {
	t.Helper()
	master, slave := procs.TerminalOf(t)
	defer func() { _ = slave.Close() }()
	cmd := exec.Command("sh", "-i")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "TERM=dumb"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Do(t, cmd.Start())
	go func() { _, _ = io.Copy(io.Discard, master) }()
	s := &shell{cmd.Process.Pid, master, cmd}
	t.Cleanup(func() { s.end(t) })
	return s
}

// end kills the shell's session and waits for it.
func (s *shell) end(t testing.TB) {
	if s.cmd == nil {
		return
	}
	for _, pid := range procs.SessionPIDs(s.pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = s.cmd.Wait()
	_ = s.master.Close()
	s.cmd = nil
}

// pane is the shell as the server reports it: the report stays the same when the shell does something.
func (s *shell) pane() herdr.Pane {
	return herdr.Pane{Fake: &herdr.Info{ShellPID: s.pid, ForegroundPGID: s.pid, Foreground: []herdr.Proc{{PID: s.pid, Name: "sh"}}}}
}

func (s *shell) typeIn(t testing.TB, text string) {
	t.Helper()
	must.Get(s.master.WriteString(text))(t)
}

// awake types something that starts no process, and waits until the shell has run.
func awake(t testing.TB, pid int, typeIn func(string)) {
	t.Helper()
	h := must.Get(procact.Hold("/proc", pid))(t)
	defer h.Close()
	before := must.Get(h.Turns())(t)
	typeIn("x=1\n")
	wait.Eventually(t, "a shell that has run", func() bool {
		now, err := h.Turns()
		return err != nil || now != before
	})
}
