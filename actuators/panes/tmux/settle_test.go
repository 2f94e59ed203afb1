package tmux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	testkit "github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// interrupted is an act that was cut short right before the given step, as a killed program leaves it.
func interrupted(t *testing.T, s *server, a *Actuator, name, before string) (in decision.Intent) {
	t.Helper()
	type cut struct{}
	a.Step = func(step string) {
		if step == before {
			panic(cut{})
		}
	}
	defer func() {
		if _, ok := recover().(cut); !ok {
			t.Errorf("the act was not cut short before %s", before)
		}
		a.Step = func(string) {}
	}()
	d := s.judged(name)
	g := held(t, a, d)
	again := s.judge(loose).Rejudge(t.Context(), []decision.Decision{d})[0]
	if again.Err != nil {
		t.Fatal(again.Err)
	}
	in = intent(g, again.Decision)
	must.Do(t, g.Save(t.Context()))
	g.Act(t.Context(), in)
	return in
}

func TestSettle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before string
		then   func(*testing.T, *server, *decision.Session)
		want   string
		word   string
		kept   bool // what was saved is
	}{
		{"before anything", StepSave, nil, decision.Failed, "interrupted before it was killed", false},
		{"saved and not killed", StepKill, nil, decision.Failed, "interrupted before it was killed", false},
		{"killed and not read back", StepReadBack, nil, decision.Done, "settled after an interruption", true},
		{"its server ended since", StepKill, func(t *testing.T, s *server, d *decision.Session) {
			s.Run("kill-server")
			wait.Eventually(t, "the server ended", func() bool { return !procs.Lives(d.ServerPID) })
		}, decision.Done, "settled after an interruption", true},
		{"its server ended since, and another is there", StepKill, func(t *testing.T, s *server, d *decision.Session) {
			s.Run("kill-server")
			wait.Eventually(t, "the server ended", func() bool { return !procs.Lives(d.ServerPID) })
			testkit.Start(t, s.Socket, "worker")
		}, decision.Done, "settled after an interruption", true},
		{"made again under its name", StepKill, func(_ *testing.T, s *server, d *decision.Session) {
			s.Run("kill-session", "-t", d.ID)
			s.Run("new-session", "-d", "-s", "worker")
		}, decision.Done, "settled after an interruption", true},
		{"its server does not answer", StepKill, func(t *testing.T, _ *server, d *decision.Session) { stop(t, d.ServerPID) },
			decision.Failed, "unknown", true},
		{"its server lives and its socket is gone", StepReadBack, func(t *testing.T, s *server, _ *decision.Session) {
			must.Do(t, os.Rename(s.Socket, s.Socket+"x"))
			t.Cleanup(func() { _ = os.Rename(s.Socket+"x", s.Socket) })
		}, decision.Failed, "unknown", true},
		{"its server lives and another took its socket", StepReadBack, func(t *testing.T, s *server, _ *decision.Session) {
			must.Do(t, os.Rename(s.Socket, s.Socket+"x"))
			testkit.Start(t, s.Socket, "other")
		}, decision.Failed, "unknown", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, "worker")
			s.Run("new-session", "-d", "-s", "bystander")
			a := actuator(t, Options{})
			in := interrupted(t, s, a, "worker", c.before)
			if c.then != nil {
				c.then(t, s, in.Identity.Session)
			}
			out := a.Settle(wait.Within(t, time.Second), in)
			judge.WantOutcome(t, c.want, out, c.word)
			if c.kept != (out.RestoreUntil != nil && out.RestoreUntil.Equal(in.RestoreUntil)) {
				t.Errorf("want it kept: %v, and it can be restored until %v", c.kept, out.RestoreUntil)
			}
			_, err := os.Lstat(filepath.Join(a.Trash, act, panes.Manifest))
			if c.kept != (err == nil) {
				t.Errorf("want what was saved kept: %v, got %v", c.kept, err)
			}
		})
	}
}

func TestSettleSaysUnknownOfAnIntentThatItCannotRead(t *testing.T) {
	t.Parallel()
	got := actuator(t, Options{}).Settle(t.Context(), decision.Intent{ID: act, Candidate: "session:tmux/s/$1"})
	if got.Outcome == decision.Done || !strings.Contains(got.Detail, "not known") {
		t.Errorf("got %s: %s", got.Outcome, got.Detail)
	}
}

// escaped is what tmux's commands read as s.
func escaped(s string) string {
	s = strings.ReplaceAll(s, "#", "##")
	if rest, ok := strings.CutSuffix(s, ";"); ok {
		return rest + `\;`
	}
	return s
}

