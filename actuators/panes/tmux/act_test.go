package tmux

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestDoEndsThatSessionAndNoOther(t *testing.T) {
	t.Parallel()
	s := fresh(t, "vie")
	s.Run("new-session", "-d", "-s", "viewer")
	s.Run("split-window", "-d", "-t", "=vie:")
	var steps []string
	a := actuator(t, Options{Step: func(name string) { steps = append(steps, name) }})
	d := s.judged("vie")
	s.Run("send-keys", "-t", d.Identity.Session.Panes[0].ID, "echo the-$((20+3))-lines", "Enter")
	wait.Eventually(t, "the pane's output", func() bool {
		return strings.Contains(s.Run("capture-pane", "-p", "-t", d.Identity.Session.Panes[0].ID), "the-23-lines")
	})
	out := s.carry(t.Context(), a, d)
	judge.WantOutcome(t, decision.Done, out, "vie", "the scrollback of 2 panes is saved")
	if out.Freed.RSS <= 0 {
		t.Errorf("freed %d bytes of memory", out.Freed.RSS)
	}
	if s.Has("vie") || !s.Has("viewer") {
		t.Errorf("vie is there: %v, viewer is there: %v", s.Has("vie"), s.Has("viewer"))
	}
	must.Equal(t, []string{StepSave, StepKill, StepReadBack}, steps, "steps")
	saved := map[string]os.FileMode{".": 0o700 | os.ModeDir, "pane-0.txt": 0o600, "pane-1.txt": 0o600, "manifest.json": 0o600}
	for name, want := range saved {
		st, err := os.Lstat(filepath.Join(filepath.Join(a.Trash, act), name))
		if err != nil || st.Mode() != want {
			t.Errorf("%s: want mode %v, got %v", name, want, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(filepath.Join(a.Trash, act), "pane-0.txt"))
	if err != nil || !strings.Contains(string(text), "the-23-lines\n") || strings.Contains(string(text), "end of pane") {
		t.Errorf("saved %q, %v", text, err)
	}
}

func TestDoTellsThatTheLastSessionTookTheServer(t *testing.T) {
	t.Parallel()
	s := fresh(t, "only")
	d := s.judged("only")
	a := actuator(t, Options{})
	judge.WantOutcome(t, decision.Done, s.carry(t.Context(), a, d), "is gone")
	wait.Eventually(t, "the server ends without a session", func() bool { return !procs.Lives(d.Identity.Session.ServerPID) })
}

func TestDoSavesWhatAFullScreenProgramHides(t *testing.T) {
	t.Parallel()
	s := fresh(t, "editor", `for i in $(seq 1 100); do echo line-$i; done; printf '\033[?1049hfull screen\n'; exec sleep 1000`)
	d := s.judged("editor")
	wait.Eventually(t, "the other screen", func() bool {
		return s.Run("display-message", "-p", "-t", d.Identity.Session.Panes[0].ID, "#{alternate_on}") == "1"
	})
	a := actuator(t, Options{})
	judge.WantOutcome(t, decision.Done, s.carry(t.Context(), a, d))
	text := must.Get(os.ReadFile(filepath.Join(filepath.Join(a.Trash, act), "pane-0.txt")))(t)
	for _, want := range []string{"line-1\n", "line-50\n", "line-100\n", "full screen\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q was not saved", want)
		}
	}
}

func TestDoEndsASessionWithADeadPane(t *testing.T) {
	t.Parallel()
	s := fresh(t, "kept")
	s.Run("new-session", "-d", "-s", "bystander")
	s.Run("set-option", "-g", "remain-on-exit", "on")
	s.Run("new-window", "-d", "-t", "=kept:", "true")
	wait.Eventually(t, "a dead pane", func() bool {
		return strings.Contains(s.Run("list-panes", "-s", "-t", "=kept:", "-F", "#{pane_dead}"), "1")
	})
	d := s.judged("kept")
	a := actuator(t, Options{})
	judge.WantOutcome(t, decision.Done, s.carry(t.Context(), a, d), "1 of its 1 process")
}

