package tmux

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// popup has the only client show a popup in which something runs, as a program would, and gives its pid.
func (s *server) popup(target string) int {
	s.T.Helper()
	client := s.Run("list-clients", "-F", "#{client_name}")
	cmd := s.Command("display-popup", "-c", client, "-t", target, "-E", "exec sleep 1000") // it waits for its end
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pid := 0
	wait.Eventually(s.T, "a popup", func() bool {
		all, err := proc.Scan("/proc")
		for child, p := range all {
			if err == nil && p.Parent == s.PID() && p.Comm == "sleep" && p.TTY != 0 {
				if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", child)); err == nil && len(environ) > 0 {
					pid = child
				}
			}
		}
		return pid != 0
	})
	return pid
}

// A popup ends with the client that shows it, and no format of tmux's tells of it. One that was opened after the last look is lost.
func TestDoLeavesASessionOverWhichAPopupWasOpened(t *testing.T) {
	t.Parallel()
	for _, named := range []string{"worker", "bystander"} { // whichever session it was opened for
		t.Run("for "+named, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, "worker")
			s.Run("new-session", "-d", "-s", "bystander")
			s.Attach("=worker")
			d := s.judged("worker")
			a := actuator(t, Options{})
			popup := 0
			a.looking = func() { popup = s.popup("=" + named + ":") }
			judge.WantOutcome(t, decision.Changed, s.carry(t.Context(), a, d), "popup", strconv.Itoa(popup))
			wantUntouched(t, a, s, "worker")
			if !procs.Lives(popup) {
				t.Error("the popup has ended")
			}
		})
	}
}

// What is opened elsewhere on the same server does not count: a session without a client has no popup.
func TestDoEndsASessionWhileOthersGoOn(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	s.Run("new-session", "-d", "-s", "bystander")
	s.Attach("=bystander")
	d := s.judged("worker")
	a := actuator(t, Options{})
	popup := 0
	a.looking = func() {
		popup = s.popup("=bystander:")
		s.Run("run-shell", "-b", "-t", "=worker:", "sleep 0.1")
		s.Run("new-window", "-d", "-t", "=bystander:")
		wait.Eventually(t, "all that the server started is a program by now", func() bool {
			started := strings.Fields(string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", s.PID())))(t)))
			return !slices.ContainsFunc(started, func(pid string) bool {
				environ, err := os.ReadFile("/proc/" + pid + "/environ") // empty while exec is under way
				comm, _ := os.ReadFile("/proc/" + pid + "/comm")
				return err == nil && (len(environ) == 0 || strings.HasPrefix(string(comm), "tmux"))
			})
		})
	}
	judge.WantOutcome(t, decision.Done, s.carry(t.Context(), a, d))
	if s.Has("worker") || !s.Has("bystander") || !procs.Lives(popup) {
		t.Errorf("worker is there: %v, bystander: %v, the popup: %v", s.Has("worker"), s.Has("bystander"), procs.Lives(popup))
	}
}

// The children of a process that the kernel lists are those that all processes together show.
func TestChildren(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	s.Run("new-session", "-d", "-s", "bystander")
	g := held(t, actuator(t, Options{}), s.judged("worker"))
	if len(g.beside) != 2 {
		t.Fatalf("the server has the children %v, want two shells", g.beside)
	}
	for _, pane := range strings.Fields(s.Run("list-panes", "-a", "-F", "#{pane_pid}")) {
		if pid, _ := strconv.Atoi(pane); pid != g.beside[0] && pid != g.beside[1] {
			t.Errorf("%s is not among %v", pane, g.beside)
		}
	}
}

func TestStartedFor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A=1\x00TMUX=/tmp/a,b/s,12,4\x00B=2\x00": "$4",
		"TMUX=/s,12,-1\x00":                      "$-1",
		"TMUX=/s,13,4\x00":                       "",
		"TMUX=\x00":                              "",
		"XTMUX=/s,12,4\x00":                      "",
		"":                                       "",
	} {
		if got, known := startedFor([]byte(text), 12); got != want || known != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, known, want)
		}
	}
}
