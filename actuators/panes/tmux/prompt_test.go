package tmux

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

var shells = []string{"sh", "dash", "bash"}

// prompted is a decision of the shipped policies on a session whose shell waits at its prompt.
func (s *server) prompted(name string) decision.Decision {
	s.T.Helper()
	d := s.decide(s.judge(judge.Shipped), name, decision.Reap)
	for _, p := range d.Identity.Session.Panes {
		wait.Eventually(s.T, "the shell waits", func() bool { return resting(p.PID) })
	}
	return d
}

func TestCarryEndsASessionAtItsPromptAndLeavesNoHook(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	s.Run("set-hook", "-g", "after-send-keys", "display-message hello")
	for i, c := range []struct {
		name string
		end  bool
	}{{"idle", true}, {"kept", false}} {
		born := time.Now()
		s.Run("new-session", "-d", "-s", c.name)
		s.Run("set-hook", "-t", c.name, "after-paste-buffer[3]", "display-message own")
		d := s.prompted(c.name)
		a := actuator(t, Options{Shells: shells})
		if !c.end {
			a.looking = func() { s.Run("send-keys", "-t", d.Identity.Session.Panes[0].ID, "x") }
		}
		out := s.judge(judge.Shipped).Carry(t.Context(), a, d)
		// tmux tells in whole seconds when a session was last used: of the two that it must rest, one is certain.
		if rested := time.Since(born); i == 0 && rested < time.Second {
			t.Errorf("its shell was started %s ago, and it was ended", rested)
		}
		if c.end {
			judge.WantOutcome(t, decision.Done, out)
			continue
		}
		judge.WantOutcome(t, decision.Changed, out, "left untouched")
		if got := s.Run("show-hooks", "-t", c.name); got != "after-paste-buffer[3] display-message own" {
			t.Errorf("the session's hooks are %q", got)
		}
		if got := s.Run("show-options", "-t", c.name); strings.Contains(got, wire.Mark) {
			t.Errorf("the session's options are %q", got)
		}
	}
}

// Whether it is started before the session is held, before it is judged for the first or last time, or after that: it is kept. The two looks
// before the session was held and after it are the policies'; what comes later the run-count of the shell tells, also where the program has
// ended by then.
func TestCarryLeavesAPromptThatStartsSomething(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"in front": "sleep 1000", "behind": "sleep 1000 &", "deaf to the hang-up": "nohup sleep 1000 >/dev/null 2>&1 &",
		"over at once": "true"} {
		for when := range 4 {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := fresh(t, "worker")
				d := s.prompted("worker")
				shell := d.Identity.Session.Panes[0]
				send := func() {
					before := turnsOf(t, shell.PID)
					s.Run("send-keys", "-t", shell.ID, text, "Enter")
					wait.Eventually(t, "it was started", func() bool {
						return len(procs.SessionPIDs(shell.PID)) == 2 || text == "true" && turnsOf(t, shell.PID) > before && resting(shell.PID)
					})
				}
				a := actuator(t, Options{Shells: shells})
				a.rests = 0
				j := s.judge(judge.Shipped)
				switch when {
				case 0:
					if text == "true" {
						t.Skip("what has ended before the session is held is no reason")
					}
					send()
				case 3:
					a.Step = func(step string) {
						if step == StepKill {
							send()
						}
					}
				default:
					j.Before = func(times int) {
						if times == when-1 {
							send()
						}
					}
				}
				judge.WantOutcome(t, decision.Changed, j.Carry(t.Context(), a, d), "left untouched")
				wantUntouched(t, a, s, "worker")
				for _, pid := range procs.SessionPIDs(shell.PID) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
		}
	}
}

// A shell that was not at its prompt when it was held, and is when the session is to be killed, has run in between.
func TestStillLeavesAShellThatCameBackToItsPrompt(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"a group of its own": "sleep 1000", "the shell's group": "set +m; sleep 1000"} {
		t.Run(name, func(t *testing.T) { t.Parallel(); cameBack(t, text) })
	}
}

