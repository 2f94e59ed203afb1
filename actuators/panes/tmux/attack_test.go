package tmux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"winnow/actuators"
	"winnow/testkit/attack"
)

func TestMain(m *testing.M) { attack.Main(m) }

// Another user has a socket where the judged session's server was. Whoever asks for it must not run tmux there.
func TestAttackAnotherUserHasTheServersSocket(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	s := fresh(t, "worker")
	d := s.judged("worker")
	shared := filepath.Join(filepath.Dir(attacker.Home), "his")
	attacker.Mkdir(t, shared, 0o777)
	heard := attacker.Listen(t, "unix", filepath.Join(shared, "s"))
	link := filepath.Join(filepath.Dir(s.socket), "link")
	if err := os.Symlink(heard.Address, link); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "runs")
	program := filepath.Join(t.TempDir(), "tmux")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho run >>"+log+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := attack.New(t, "another user's socket is where the judged session's tmux server was: grasp, settle and restore")
	for range 10 {
		for _, socket := range []string{heard.Address, link, filepath.Join(shared, "none")} {
			d.Identity.Session.Socket = socket
			act := actuator(t, Options{Tmux: program})
			_, err := act.Hold(t.Context(), "01TESTACT", d)
			if err == nil || socket != filepath.Join(shared, "none") && !errors.Is(err, actuators.ErrRefused) {
				a.Lost("%s: %v", socket, err)
				continue
			}
			_, err = act.client(socket).startOn(t.Context(), quiet, "new-session", "-d")
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

func TestAttackAServerThatHasItsClientPrintWithoutEnd(t *testing.T) {
	t.Parallel()
	s := fresh(t, "worker")
	a := attack.New(t, "a tmux server has the client of an act print without end, or never end")
	for name, script := range map[string]string{"zeros": "exec cat /dev/zero", "complaints": "exec cat /dev/zero >&2", "nothing": "exec sleep 1000"} {
		program := filepath.Join(t.TempDir(), "tmux")
		if err := os.WriteFile(program, []byte("#!/bin/sh\nPATH="+os.Getenv("PATH")+"\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		out, err := client{program, s.socket}.run(within(t, 3*time.Second), quiet, "display-message", "-p", "x")
		switch took := time.Since(begin); {
		case err == nil || len(out) > maxAnswer || len(err.Error()) > 1000:
			a.Lost("%s: %d bytes, %.100v", name, len(out), err)
		case took > 15*time.Second:
			a.Lost("%s took %s", name, took)
		case name == "zeros" && !strings.Contains(err.Error(), "longer than"):
			a.Lost("%s: %v", name, err)
		default:
			a.Held()
		}
	}
}
