package tmux

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestGraspPlansEveryNameAndPlace(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker", "-c", "/")
	s.Run("split-window", "-d", "-t", "=worker:", "-c", "/tmp")
	s.Run("new-window", "-d", "-n", "second", "-t", "=worker:", "-c", "/")
	a := actuator(t, Options{})
	d := s.judged("worker")
	g := held(t, a, d)
	var got plan
	must.Do(t, json.Unmarshal(g.Plan(), &got))
	id := d.Identity.Session
	want := plan{Act: act, Socket: s.Socket, ServerPID: id.ServerPID, Session: id.ID, Name: "worker", CreatedAt: id.CreatedAt, Folder: filepath.Join(a.Trash, act)}
	for i, line := range strings.Split(s.Run("list-panes", "-s", "-t", id.ID, "-F", "#{window_id} #{window_layout} #{window_name}"), "\n") {
		f, p := strings.Fields(line), id.Panes[i]
		want.Panes = append(want.Panes, planned{ID: p.ID, File: []string{"pane-0.txt", "pane-1.txt", "pane-2.txt"}[i], Cwd: []string{"/", "/tmp", "/"}[i],
			Window: f[0], Layout: f[1], WindowName: f[2], Width: 80, Height: 24, Members: []panes.Member{{PID: p.PID, StartTicks: p.StartTicks}}})
	}
	must.Equal(t, want, got, "plan")
	if _, err := panes.ReadPlan(a.Trash, intent(g, d), &plan{}); err != nil {
		t.Errorf("its own plan is refused: %v", err)
	}
	wantUntouched(t, a, s, "worker")
}

func TestGraspRefusesWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	for _, c := range []struct {
		name   string
		change func(*decision.Session)
	}{
		{"no socket", func(d *decision.Session) { d.Socket = "" }},
		{"a relative socket", func(d *decision.Session) { d.Socket = "s" }},
		{"no server pid", func(d *decision.Session) { d.ServerPID = 0 }},
		{"no server start", func(d *decision.Session) { d.ServerTicks = 0 }},
		{"no creation", func(d *decision.Session) { d.CreatedAt = time.Time{} }},
		{"no panes", func(d *decision.Session) { d.Panes = nil }},
		{"a pane without a start", func(d *decision.Session) { d.Panes[0].StartTicks = 0 }},
		{"a pane without a pid", func(d *decision.Session) { d.Panes[0].PID = 0 }},
		{"a pane of pid 1", func(d *decision.Session) { d.Panes[0].PID = 1 }},
		{"a pane without an id", func(d *decision.Session) { d.Panes[0].ID = "" }},
		{"a member that is pid 1", func(d *decision.Session) { d.Panes[0].Members = []int{1} }},
		{"a name for an id", func(d *decision.Session) { d.ID = "worker" }},
		{"an exact name for an id", func(d *decision.Session) { d.ID = "=worker" }},
		{"an id that goes on", func(d *decision.Session) { d.ID += ":" }},
		{"an id with a newline", func(d *decision.Session) { d.ID += "\n" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := s.judged("worker")
			c.change(d.Identity.Session)
			a := actuator(t, Options{})
			_, err := a.Hold(t.Context(), act, d)
			judge.WantErr(t, actuators.ErrRefused, err)
			wantUntouched(t, a, s, "worker")
		})
	}
	a := actuator(t, Options{})
	_, err := a.Hold(t.Context(), act, decision.Decision{ID: "session:tmux/s/$0"})
	judge.WantErr(t, actuators.ErrRefused, err)
	for _, id := range []string{"", "..", "../x", "a/b"} {
		_, err := a.Hold(t.Context(), id, s.judged("worker"))
		judge.WantErr(t, actuators.ErrRefused, err)
	}
}

func TestGraspRefusesTheFloor(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	d := s.judged("worker")
	shell := d.Identity.Session.Panes[0].PID
	for _, c := range []struct {
		name    string
		options Options
		word    string
	}{
		{"Winnow runs in it", Options{Never: actuators.NeverProcess{Self: []int{os.Getpid(), shell}}}, "Winnow"},
		{"it inherits orphans", Options{Never: actuators.NeverProcess{OrphanParents: []int{shell}}}, "orphans"},
		{"it is a multiplexer", Options{Never: actuators.NeverProcess{Multiplexers: []string{"s*"}}}, "multiplexer"},
		{"it is never signalled", Options{Never: actuators.NeverProcess{Names: []string{"sh"}}}, "never"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := actuator(t, c.options)
			_, err := a.Hold(t.Context(), act, d)
			judge.WantErr(t, actuators.ErrRefused, err, c.word)
			wantUntouched(t, a, s, "worker")
		})
	}
	t.Run("Winnow runs in another session of the server", func(t *testing.T) {
		held(t, actuator(t, Options{Never: actuators.NeverProcess{Self: []int{os.Getpid(), d.Identity.Session.ServerPID}}}), d)
	})
}

func TestGraspTellsGoneFromChangedFromFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*testing.T, *server, *decision.Session)
		want   error
	}{
		{"the session ended", func(_ *testing.T, s *server, d *decision.Session) { s.Run("kill-session", "-t", d.ID) }, actuators.ErrGone},
		{"a session that never was", func(_ *testing.T, _ *server, d *decision.Session) { d.ID = "$77" }, actuators.ErrGone},
		{"the server ended", func(t *testing.T, s *server, d *decision.Session) {
			s.Run("kill-server")
			wait.Eventually(t, "the server ended", func() bool { return !procs.Lives(d.ServerPID) })
		}, actuators.ErrGone},
		{"the server's pid is another process's", func(_ *testing.T, _ *server, d *decision.Session) { d.ServerTicks++ }, actuators.ErrChanged},
		{"another server answers", func(t *testing.T, s *server, d *decision.Session) {
			other := fresh(t, "other")
			d.ServerPID, d.ServerTicks = other.PID(), other.ticks(other.PID())
		}, actuators.ErrChanged},
		{"created at another time", func(_ *testing.T, _ *server, d *decision.Session) { d.CreatedAt = d.CreatedAt.Add(-time.Second) }, actuators.ErrChanged},
		{"a new pane", func(_ *testing.T, s *server, _ *decision.Session) { s.Run("split-window", "-d", "-t", "=worker:") }, actuators.ErrChanged},
		{"a pane started again", func(_ *testing.T, s *server, d *decision.Session) { s.Run("respawn-pane", "-k", "-t", d.Panes[0].ID) }, actuators.ErrChanged},
		{"a pane's pid is another process's", func(_ *testing.T, _ *server, d *decision.Session) { d.Panes[0].StartTicks++ }, actuators.ErrChanged},
		{"a pane's pid leads no session", func(t *testing.T, s *server, d *decision.Session) {
			s.Run("send-keys", "-t", d.Panes[0].ID, "sleep 1000 & echo $! >"+filepath.Dir(s.Socket)+"/pid", "Enter")
			d.Panes[0].PID = child(t, filepath.Dir(s.Socket)+"/pid")
			d.Panes[0].StartTicks = s.ticks(d.Panes[0].PID)
		}, actuators.ErrChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, "worker")
			s.Run("new-session", "-d", "-s", "bystander")
			d := s.judged("worker")
			c.change(t, s, d.Identity.Session)
			a := actuator(t, Options{})
			_, err := a.Hold(t.Context(), act, d)
			judge.WantErr(t, c.want, err)
			if strings.HasPrefix(c.name, "the se") {
				return
			}
			wantUntouched(t, a, s, "worker")
		})
	}
}

func TestGraspFailsOnAServerThatCannotBeAsked(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	s := fresh(t, "worker")
	d := s.judged("worker")
	t.Run("stopped", func(t *testing.T) {
		stop(t, d.Identity.Session.ServerPID)
		_, err := actuator(t, Options{}).Hold(wait.Within(t, 300*time.Millisecond), act, d)
		if got := actuators.OutcomeOf(err); err == nil || got.Outcome != decision.Failed {
			t.Errorf("want failed, got %v", err)
		}
	})
	t.Run("its socket was removed", func(t *testing.T) {
		must.Do(t, os.Rename(s.Socket, s.Socket+"x"))
		t.Cleanup(func() { _ = os.Rename(s.Socket+"x", s.Socket) })
		_, err := actuator(t, Options{}).Hold(t.Context(), act, d)
		if got := actuators.OutcomeOf(err); err == nil || got.Outcome != decision.Failed {
			t.Errorf("want failed, got %v", err)
		}
	})
}

func TestADeadPaneIsNoLiveOne(t *testing.T) {
	t.Parallel()
	created := time.Unix(1700000001, 0)
	g := func(pid int) *handle {
		return &handle{id: decision.Session{ServerPID: 12, ID: "$4", CreatedAt: created, Panes: []decision.Pane{{ID: "%5", PID: pid}}}}
	}
	l := func(pid int, dead bool) *wire.Listing {
		return &wire.Listing{PID: 12, Sessions: []wire.Session{{ID: "$4", Created: created}}, Panes: []wire.Pane{{Session: "$4", ID: "%5", PID: pid, Dead: dead}}}
	}
	for _, err := range []error{g(77).checkIdentity(l(77, false)), g(0).checkIdentity(l(77, true))} {
		if err != nil {
			t.Errorf("the same pane: %v", err)
		}
	}
	for _, err := range []error{g(77).checkIdentity(l(77, true)), g(0).checkIdentity(l(77, false)), g(77).checkIdentity(l(78, false))} {
		judge.WantErr(t, actuators.ErrChanged, err)
	}
}
