package tmux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"winnow/actuators/panes"
	"winnow/engine/decision"
)

func TestDoEndsThatSessionAndNoOther(t *testing.T) {
	t.Parallel()
	s := fresh(t, "vie")
	s.run("new-session", "-d", "-s", "viewer")
	s.run("split-window", "-d", "-t", "=vie:")
	var steps []string
	a := actuator(t, Options{Step: func(name string) { steps = append(steps, name) }})
	d := s.judged("vie")
	s.run("send-keys", "-t", d.Identity.Session.Panes[0].ID, "echo the-$((20+3))-lines", "Enter")
	eventually(t, "the pane's output", func() bool {
		return strings.Contains(s.run("capture-pane", "-p", "-t", d.Identity.Session.Panes[0].ID), "the-23-lines")
	})
	g := grasped(t, a, d)
	out := g.Act(t.Context(), intent(g, d))
	wantOutcome(t, decision.Done, out, "vie", "2 panes", g.plan.Folder)
	if out.Freed.RSS <= 0 {
		t.Errorf("freed %d bytes of memory", out.Freed.RSS)
	}
	if s.has("vie") || !s.has("viewer") {
		t.Errorf("vie is there: %v, viewer is there: %v", s.has("vie"), s.has("viewer"))
	}
	if diff := cmp.Diff([]string{StepSave, StepKill, StepReadBack}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	saved := map[string]os.FileMode{".": 0o700 | os.ModeDir, "pane-0.txt": 0o600, "pane-1.txt": 0o600, "manifest.json": 0o600}
	for name, want := range saved {
		st, err := os.Lstat(filepath.Join(g.plan.Folder, name))
		if err != nil || st.Mode() != want {
			t.Errorf("%s: want mode %v, got %v", name, want, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(g.plan.Folder, "pane-0.txt"))
	if err != nil || !strings.Contains(string(text), "the-23-lines\n") || strings.Contains(string(text), "end of pane") {
		t.Errorf("saved %q, %v", text, err)
	}
}

func TestDoTellsThatTheLastSessionTookTheServer(t *testing.T) {
	t.Parallel()
	s := fresh(t, "only")
	d := s.judged("only")
	g := grasped(t, actuator(t, Options{}), d)
	wantOutcome(t, decision.Done, g.Act(t.Context(), intent(g, d)), "is gone")
	eventually(t, "the server ends without a session", func() bool { return !lives(d.Identity.Session.ServerPID) })
}

func TestDoSavesWhatAFullScreenProgramHides(t *testing.T) {
	t.Parallel()
	s := fresh(t, "editor", `for i in $(seq 1 100); do echo line-$i; done; printf '\033[?1049hfull screen\n'; exec sleep 1000`)
	d := s.judged("editor")
	eventually(t, "the other screen", func() bool {
		return s.run("display-message", "-p", "-t", d.Identity.Session.Panes[0].ID, "#{alternate_on}") == "1"
	})
	g := grasped(t, actuator(t, Options{}), d)
	wantOutcome(t, decision.Done, g.Act(t.Context(), intent(g, d)))
	text, err := os.ReadFile(filepath.Join(g.plan.Folder, "pane-0.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"line-1\n", "line-50\n", "line-100\n", "full screen\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q was not saved", want)
		}
	}
}

func TestDoEndsASessionWithADeadPane(t *testing.T) {
	t.Parallel()
	s := fresh(t, "kept")
	s.run("new-session", "-d", "-s", "bystander")
	s.run("set-option", "-g", "remain-on-exit", "on")
	s.run("new-window", "-d", "-t", "=kept:", "true")
	eventually(t, "a dead pane", func() bool {
		return strings.Contains(s.run("list-panes", "-s", "-t", "=kept:", "-F", "#{pane_dead}"), "1")
	})
	d := s.judged("kept")
	g := grasped(t, actuator(t, Options{}), d)
	if len(g.members) != 1 {
		t.Errorf("%d processes are held, and one pane is dead", len(g.members))
	}
	wantOutcome(t, decision.Done, g.Act(t.Context(), intent(g, d)))
}

func TestDoLeavesWhatChangedInBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*testing.T, *server, *decision.Session)
		want   string
		word   string
	}{
		{"ended and made again under its name", func(_ *testing.T, s *server, d *decision.Session) {
			s.run("kill-session", "-t", d.ID)
			s.run("new-session", "-d", "-s", "worker")
		}, decision.Gone, "not there any more"},
		{"a pane started anew", func(_ *testing.T, s *server, d *decision.Session) { s.run("respawn-pane", "-k", "-t", d.Panes[0].ID) },
			decision.Changed, "new pane"},
		{"a new pane", func(_ *testing.T, s *server, d *decision.Session) { s.run("split-window", "-d", "-t", d.ID+":") }, decision.Changed, "new pane"},
		{"a window lent to another session", func(_ *testing.T, s *server, d *decision.Session) {
			s.run("link-window", "-d", "-s", d.ID+":", "-t", "=bystander:7")
		}, decision.Changed, "panes"},
		{"joined by a group", func(_ *testing.T, s *server, d *decision.Session) {
			s.run("new-session", "-d", "-s", "twin", "-t", d.ID)
		},
			decision.Changed, "group"},
		{"a client attached", func(_ *testing.T, s *server, d *decision.Session) { s.attach(d.ID) }, decision.Changed, ""},
		{"a control client attached", func(_ *testing.T, s *server, d *decision.Session) { s.control(d.ID) }, decision.Changed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, "worker")
			s.run("new-session", "-d", "-s", "bystander")
			d := s.judged("worker")
			change := func(name string) {
				if name == StepKill { // after the scrollback was saved
					c.change(t, s, d.Identity.Session)
				}
			}
			a := actuator(t, Options{Step: change})
			g := grasped(t, a, d)
			wantOutcome(t, c.want, g.Act(t.Context(), intent(g, d)), c.word)
			wantUntouched(t, a, s, "worker")
		})
	}
}

