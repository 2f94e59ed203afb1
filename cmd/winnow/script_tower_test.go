package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/winnow-reaper/winnow/test/kit/tower"
)

// towerKey is where a script's env keeps its Tower.
type towerKey struct{}

// heldTower is the one Tower of a script.
type heldTower struct{ server *tower.Server }

// towerCmd is a Codev Tower of the script's own, with its state folder where the program looks by itself:
//
//	tower start                          starts it; TOWER is its address
//	tower workspace VAR PATH             makes a folder a workspace; VAR is its real path
//	tower builder WORKSPACE ID WORKTREE [TERMINAL]  writes a builder's row
//	tower remove WORKSPACE ID            removes it, as a clean-up does
//	tower terminal VAR WORKSPACE TYPE ROLE CWD [OPTION...]  opens a terminal; VAR is its id, VAR_PID its shellper's and VAR_AGENT its
//	                                     program's pid. Options: dev, norow, exited, quiet=DURATION, command=WORDS
//	tower husk VAR WORKSPACE             leaves an unknown shellper; VAR is its pid
//	tower expect METHOD PATH             announces a call that changes something
//	[!] tower gone ID                    says whether nothing of a terminal is left
//	tower fault NAME|off                 answers so from now on: hang, nothing (a close that does nothing), starting, unauthorized,
//	                                     empty (a list of no terminals)
//	tower down | up | restart            stops it, starts it, both
//	tower check                          demands that nothing was changed unannounced; every script ends with it
func towerCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || neg && args[0] != "gone" {
		ts.Fatalf("usage: [!] tower COMMAND...")
	}
	verb, args := args[0], args[1:]
	held := ts.Value(towerKey{}).(*heldTower)
	if verb == "start" {
		s, err := tower.New(tower.Options{Home: filepath.Join(ts.Getenv("HOME"), ".agent-farm")})
		ts.Check(err)
		ts.Defer(func() { _ = s.Close() })
		held.server = s
		ts.Setenv("TOWER", s.URL())
		ts.Setenv("SHELLPER_SOCKET_DIR", s.SocketDir())
		return
	}
	need := map[string]int{"workspace": 2, "builder": 3, "remove": 2, "terminal": 5, "husk": 2, "expect": 2, "gone": 1, "fault": 1, "down": 0, "up": 0, "restart": 0, "check": 0}
	if n, ok := need[verb]; !ok || len(args) < n || held.server == nil {
		ts.Fatalf("tower %s: no such command, too few arguments, or no Tower", verb)
	}
	s := held.server
	switch verb {
	case "workspace":
		ts.Setenv(args[0], s.Workspace(ts.MkAbs(args[1])))
	case "builder":
		s.Builder(args[0], tower.Builder{ID: args[1], Worktree: args[2], Terminal: strings.Join(args[3:], "")})
	case "remove":
		s.RemoveBuilder(args[0], args[1])
	case "terminal":
		held.terminal(ts, args)
	case "husk":
		ts.Setenv(args[0], strconv.Itoa(s.Husk(args[1]).PID))
	case "expect":
		s.Expect(args[0], args[1])
	case "gone":
		if s.Gone(args[0]) == neg {
			ts.Fatalf("terminal %s is gone: %v", args[0], !neg)
		}
	case "fault":
		held.fault(ts, args[0])
	case "down":
		s.Down()
	case "up":
		s.Up()
	case "restart":
		s.Restart()
	case "check":
		for _, c := range s.Unexpected() {
			ts.Fatalf("the Tower was asked for %s %s, which nothing announced", c.Method, c.Path)
		}
	}
}

func (h *heldTower) terminal(ts *testscript.TestScript, args []string) {
	t := tower.Terminal{Type: args[2], RoleID: args[3], Cwd: args[4]}
	for _, o := range args[5:] {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "dev":
			t.Dev = true
		case "norow":
			t.NoRow = true
		case "exited":
			t.Exited = new(0)
		case "quiet":
			d, err := time.ParseDuration(value)
			ts.Check(err)
			t.Quiet = d
		case "command":
			t.Command = strings.Fields(value)
		default:
			ts.Fatalf("tower terminal: unknown option %s", o)
		}
	}
	state := h.server.Terminal(args[1], t)
	ts.Setenv(args[0], state.ID)
	ts.Setenv(args[0]+"_PID", strconv.Itoa(state.PID))
	ts.Setenv(args[0]+"_AGENT", strconv.Itoa(state.Agent))
}

func (h *heldTower) fault(ts *testscript.TestScript, name string) {
	faults := map[string]tower.Fault{
		"off": {}, "hang": tower.Hang, "nothing": tower.DeleteDoesNothing,
		"starting":     tower.Status(503, `{"error":"STARTING_UP","message":"Tower is starting up. Try again shortly."}`),
		"unauthorized": tower.Status(401, "Unauthorized"),
		"empty":        tower.Status(200, `{"terminals":[]}`),
	}
	f, ok := faults[name]
	if !ok {
		ts.Fatalf("tower fault: unknown %s", name)
	}
	h.server.Fault(func(_ int, c tower.Call) tower.Fault {
		if name == "empty" && c.Path != "/api/terminals" {
			return tower.Fault{}
		}
		return f
	})
}
