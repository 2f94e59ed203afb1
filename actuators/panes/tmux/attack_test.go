package tmux

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestMain(m *testing.M) {
	procact.KilledWithin = wait.Patience
	attack.Main(m)
}

// Another user has a socket where the judged session's server was. A request for it must not run tmux there.
func TestAttackAnotherUserHasTheServersSocket(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	s := fresh(t, "worker")
	d := s.judged("worker")
	shared := filepath.Join(filepath.Dir(attacker.Home), "his")
	attacker.Mkdir(t, shared, 0o777)
	heard := attacker.Listen(t, "unix", filepath.Join(shared, "s"))
	link := filepath.Join(filepath.Dir(s.Socket), "link")
	must.Do(t, os.Symlink(heard.Address, link))
	log := filepath.Join(t.TempDir(), "runs")
	program := filepath.Join(t.TempDir(), "tmux")
	executable.Write(t, program, "#!/bin/sh\necho run >>"+log+"\n")
	a := attack.New(t, "another user's socket is where the judged session's tmux server was: hold, settle and restore")
	for range 10 {
		for _, socket := range []string{heard.Address, link, filepath.Join(shared, "none")} {
			d.Identity.Session.Socket = socket
			act := actuator(t, Options{Tmux: program})
			_, err := act.Hold(t.Context(), "01TESTACT", d)
			if err == nil || socket != filepath.Join(shared, "none") && !errors.Is(err, actuators.ErrRefused) {
				a.Lost("%s: %v", socket, err)
				continue
			}
			_, err = act.Restore(t.Context(), stored(t, act, socket))
			if !errors.Is(err, actuators.ErrRefused) {
				a.Lost("start on %s: %v", socket, err)
				continue
			}
			a.Held()
		}
	}
	if _, err := os.Stat(log); err == nil || heard.Connections() > 0 {
		t.Errorf("tmux was run, or he was connected to (%d times)", heard.Connections())
	}
}

// stored is an act that has one pane in the trash.
func stored(t *testing.T, a *Actuator, socket string) decision.Intent {
	t.Helper()
	p := plan{Act: act, Socket: socket, Name: "worker", Panes: []planned{{File: panes.File(0), Width: 80, Height: 24}}}
	err := os.RemoveAll(filepath.Join(a.Trash, act))
	if err == nil {
		err = panes.Kept{Trash: a.Trash, Act: act, Panes: 1}.Save(p, func(write panes.Writer) error {
			return write(panes.File(0), func(*os.File) error { return nil })
		})
	}
	text, bad := json.Marshal(p)
	must.Do(t, errors.Join(err, bad))
	return decision.Intent{ID: act, Plan: text}
}