func cameBack(t *testing.T, text string) {
	s := fresh(t, "bystander")
	s.Run("new-session", "-d", "-s", "worker")
	shell := s.judged("worker").Identity.Session.Panes[0]
	s.Run("send-keys", "-t", shell.ID, text, "Enter")
	wait.Eventually(t, "it runs", func() bool {
		return slices.ContainsFunc(procs.SessionPIDs(shell.PID), func(pid int) bool {
			comm, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
			return string(comm) == "sleep\n"
		})
	})
	g := held(t, actuator(t, Options{Shells: shells}), s.judged("worker"))
	if err := g.unchanged(); err != nil {
		t.Fatalf("nothing has changed: %v", err)
	}
	for _, pid := range procs.SessionPIDs(shell.PID) {
		if pid != shell.PID {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	wait.Eventually(t, "its prompt", func() bool { return len(procs.SessionPIDs(shell.PID)) == 1 && resting(shell.PID) })
	judge.WantErr(t, actuators.ErrChanged, g.unchanged(), "came back to its prompt")
}

// What was judged with the session may go on with what it does; only the shell at its prompt may start nothing more.
func TestDoEndsAPromptWithAJobBehindIt(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	s.Run("new-session", "-d", "-s", "worker")
	s.Run("send-keys", "-t", "=worker:", "(while :; do sleep 0.05; done) &", "Enter")
	d := s.judged("worker")
	wait.Eventually(t, "its job runs", func() bool {
		return len(procs.SessionPIDs(d.Identity.Session.Panes[0].PID)) >= 3 && resting(d.Identity.Session.Panes[0].PID)
	})
	judge.WantOutcome(t, decision.Done, s.carry(t.Context(), actuator(t, Options{Shells: shells}), d))
}

// What reads nothing leaves what is sent to it where it is, as a shell does for the moment until it is woken.
func TestStillLeavesWhatIsNotRead(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	s.Run("new-session", "-d", "-s", "worker", "exec sleep 1000")
	d := s.judged("worker")
	wait.Eventually(t, "the program runs", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(d.Identity.Session.Panes[0].PID) + "/comm")
		return string(text) == "sleep\n" && resting(d.Identity.Session.Panes[0].PID)
	})
	a := actuator(t, Options{Shells: []string{"sleep"}})
	a.rests = 0
	g := held(t, a, d)
	if err := g.unchanged(); err != nil {
		t.Fatalf("nothing was sent: %v", err)
	}
	p := g.shells[0]
	if n, err := p.held.Typed(); n != 0 || err != nil {
		t.Errorf("%d bytes wait, %v", n, err)
	}
	s.Run("send-keys", "-t", d.Identity.Session.Panes[0].ID, "true", "Enter")
	wait.Eventually(t, "it waits in the terminal", func() bool {
		n, err := p.held.Typed()
		return err == nil && n == len("true\n")
	})
	judge.WantErr(t, actuators.ErrChanged, g.unchanged(), "has not read yet", "left untouched")
}

func turnsOf(t testing.TB, pid int) uint64 {
	t.Helper()
	h := must.Get(procact.Hold("/proc", pid))(t)
	defer h.Close()
	return must.Get(h.Turns())(t)
}

// Whether anything waits must be known.
func TestTypedOfAProcessWithoutATerminal(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	h, err := procact.Hold("/proc", s.PID()) // a server has none
	must.Do(t, err)
	defer h.Close()
	if n, err := h.Typed(); err == nil {
		t.Errorf("%d bytes wait in no terminal", n)
	}
}

func TestCarryRefusesAProgramWhoseNameCannotBeCompared(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	dir := filepath.Dir(s.Socket)
	odd := filepath.Join(dir, "a{},#x")
	must.Do(t, os.Symlink("/bin/sleep", odd))
	s.Run("new-session", "-d", "-s", "worker", "exec '"+odd+"' 1000")
	d := s.judged("worker")
	wait.Eventually(t, "the program runs", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(d.Identity.Session.Panes[0].PID) + "/comm")
		return strings.HasPrefix(string(text), "a{}")
	})
	a := actuator(t, Options{Shells: shells})
	judge.WantOutcome(t, decision.Refused, s.carry(t.Context(), a, d), "cannot be compared", "left untouched")
	wantUntouched(t, a, s, "worker")
}