func TestDoLeavesASessionWhoseClientWentOnTyping(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	keys := s.attach("=worker")
	d := s.judged("worker")
	activity := func() string {
		return s.run("display-message", "-p", "-t", d.Identity.Session.ID+":", "#{session_activity}")
	}
	a := actuator(t, Options{Step: func(name string) {
		if name != StepKill {
			return
		}
		before := activity()
		eventually(t, "a key counts", func() bool {
			_, _ = keys.Write([]byte(" "))
			return activity() != before
		})
	}})
	g := grasped(t, a, d)
	wantOutcome(t, decision.Changed, g.Act(t.Context(), intent(g, d)), "somebody used it")
	wantUntouched(t, a, s, "worker")
}

func TestDoEndsAnAttachedSessionThatWasJudgedSo(t *testing.T) {
	t.Parallel()
	s := fresh(t, "watched")
	s.run("new-session", "-d", "-s", "bystander")
	s.attach("=watched")
	s.control("=watched")
	d := s.judged("watched")
	if d.Identity.Session.Attached != 2 {
		t.Fatalf("judged with %d clients", d.Identity.Session.Attached)
	}
	g := grasped(t, actuator(t, Options{}), d)
	wantOutcome(t, decision.Done, g.Act(t.Context(), intent(g, d)))
}

func TestDoKillsNothingThatItCannotSave(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	d := s.judged("worker")
	dir := t.TempDir()
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(dir, "trash")
	if err := os.MkdirAll(filepath.Join(taken, act), 0o700); err != nil {
		t.Fatal(err)
	}
	// It speaks to the real server, and loses the end of what is captured.
	liar := filepath.Join(dir, "tmux")
	script := "#!/bin/sh\nPATH=" + os.Getenv("PATH") + "\ncase \"$*\" in *capture-pane*) tmux \"$@\" | sed '$d';; *) exec tmux \"$@\";; esac\n"
	if err := os.WriteFile(liar, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"the trash is a file":          {Trash: blocked},
		"the act's folder is there":    {Trash: taken},
		"what is captured is cut":      {Trash: filepath.Join(dir, "other"), Tmux: liar},
		"the trash has no name at all": {Trash: filepath.Join(blocked, "below")},
	} {
		a := New(o)
		g := grasped(t, a, d)
		out := g.Act(t.Context(), intent(g, d))
		wantOutcome(t, decision.Failed, out, "left untouched")
		if !s.has("worker") {
			t.Fatalf("%s: the session is gone", name)
		}
		if _, err := os.Lstat(filepath.Join(o.Trash, act)); err == nil && name != "the act's folder is there" {
			t.Errorf("%s: something is left in the trash", name)
		}
	}
}

