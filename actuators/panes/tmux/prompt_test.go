package tmux

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

var shells = []string{"sh", "dash", "bash"}

// prompted is a decision on a session whose shell waits at its prompt.
func (s *server) prompted(name string) decision.Decision {
	s.t.Helper()
	d := s.judged(name)
	for _, p := range d.Identity.Session.Panes {
		eventually(s.t, "the shell waits", func() bool { return resting(p.PID) })
	}
	return d
}

func TestDoEndsASessionAtItsPromptAndLeavesNoHook(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	s.run("set-hook", "-g", "after-send-keys", "display-message hello")
	for i, c := range []struct {
		name string
		end  bool
	}{{"idle", true}, {"kept", false}} {
		s.run("new-session", "-d", "-s", c.name)
		s.run("set-hook", "-t", c.name, "after-paste-buffer[3]", "display-message own")
		d := s.prompted(c.name)
		a := actuator(t, Options{Shells: shells})
		if !c.end {
			a.looking = func() { s.run("send-keys", "-t", d.Identity.Session.Panes[0].ID, "x") }
		}
		before := time.Now()
		g := grasped(t, a, d)
		if len(g.prompts) != 1 || !g.atPrompts() {
			t.Fatalf("%d panes are at their prompts", len(g.prompts))
		}
		if rested := time.Since(before); i == 0 && rested < time.Second {
			t.Errorf("it showed its prompt just now, and was taken after %s", rested)
		}
		out := g.Act(t.Context(), intent(g, d))
		if c.end {
			wantOutcome(t, decision.Done, out)
			continue
		}
		wantOutcome(t, decision.Changed, out, "left untouched")
		if got := s.run("show-hooks", "-t", c.name); got != "after-paste-buffer[3] display-message own" {
			t.Errorf("the session's hooks are %q", got)
		}
		if got := s.run("show-options", "-t", c.name); strings.Contains(got, mark) {
			t.Errorf("the session's options are %q", got)
		}
	}
}

func TestGraspLeavesAPromptThatStartedSomething(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"in front": "sleep 1000", "behind": "sleep 1000 &", "deaf to the hang-up": "nohup sleep 1000 >/dev/null 2>&1 &"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, "worker")
			d := s.prompted("worker")
			pid := d.Identity.Session.Panes[0].PID
			s.run("send-keys", "-t", d.Identity.Session.Panes[0].ID, text, "Enter")
			eventually(t, "it was started", func() bool { return len(sessionOf(t, pid)) == 2 })
			a := actuator(t, Options{Shells: shells})
			a.rests = 0
			_, err := a.Hold(t.Context(), act, d)
			wantErr(t, actuators.ErrChanged, err, "since it was judged", "left untouched")
			wantUntouched(t, a, s, "worker")
			for _, pid := range sessionOf(t, pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// What was judged with the session may go on with what it does; only the shell at its prompt may start nothing more.
func TestDoEndsAPromptWithAJobBehindIt(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	s.run("new-session", "-d", "-s", "worker")
	s.run("send-keys", "-t", "=worker:", "(while :; do sleep 0.05; done) &", "Enter")
	d := s.judged("worker")
	eventually(t, "its job runs", func() bool { return len(sessionOf(t, d.Identity.Session.Panes[0].PID)) >= 3 })
	d = s.prompted("worker")
	a := actuator(t, Options{Shells: shells})
	g := grasped(t, a, d)
	if len(g.prompts) != 1 {
		t.Fatalf("%d panes are at their prompts", len(g.prompts))
	}
	wantOutcome(t, decision.Done, g.Act(t.Context(), intent(g, d)))
}

// What reads nothing leaves what is sent to it where it is, as a shell does for the moment until it is woken.
func TestStillLeavesWhatIsNotRead(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	s.run("new-session", "-d", "-s", "worker", "exec sleep 1000")
	d := s.judged("worker")
	eventually(t, "the program runs", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(d.Identity.Session.Panes[0].PID) + "/comm")
		return string(text) == "sleep\n" && resting(d.Identity.Session.Panes[0].PID)
	})
	a := actuator(t, Options{Shells: []string{"sleep"}})
	a.rests = 0
	g := grasped(t, a, d)
	if err := g.still(); err != nil {
		t.Fatalf("nothing was sent: %v", err)
	}
	p := g.prompts[0]
	if n, err := panes.Typed(p.shell); n != 0 || err != nil {
		t.Errorf("%d bytes wait, %v", n, err)
	}
	s.run("send-keys", "-t", d.Identity.Session.Panes[0].ID, "true", "Enter")
	eventually(t, "it waits in the terminal", func() bool {
		n, err := panes.Typed(p.shell)
		return err == nil && n == len("true\n")
	})
	wantErr(t, actuators.ErrChanged, g.still(), "has not read yet", "left untouched")
}

// Whether anything waits must be known.
func TestTypedOfAProcessWithoutATerminal(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	h, err := panes.Hold("/proc", s.pid()) // a server has none
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if n, err := panes.Typed(h); err == nil {
		t.Errorf("%d bytes wait in no terminal", n)
	}
}

func TestGraspRefusesAProgramWhoseNameCannotBeCompared(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	dir := filepath.Dir(s.socket)
	odd := filepath.Join(dir, "a{},#x")
	if err := os.Symlink("/bin/sleep", odd); err != nil {
		t.Fatal(err)
	}
	s.run("new-session", "-d", "-s", "worker", "exec '"+odd+"' 1000")
	d := s.judged("worker")
	eventually(t, "the program runs", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(d.Identity.Session.Panes[0].PID) + "/comm")
		return strings.HasPrefix(string(text), "a{}")
	})
	_, err := actuator(t, Options{Shells: shells}).Hold(t.Context(), act, d)
	wantErr(t, actuators.ErrRefused, err, "cannot be compared", "left untouched")
}

func TestQuote(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	for _, text := range []string{"", "plain", "it's", `"$HOME" #{pid} \ ~ {}`, "a ; b", "%if", "''"} {
		s.run("set-option", "-g", "@x", "unset")
		file := filepath.Join(filepath.Dir(s.socket), "conf")
		if err := os.WriteFile(file, []byte("set-option -g @x "+quote(text)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.run("source-file", file)
		if got := s.run("show-options", "-gv", "@x"); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
