package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"github.com/winnow-reaper/winnow/internal/config"
	wire "github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// herdrKey is where a script's env keeps its herdr server.
type herdrKey struct{}

// herdrCmd is a herdr server of the script's own, on the socket at which the program looks by itself:
//
//	herdr start [VERSION [METHOD...]]   starts it, without some methods; HERDR_SOCKET names its socket
//	herdr workspace VAR LABEL        makes a workspace
//	herdr tab VAR WORKSPACE LABEL [COMMAND...]   opens a tab in it, with an idle shell or the command
//	herdr split TAB [COMMAND...]     opens one more pane in a tab
//	herdr type TAB TEXT              types a line into the tab's first pane
//	herdr settle                     waits until nothing in any pane has run for a while
//	herdr rename TAB LABEL           gives a tab another label
//	herdr expect METHOD TARGET       announces a call that changes something
//	[!] herdr has TAB                says whether the tab is there
//	herdr calls METHOD N             demands how often a method was called
//	herdr wedge on|off               answers ping and nothing else from now on, or again
//	herdr restart                    starts it again: same ids, other terminals
//	herdr handoff                    replaces its program, as an upgrade does: same shells, other terminals
//	herdr stop [leave]               stops it; leave leaves the socket's file
//	herdr check                      demands that nothing was changed unannounced; every script ends with it
func herdrCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || neg && args[0] != "has" {
		ts.Fatalf("usage: [!] herdr COMMAND...")
	}
	verb, args := args[0], args[1:]
	held := ts.Value(herdrKey{}).(*heldHerdr)
	if verb == "start" {
		held.start(ts, args)
		return
	}
	need := map[string]int{"workspace": 2, "tab": 3, "split": 1, "type": 2, "settle": 0, "rename": 2, "expect": 2, "has": 1, "calls": 2, "wedge": 1, "restart": 0, "handoff": 0, "stop": 0, "check": 0}
	if n, ok := need[verb]; !ok || len(args) < n || held.server == nil {
		ts.Fatalf("herdr %s: no such command, too few arguments, or no server", verb)
	}
	s := held.server
	switch verb {
	case "workspace":
		ts.Setenv(args[0], s.Workspace(args[1]))
	case "tab":
		ts.Setenv(args[0], s.Tab(args[1], args[2], herdr.Pane{Argv: command(args[3:]), Dir: ts.MkAbs(".")}))
	case "split":
		s.Split(args[0], herdr.Pane{Argv: command(args[1:]), Dir: ts.MkAbs(".")})
	case "type":
		s.Type(s.Panes(args[0])[0].ID, args[1]+"\n")
	case "settle":
		settleHerdr(ts, s)
	case "rename":
		s.Rename(args[0], args[1])
	case "expect":
		s.Expect(args[0], args[1])
	case "has":
		if s.HasTab(args[0]) == neg {
			ts.Fatalf("tab %s is there: %v", args[0], !neg)
		}
	case "calls":
		held.calls(ts, args[0], args[1])
	case "wedge":
		s.Wedge(args[0] == "on")
	case "restart":
		s.Restart()
	case "handoff":
		s.Handoff()
	case "stop":
		s.Stop(slices.Contains(args, "leave"))
	case "check":
		for _, c := range s.Unexpected() {
			ts.Fatalf("herdr was asked for %s %s, which nothing announced", c.Method, c.Target)
		}
		for _, text := range s.Invalid() {
			ts.Fatalf("herdr: %s", text)
		}
	}
}

// heldHerdr is the one server of a script.
type heldHerdr struct{ server *herdr.Server }

func (h *heldHerdr) start(ts *testscript.TestScript, args []string) {
	o := herdr.Options{Socket: filepath.Join(ts.Getenv("XDG_CONFIG_HOME"), "herdr", "herdr.sock")}
	if len(args) > 0 {
		o.Profile, o.Lacks = herdr.Profile(args[0]), args[1:]
	}
	s, err := herdr.New(o)
	ts.Check(err)
	ts.Defer(func() { _ = s.Close() })
	h.server = s
	ts.Setenv("HERDR_SOCKET", s.Socket())
}

// settleHerdr waits until the first process of each pane sleeps and has not run for some polls, which is when a shell waits for input and a command has begun.
func settleHerdr(ts *testscript.TestScript, s *herdr.Server) {
	last, still := "", 0
	if !wait.Until(wait.Patience, func() bool {
		now := ""
		for _, tab := range s.Tabs() {
			for _, p := range s.Panes(tab) {
				status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
				if p.PID > 0 && (err != nil || !strings.Contains(string(status), "\nState:\tS")) {
					still = 0
					return false
				}
				_, turns, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
				now += turns
			}
		}
		if still++; now != last {
			last, still = now, 0
		}
		return still > 20
	}) {
		ts.Fatalf("the panes do not come to rest")
	}
}

func (h *heldHerdr) calls(ts *testscript.TestScript, method, want string) {
	n := 0
	for _, c := range h.server.Calls() {
		if c.Method == method {
			n++
		}
	}
	if strconv.Itoa(n) != want {
		ts.Fatalf("herdr was asked for %s %d times, want %s", method, n, want)
	}
}

func command(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	return argv
}

// sqliteCmd runs the statements of a file of the script's on a database: sqlite DATABASE FILE.
func sqliteCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite DATABASE FILE")
	}
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(ts.ReadFile(args[1]))
	ts.Check(err)
}

// TestTheNewestProtocolIsKnown: servers that are newer than what the configuration lists are those that are asked what they have.
func TestTheNewestProtocolIsKnown(t *testing.T) {
	t.Parallel()
	c := musts.Get(config.Defaults())(t)
	if got := slices.Max(c.Rules.HerdrProtocols); got != wire.Newest {
		t.Errorf("rules.herdr_protocols ends at %d, and servers newer than %d are asked", got, wire.Newest)
	}
}
