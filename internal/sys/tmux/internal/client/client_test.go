package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	testkit "github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestAttackAServerThatHasItsClientPrintWithoutEnd(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	s := testkit.Fresh(t, "worker")
	a := attack.New(t, "a tmux server has the client of an act print without end, or never end")
	for name, script := range map[string]string{"zeros": "exec cat /dev/zero", "complaints": "exec cat /dev/zero >&2", "nothing": "exec sleep 1000"} {
		program := filepath.Join(t.TempDir(), "tmux")
		executable.Write(t, program, "#!/bin/sh\nPATH="+os.Getenv("PATH")+"\n"+script+"\n")
		begin := time.Now()
		out, err := Server{Program: program, Socket: s.Socket, Within: 3 * time.Second}.Run(t.Context(), Quiet, "display-message", "-p", "x")
		switch took := time.Since(begin); {
		case err == nil || len(out) > MaxAnswer || len(err.Error()) > 1000:
			a.Lost("%s: %d bytes, %.100v", name, len(out), err)
		case took > wait.Patience:
			a.Lost("%s took %s", name, took)
		case name == "zeros" && !strings.Contains(err.Error(), "longer than"):
			a.Lost("%s: %v", name, err)
		default:
			a.Held()
		}
	}
}

// The server has the client's output too, and lets go of it a while after the client's end.
func TestAServerThatIsSlowToLetGo(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "worker")
	program := filepath.Join(t.TempDir(), "tmux")
	executable.Write(t, program, "#!/bin/sh\nPATH="+os.Getenv("PATH")+"\necho said\nsleep 1 &\n")
	out, err := Server{Program: program, Socket: s.Socket, Within: wait.Patience}.Run(t.Context(), Quiet, "display-message", "-p", "x")
	if err != nil || out != "said\n" {
		t.Errorf("got %q, %v", out, err)
	}
}