// The loose policy lets each of these go as it is at the last look: what keeps it is that it is not what was held and judged before.
func TestDoLeavesWhatChangedInBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*testing.T, *server, *decision.Session)
		want   string
	}{
		{"ended and made again under its name", func(_ *testing.T, s *server, d *decision.Session) {
			s.Run("kill-session", "-t", d.ID)
			s.Run("new-session", "-d", "-s", "worker")
		}, decision.Gone},
		{"a pane started again", func(_ *testing.T, s *server, d *decision.Session) { s.Run("respawn-pane", "-k", "-t", d.Panes[0].ID) },
			decision.Changed},
		{"a new pane", func(_ *testing.T, s *server, d *decision.Session) { s.Run("split-window", "-d", "-t", d.ID+":") }, decision.Changed},
		{"a window lent to another session", func(_ *testing.T, s *server, d *decision.Session) {
			s.Run("link-window", "-d", "-s", d.ID+":", "-t", "=bystander:7")
		}, decision.Changed},
		{"joined by a group", func(_ *testing.T, s *server, d *decision.Session) {
			s.Run("new-session", "-d", "-s", "twin", "-t", d.ID)
		},
			decision.Changed},
		{"a client attached", func(_ *testing.T, s *server, d *decision.Session) { s.Attach(d.ID) }, decision.Changed},
		{"a control client attached", func(_ *testing.T, s *server, d *decision.Session) { s.Control(d.ID) }, decision.Changed},
	} {
		for _, when := range []string{"first look", StepSave, "last look", StepKill} {
			t.Run(c.name+" before "+when, func(t *testing.T) {
				t.Parallel()
				s := fresh(t, "worker")
				s.Run("new-session", "-d", "-s", "bystander")
				d := s.judged("worker")
				a := actuator(t, Options{Step: func(name string) {
					if name == when {
						c.change(t, s, d.Identity.Session)
					}
				}})
				j := s.judge(loose)
				j.Before = func(times int) {
					if when == []string{"first look", "last look"}[times] {
						c.change(t, s, d.Identity.Session)
					}
				}
				out := j.Carry(t.Context(), a, d)
				// A look that reads the processes before those of a new pane, or of one that was started again, does not know which they are.
				if !slices.Contains([]string{"a new pane", "a pane started again"}, c.name) || out.Outcome != decision.Refused || !strings.Contains(out.Detail, "could not be read right before the act") {
					judge.WantOutcome(t, c.want, out)
				}
				wantUntouched(t, a, s, "worker")
			})
		}
	}
}

func TestDoLeavesASessionWhoseClientWentOnTyping(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	keys := s.Attach("=worker")
	d := s.judged("worker")
	activity := func() string {
		return s.Run("display-message", "-p", "-t", d.Identity.Session.ID+":", "#{session_activity}")
	}
	a := actuator(t, Options{Step: func(name string) {
		if name != StepKill {
			return
		}
		before := activity()
		wait.Eventually(t, "a key counts", func() bool {
			_, _ = keys.Write([]byte(" "))
			return activity() != before
		})
	}})
	out := s.carry(t.Context(), a, d)
	for tries := 0; tries < 9 && strings.Contains(out.Detail, "while what it would lose was saved"); tries++ {
		out = s.carry(t.Context(), a, d) // the shell still drew its prompt for the client
	}
	judge.WantOutcome(t, decision.Changed, out, "it was used")
	wantUntouched(t, a, s, "worker")
}

func TestDoEndsAnAttachedSessionThatWasJudgedSo(t *testing.T) {
	t.Parallel()
	s := fresh(t, "watched")
	s.Run("new-session", "-d", "-s", "bystander")
	s.Attach("=watched")
	s.Control("=watched")
	d := s.judged("watched")
	if d.Identity.Session.Attached != 2 {
		t.Fatalf("judged with %d clients", d.Identity.Session.Attached)
	}
	a := actuator(t, Options{})
	judge.WantOutcome(t, decision.Done, s.carry(t.Context(), a, d))
}

func TestDoKillsNothingThatItCannotSave(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	d := s.judged("worker")
	dir := t.TempDir()
	blocked := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(blocked, nil, 0o600))
	taken := filepath.Join(dir, "trash")
	must.Do(t, os.MkdirAll(filepath.Join(taken, act), 0o700))
	// It speaks to the real server, and loses the end of what is captured.
	liar := filepath.Join(dir, "tmux")
	script := "#!/bin/sh\nPATH=" + os.Getenv("PATH") + "\ncase \"$*\" in *capture-pane*) tmux \"$@\" | sed '$d';; *) exec tmux \"$@\";; esac\n"
	executable.Write(t, liar, script)
	for name, o := range map[string]Options{
		"the trash is a file":          {Trash: blocked},
		"the act's folder is there":    {Trash: taken},
		"what is captured is cut":      {Trash: filepath.Join(dir, "other"), Tmux: liar},
		"the trash has no name at all": {Trash: filepath.Join(blocked, "below")},
	} {
		a := New(o)
		out := s.carry(t.Context(), a, d)
		judge.WantOutcome(t, decision.Failed, out, "left untouched")
		if !s.Has("worker") {
			t.Fatalf("%s: the session is gone", name)
		}
		if _, err := os.Lstat(filepath.Join(o.Trash, act)); err == nil && name != "the act's folder is there" {
			t.Errorf("%s: something is left in the trash", name)
		}
	}
}

func TestDoFailsWhenTheServerStops(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	s := fresh(t, "worker")
	d := s.judged("worker")
	a := actuator(t, Options{Step: func(name string) {
		if name == StepSave {
			stop(t, d.Identity.Session.ServerPID)
		}
	}})
	a.within = 300 * time.Millisecond
	judge.WantOutcome(t, decision.Failed, s.carry(t.Context(), a, d), "left untouched")
	must.Do(t, syscall.Kill(d.Identity.Session.ServerPID, syscall.SIGCONT))
	wantUntouched(t, a, s, "worker")
}