func TestRestoreBringsBackEveryPane(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	dir := filepath.Dir(s.Socket)
	odd := filepath.Join(dir, `o'dd #(touch hit) "d$ir;`)
	must.Do(t, os.Mkdir(odd, 0o700))
	const name = `wo'rk #(touch hit) #{pid} };`
	s.Run("new-session", "-d", "-x", "120", "-y", "40", "-c", "/", "-n", "ed##(touch hit)", "-s", escaped(name))
	s.Run("split-window", "-d", "-h", "-t", "="+name+":", "-c", escaped(odd))
	s.Run("new-window", "-d", "-n", "logs", "-t", "="+name+":", "-c", "/tmp")
	a := actuator(t, Options{})
	d := s.judged(name)
	for i, p := range d.Identity.Session.Panes {
		s.Run("send-keys", "-t", p.ID, "echo pane-$(("+string(rune('1'+i))+"*11))", "Enter")
		wait.Eventually(t, "the pane's output", func() bool {
			return strings.Contains(s.Run("capture-pane", "-p", "-t", p.ID), []string{"pane-11", "pane-22", "pane-33"}[i])
		})
	}
	shape := "#{pane_width}x#{pane_height}@#{pane_left},#{pane_top}"
	before := s.Run("list-panes", "-s", "-t", d.Identity.Session.ID, "-F", shape)
	in := intent(held(t, a, d), d)
	_, err := a.Restore(t.Context(), in) // nothing was saved yet
	judge.WantErr(t, actuators.ErrRefused, err, "no longer in the trash")
	_, err = a.Restore(t.Context(), decision.Intent{ID: act, Plan: []byte(`{}`)})
	judge.WantErr(t, actuators.ErrRefused, err, "not one of its own")
	judge.WantOutcome(t, decision.Done, s.carry(t.Context(), a, d))

	got := must.Get(a.Restore(t.Context(), in))(t).Where
	back := s.ID(name)
	if back == d.Identity.Session.ID || !strings.Contains(got, back) || !strings.Contains(got, "3 panes") {
		t.Errorf("session %s is back as %s: %s", d.Identity.Session.ID, back, got)
	}
	if after := s.Run("list-panes", "-s", "-t", back, "-F", shape); after != before {
		t.Errorf("panes were\n%s\nand are\n%s", before, after)
	}
	if names := s.Run("list-windows", "-t", back, "-F", "#{window_name}"); names != "ed#(touch hit)\nlogs" {
		t.Errorf("windows are called %q", names)
	}
	for i, line := range strings.Split(s.Run("list-panes", "-s", "-t", back, "-F", "#{pane_id} #{pane_pid}"), "\n") {
		pane, pid, _ := strings.Cut(line, " ")
		wait.Eventually(t, "the saved scrollback and a shell in the folder", func() bool {
			cwd, _ := os.Readlink("/proc/" + pid + "/cwd")
			return cwd == []string{"/", odd, "/tmp"}[i] &&
				strings.Contains(s.Run("capture-pane", "-p", "-S", "-", "-t", pane), []string{"pane-11", "pane-22", "pane-33"}[i])
		})
		s.Run("send-keys", "-t", pane, "echo alive-$((40+2))", "Enter")
		wait.Eventually(t, "a shell that answers", func() bool { return strings.Contains(s.Run("capture-pane", "-p", "-t", pane), "alive-42") })
	}
	for _, place := range []string{dir, odd, "/", "/tmp", "."} {
		if _, err := os.Lstat(filepath.Join(place, "hit")); err == nil {
			t.Errorf("a name was run as a command in %s", place)
		}
	}
	_, err = a.Restore(t.Context(), in)
	judge.WantErr(t, actuators.ErrRefused, err, "is there already")
	if n := strings.Count(s.Run("list-sessions", "-F", "#{session_name}"), "\n"); n != 1 {
		t.Errorf("a refused restore left %d sessions", n+1)
	}
}

func TestRestoreStartsAServerWhereThereIsNone(t *testing.T) {
	t.Parallel()
	s := fresh(t, "only")
	dir := filepath.Join(filepath.Dir(s.Socket), "gone")
	must.Do(t, os.Mkdir(dir, 0o700))
	s.Run("split-window", "-d", "-t", "=only:", "-c", dir)
	bare := filepath.Join(filepath.Dir(s.Socket), "tmux") // this user's own configuration stays out of it
	executable.Write(t, bare, "#!/bin/sh\nexec tmux -f /dev/null \"$@\"\n")
	a := actuator(t, Options{Tmux: bare})
	d := s.judged("only")
	in := intent(held(t, a, d), d)
	judge.WantOutcome(t, decision.Done, s.carry(t.Context(), a, d))
	wait.Eventually(t, "no server", func() bool { return !procs.Lives(d.Identity.Session.ServerPID) })
	must.Do(t, os.Remove(dir))
	got := must.Get(a.Restore(t.Context(), in))(t).Where
	s.End(s.PID())
	if !s.Has("only") || !strings.Contains(got, "2 panes") || !strings.Contains(got, dir) {
		t.Errorf("the session is there: %v: %s", s.Has("only"), got)
	}
}