func TestDoFailsWhenTheServerStops(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	d := s.judged("worker")
	a := actuator(t, Options{})
	g := grasped(t, a, d)
	stop(t, d.Identity.Session.ServerPID)
	wantOutcome(t, decision.Failed, g.Act(within(t, 300*time.Millisecond), intent(g, d)), "left untouched")
	if err := syscall.Kill(d.Identity.Session.ServerPID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
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
		g := grasped(t, a, d)
		wantOutcome(t, decision.Failed, g.Act(ctx, intent(g, d)), "left untouched")
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
			dir := filepath.Dir(s.socket)
			s.run("new-session", "-d", "-s", "worker", "-e", "D="+dir, c.trap+stubborn)
			left, shell, job := child(t, dir+"/left"), child(t, dir+"/shell"), child(t, dir+"/child")
			d := s.judged("worker")
			if diff := cmp.Diff([]int{shell, job}, d.Identity.Session.Panes[0].Members); diff != "" {
				t.Fatalf("members (-want +got):\n%s", diff)
			}
			var steps []string
			a := actuator(t, Options{TermGrace: 300 * time.Millisecond, Step: func(name string) { steps = append(steps, name) }})
			g := grasped(t, a, d)
			wantOutcome(t, decision.Done, g.Act(t.Context(), intent(g, d)), "2 of its 2 processes", "2 of them outlived the hang-up")
			if lives(shell) || lives(job) {
				t.Errorf("shell lives: %v, its job lives: %v", lives(shell), lives(job))
			}
			if !lives(left) {
				t.Error("a process that is not the session's was ended")
			}
			if diff := cmp.Diff(c.steps, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDoLeavesWhatWasNotJudged(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	dir := filepath.Dir(s.socket)
	s.run("new-session", "-d", "-s", "worker", "-e", "D="+dir)
	d := s.judged("worker")
	s.run("send-keys", "-t", d.Identity.Session.Panes[0].ID, "nohup sleep 1000 >/dev/null 2>&1 & echo $! >$D/late", "Enter")
	late := child(t, dir+"/late")
	eventually(t, "nohup ignores the hang-up", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(late) + "/comm")
		return strings.TrimSpace(string(text)) == "sleep"
	})
	a := actuator(t, Options{})
	g := grasped(t, a, d)
	wantOutcome(t, decision.Done, g.Act(t.Context(), intent(g, d)), "1 of its 1 process")
	if !lives(late) {
		t.Error("a process that nobody judged was ended")
	}
}

func TestDoLeavesASurvivorThatLeftTheSession(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	dir := filepath.Dir(s.socket)
	// A job that leaves the session when it is hung up, as a server that turns itself into a daemon does.
	s.run("new-session", "-d", "-s", "worker", "-e", "D="+dir,
		`sh -c 'trap "exec setsid sleep 1000" HUP; echo $$ >"$D/job"; while :; do sleep 0.05; done' & while :; do wait; done`)
	job := child(t, dir+"/job")
	d := s.judged("worker")
	a := actuator(t, Options{})
	g := grasped(t, a, d)
	out := g.Act(t.Context(), intent(g, d))
	if !lives(job) {
		t.Fatalf("a process that is not the pane's any more was ended: %s", out.Detail)
	}
	wantOutcome(t, decision.Done, out, "pid "+strconv.Itoa(job)+" was left")
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
	if err := os.WriteFile(deaf, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	a := actuator(t, Options{Tmux: deaf, Step: func(name string) {
		if name == StepKill {
			_ = os.WriteFile(filepath.Join(dir, "cut"), nil, 0o600)
		}
	}})
	g := grasped(t, a, d)
	in := intent(g, d)
	in.RestoreUntil = time.Now().Add(time.Hour)
	out := g.Act(t.Context(), in)
	wantOutcome(t, decision.Failed, out, "not known", g.plan.Folder)
	if out.RestoreUntil == nil || !out.RestoreUntil.Equal(in.RestoreUntil) {
		t.Errorf("what was saved can be restored until %v", out.RestoreUntil)
	}
	if _, err := os.Lstat(filepath.Join(g.plan.Folder, panes.Manifest)); err != nil {
		t.Errorf("what was saved: %v", err)
	}
}

func TestLimitedRefusesWhatIsTooLong(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	l := &limited{&b, 5}
	if n, err := l.Write([]byte("12345")); n != 5 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if _, err := l.Write([]byte("6")); !errors.Is(err, errTooLong) || b.String() != "12345" {
		t.Errorf("wrote %q, %v", b.String(), err)
	}
}
