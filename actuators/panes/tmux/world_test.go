package tmux

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// act is the id that tests give their acts.
const act = "01TESTACT"

// actuator saves to a folder of its own.
func actuator(t testing.TB, o Options) *Actuator {
	t.Helper()
	if o.Trash == "" {
		o.Trash = filepath.Join(t.TempDir(), "trash")
	}
	return New(o)
}

// judged is the decision to reap the session of that name, with the identity that it has now. It waits for the panes' first
// processes: one that tmux has only just forked is still a copy of the server, in the server's session.
func (s *server) judged(name string) decision.Decision {
	s.t.Helper()
	id := s.id(name)
	created, err := strconv.ParseInt(s.run("display-message", "-p", "-t", id+":", "#{session_created}"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	out := decision.Session{Socket: s.socket, ServerPID: s.pid(), ServerTicks: s.ticks(s.pid()), ID: id, Name: name, CreatedAt: time.Unix(created, 0).UTC()}
	out.Attached = strings.Count(s.run("list-clients", "-t", id, "-F", "client"), "client")
	for _, line := range strings.Split(s.run("list-panes", "-s", "-t", id, "-F", "#{pane_dead} #{pane_id} #{pane_pid}"), "\n") {
		f := strings.Fields(line)
		p := decision.Pane{ID: f[1]}
		if f[0] == "0" {
			p.PID, _ = strconv.Atoi(f[2])
			eventually(s.t, "the pane's first process", func() bool {
				h, err := panes.Hold("/proc", p.PID)
				if err == nil {
					h.Close()
				}
				return err == nil && h.Was.Session == p.PID && h.Was.Comm != "tmux: server"
			})
			p.StartTicks, p.Members = s.ticks(p.PID), sessionOf(s.t, p.PID)
			p.Cwd, _ = os.Readlink("/proc/" + f[2] + "/cwd")
		}
		out.Panes = append(out.Panes, p)
	}
	return decision.Decision{ID: "session:tmux/s/" + id, Kind: "session", Verdict: decision.Reap, Label: name,
		Identity: decision.Identity{Key: "k", Session: &out}}
}

func (s *server) ticks(pid int) uint64 {
	s.t.Helper()
	h, err := panes.Hold("/proc", pid)
	if err != nil {
		s.t.Fatal(err)
	}
	h.Close()
	return h.Was.Start
}

// sessionOf lists the living processes whose session leader leads.
func sessionOf(t testing.TB, leader int) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if sid, err := unix.Getsid(pid); err != nil || sid != leader {
			continue
		}
		if h, err := panes.Hold("/proc", pid); err == nil {
			h.Close()
			pids = append(pids, pid)
		}
	}
	return pids
}

// has tells whether the server has a session of exactly that name; no server has none.
func (s *server) has(name string) bool {
	out, err := s.command("list-sessions", "-F", "#{session_name}").Output()
	return err == nil && slices.Contains(strings.Split(string(out), "\n"), name)
}

func grasped(t testing.TB, a *Actuator, d decision.Decision) *grasp {
	t.Helper()
	g, err := a.Hold(t.Context(), act, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g.(*grasp)
}

func intent(g *grasp, d decision.Decision) decision.Intent {
	return decision.Intent{ID: act, Candidate: d.ID, Kind: d.Kind, Identity: d.Identity, Plan: g.Plan()}
}

func wantOutcome(t testing.TB, want string, got decision.Outcome, words ...string) {
	t.Helper()
	if got.Outcome != want {
		t.Fatalf("want %s, got %s: %s", want, got.Outcome, got.Detail)
	}
	for _, w := range words {
		if !strings.Contains(got.Detail, w) {
			t.Errorf("the detail does not say %q: %s", w, got.Detail)
		}
	}
}

func wantErr(t testing.TB, want, got error, words ...string) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("want %v, got %v", want, got)
	}
	for _, w := range words {
		if !strings.Contains(got.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, got)
		}
	}
}

// wantUntouched checks that nothing was saved, or that it was removed again, and that the session is there.
func wantUntouched(t testing.TB, a *Actuator, s *server, name string) {
	t.Helper()
	if !s.has(name) {
		t.Errorf("session %q is gone", name)
	}
	if _, err := os.Lstat(filepath.Join(a.Trash, act)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left in the trash: %v", err)
	}
}

func lives(pid int) bool {
	h, err := panes.Hold("/proc", pid)
	if err != nil {
		return false
	}
	h.Close()
	return true
}

// child waits until a process in a pane has written its pid to file, and ends it when the test is over.
func child(t testing.TB, file string) int {
	t.Helper()
	var pid int
	eventually(t, "a process in the pane", func() bool {
		text, _ := os.ReadFile(file)
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		pid = n
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	h, err := panes.Hold("/proc", pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.Signal(unix.SIGKILL)
		h.Close()
	})
	return pid
}

func stop(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

var _ actuators.Held = (*grasp)(nil)