func TestDoStopsBeforeTheKillWhenInterrupted(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	d := s.judged("worker")
	for _, step := range []string{StepSave, StepKill} {
		ctx, cancel := context.WithCancel(t.Context())
		a := actuator(t, Options{Step: func(name string) {
			if name == step {
				cancel()
			}
		}})
		judge.WantOutcome(t, decision.Failed, s.carry(ctx, a, d), "left untouched")
		wantUntouched(t, a, s, "worker")
	}
}

// A pane whose shell and child ignore the hang-up, and a process that left the session.
const stubborn = `trap '' HUP; sleep 1000 & echo $! >"$D/child"; setsid sh -c 'echo $$ >"$D/left"; exec sleep 1000' & echo $$ >"$D/shell"; while :; do wait; done`

func TestDoEndsWhatSurvivesTheHangUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		trap  string
		steps []string
	}{
		{"by TERM", "", []string{StepSave, StepKill, StepReadBack, StepTerm}},
		{"by KILL", "trap '' TERM; ", []string{StepSave, StepKill, StepReadBack, StepTerm, StepKillLeft}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, "bystander")
			dir := filepath.Dir(s.Socket)
			s.Run("new-session", "-d", "-s", "worker", "-e", "D="+dir, c.trap+stubborn)
			left, shell, job := child(t, dir+"/left"), child(t, dir+"/shell"), child(t, dir+"/child")
			d := s.judged("worker")
			if diff := cmp.Diff([]int{shell, job}, d.Identity.Session.Panes[0].Members); diff != "" {
				t.Fatalf("members (-want +got):\n%s", diff)
			}
			var steps []string
			a := actuator(t, Options{TermGrace: 300 * time.Millisecond, Step: func(name string) { steps = append(steps, name) }})
			judge.WantOutcome(t, decision.Done, s.carry(t.Context(), a, d), "2 of its 2 processes", "2 of them outlived the hang-up")
			if procs.Lives(shell) || procs.Lives(job) {
				t.Errorf("shell lives: %v, its job lives: %v", procs.Lives(shell), procs.Lives(job))
			}
			if !procs.Lives(left) {
				t.Error("a process that is not the session's was ended")
			}
			must.Equal(t, c.steps, steps, "steps")
		})
	}
}

func TestDoLeavesWhatWasNotJudged(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	dir := filepath.Dir(s.Socket)
	s.Run("new-session", "-d", "-s", "worker", "-e", "D="+dir)
	d := s.judged("worker")
	s.Run("send-keys", "-t", d.Identity.Session.Panes[0].ID, "nohup sleep 1000 >/dev/null 2>&1 & echo $! >$D/late", "Enter")
	late := child(t, dir+"/late")
	wait.Eventually(t, "nohup ignores the hang-up", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(late) + "/comm")
		return strings.TrimSpace(string(text)) == "sleep"
	})
	a := actuator(t, Options{})
	judge.WantOutcome(t, decision.Done, s.carry(t.Context(), a, d), "1 of its 1 process")
	if !procs.Lives(late) {
		t.Error("a process that was not judged was ended")
	}
}

func TestDoLeavesASurvivorThatLeftTheSession(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	dir := filepath.Dir(s.Socket)
	// A job that leaves the session when it is hung up, as a server that turns itself into a daemon does.
	s.Run("new-session", "-d", "-s", "worker", "-e", "D="+dir,
		`sh -c 'trap "exec setsid sleep 1000" HUP; echo $$ >"$D/job"; while :; do sleep 0.05; done' & while :; do wait; done`)
	job := child(t, dir+"/job")
	d := s.judged("worker")
	a := actuator(t, Options{})
	out := s.carry(t.Context(), a, d)
	if !procs.Lives(job) {
		t.Fatalf("a process that is not the pane's any more was ended: %s", out.Detail)
	}
	judge.WantOutcome(t, decision.Done, out, "pid "+strconv.Itoa(job)+" was left")
}

// Who loses the server in the middle of the kill knows neither that it was done nor that it was not.
func TestDoKeepsWhatItSavedWhenTheEndIsNotKnown(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	d := s.judged("worker")
	dir := t.TempDir()
	// It loses the server as soon as there is a file named cut.
	deaf := filepath.Join(dir, "tmux")
	script := "#!/bin/sh\nPATH=" + os.Getenv("PATH") + "\n[ -e " + dir + "/cut ] && case \"$*\" in *source-file*) echo ready; cat >/dev/null; exit 1;; *listed*) exit 1;; esac\nexec tmux \"$@\"\n"
	executable.Write(t, deaf, script)
	a := actuator(t, Options{Tmux: deaf, Step: func(name string) {
		if name == StepKill {
			_ = os.WriteFile(filepath.Join(dir, "cut"), nil, 0o600)
		}
	}})
	j := s.judge(loose)
	out := j.Carry(t.Context(), a, d)
	judge.WantOutcome(t, decision.Failed, out, "not known", filepath.Join(a.Trash, act))
	if out.RestoreUntil == nil || !out.RestoreUntil.Equal(j.Intent.RestoreUntil) {
		t.Errorf("what was saved can be restored until %v", out.RestoreUntil)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Join(a.Trash, act), panes.Manifest)); err != nil {
		t.Errorf("what was saved: %v", err)
	}
}
