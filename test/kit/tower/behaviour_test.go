package tower

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"

	"golang.org/x/sys/unix"
)

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	key := func(k string) func(*http.Request) {
		return func(r *http.Request) {
			if r.Header.Del("codev-tower-key"); k != "" {
				r.Header.Set("codev-tower-key", k)
			}
		}
	}
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	for _, c := range []struct {
		path   string
		change func(*http.Request)
		status int
	}{
		{"/api/terminals", key(s.Key()), 200},
		{"/api/terminals", key(""), 401},
		{"/api/terminals", key(strings.Repeat("0", 64)), 401},
		{"/api/nothing", key(""), 401},
		{"/api/nothing", key(s.Key()), 404},
		{"/api/version", key(""), 200},
		{"/api/version", key(""), 200},
		{"/api/terminals", host("localhost"), 200},
		{"/api/terminals", host("127.0.0.9:4100"), 200},
		{"/api/terminals", host("[::1]:4100"), 200},
		{"/api/terminals", host("tower.example.com"), 401},
		{"/api/version", host("tower.example.com:80"), 401},
	} {
		got := ask(t, s, "GET", c.path, c.change)
		if got.err != nil || got.status != c.status {
			t.Errorf("%s: %d, %v; want %d", c.path, got.status, got.err, c.status)
		}
		if got.status == 401 && (got.body != "Unauthorized" || got.header.Get("Content-Type") != "text/plain") {
			t.Errorf("%s: %q as %q", c.path, got.body, got.header.Get("Content-Type"))
		}
	}
	if calls := s.Calls(); !calls[0].Key || calls[1].Key || calls[2].Key {
		t.Errorf("who had the key: %+v", calls[:3])
	}
	ws := s.Workspace(t.TempDir())
	one := s.Terminal(ws, Terminal{})
	if got := ask(t, s, "DELETE", "/api/terminals/"+one.ID, key("")); got.status != 401 || !s.Registered(one.ID) || !s.Alive(one.ID) {
		t.Errorf("deleted without a key: %+v", got)
	}
	old := s.Key()
	s.SetKey(strings.Repeat("a", 64))
	if got := ask(t, s, "GET", "/api/terminals", key(old)); got.status != 401 {
		t.Errorf("with the old key: %+v", got)
	}
	if file, err := os.ReadFile(filepath.Join(s.Home(), "local-key")); err != nil || string(file) != old {
		t.Errorf("the file has another key than before, %v", err)
	}
	if again := open(t, Options{Home: s.Home()}); again.Key() != old {
		t.Error("another Tower with this home has another key")
	}
}

func TestNothingUnannounced(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	const ws = "L25vd2hlcmU"
	for _, path := range []string{"/api/version", "/api/terminals", "/api/shellpers/husks"} {
		ask(t, s, "GET", path)
	}
	if got := s.Unexpected(); len(got) > 0 {
		t.Errorf("these change nothing: %+v", got)
	}
	strange := []string{
		"GET /health", "GET /api/workspaces", "GET /api/workspaces/" + ws + "/status", "GET /api/status", "GET /workspace/" + ws + "/api/state",
		"GET /api/overview?workspace=x", "GET /workspace/" + ws + "/api/overview", "GET /api/nothing", "DELETE /api/terminals/x",
		"POST /api/shellpers/husks/sweep", "POST /api/stop", "POST /api/terminals", "DELETE /workspace/" + ws + "/api/tabs/x",
	}
	s.Expect("DELETE", "/api/terminals/y")
	for _, one := range append(strange, "DELETE /api/terminals/y") {
		method, path, _ := strings.Cut(one, " ")
		ask(t, s, method, path)
	}
	var got []string
	for _, c := range s.Unexpected() {
		got = append(got, c.Method+" "+c.Path)
	}
	if !slices.Equal(got, strange) || len(s.Mutations()) != len(strange)+1 {
		t.Errorf("unexpected: %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a GET that changes something was announced")
		}
	}()
	s.Expect("GET", "/health")
}

// failures is a test that can be watched failing.
type failures struct {
	testing.TB
	cleanup []func()
	failed  []string
}

func (f *failures) Cleanup(c func()) { f.cleanup = append(f.cleanup, c) }
func (f *failures) Helper()          {}
func (f *failures) Errorf(format string, a ...any) {
	f.failed = append(f.failed, fmt.Sprintf(format, a...))
}

func TestStartFailsTheTest(t *testing.T) {
	t.Parallel()
	f := &failures{TB: t}
	s := Start(f, Options{})
	ask(t, s, "GET", "/health")
	ask(t, s, "GET", "/api/terminals")
	f.cleanup[0]()
	if len(f.failed) != 1 || !strings.Contains(f.failed[0], "GET /health") {
		t.Errorf("the test failed with %q", f.failed)
	}
}

func TestStartingUp(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Hold: 10 * time.Millisecond})
	one := s.Terminal(s.Workspace(t.TempDir()), Terminal{})
	s.SetReady(false)
	for _, c := range []struct{ method, path, message string }{
		{"GET", "/api/terminals", "Tower is starting up. Try again shortly."},
		{"GET", "/api/version", "Tower is starting up. Try again shortly."},
		{"DELETE", "/api/terminals/" + one.ID, "Tower is still starting up. Try again shortly."},
	} {
		got := ask(t, s, c.method, c.path)
		if got.status != 503 || got.header.Get("Retry-After") != "1" || !strings.Contains(got.body, c.message) || !strings.Contains(got.body, `"STARTING_UP"`) {
			t.Errorf("%s %s: %+v", c.method, c.path, got)
		}
	}
	if !s.Alive(one.ID) || !s.Registered(one.ID) || !s.HasRow(one.ID) {
		t.Error("it was deleted while the Tower was starting")
	}
	slow := open(t, Options{Hold: time.Minute})
	slow.SetReady(false)
	slow.Before(func(int, Call) { time.AfterFunc(20*time.Millisecond, func() { slow.SetReady(true) }) })
	must(t, slow, 200, "GET", "/api/terminals")
}

func TestDownAndUp(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ws := s.Workspace(t.TempDir())
	s.Builder(ws, Builder{ID: "builder-pir-1"})
	one := s.Terminal(ws, Terminal{RoleID: "builder-pir-1"})
	if p, err := procs.Read(one.PID); err != nil || p.Parent != one.Tower {
		t.Errorf("the shellper's parent is %d, not the Tower's %d: %v", p.Parent, one.Tower, err)
	}
	s.Down()
	if got := ask(t, s, "GET", "/api/version"); !errors.Is(got.err, syscall.ECONNREFUSED) {
		t.Errorf("while it is down: %+v", got)
	}
	if p, err := procs.Read(one.PID); err != nil || p.Parent == one.Tower || procs.Lives(one.Tower) || !procs.Lives(one.Agent) || !answers(one.Socket) {
		t.Errorf("the shellper is no orphan, or not well: its parent is %d, %v", p.Parent, err)
	}
	s.RemoveBuilder(ws, "builder-pir-1")
	before := time.Now().Truncate(time.Millisecond)
	s.Up()
	if got := listed(t, s)[one.ID]; got["status"] != "running" || got["pid"] != float64(one.PID) {
		t.Errorf("after that: %v", got)
	}
	if n := s.count(`SELECT count(*) FROM builders`); n != 0 {
		t.Errorf("%d builders", n)
	}
	if created, err := time.Parse(time.RFC3339, listed(t, s)[one.ID]["createdAt"].(string)); err != nil || created.Before(before) {
		t.Errorf("taken over, it is as old as before: %v, %v", created, err)
	}
	if kept := s.Terminal(ws, Terminal{}); true {
		s.Restart()
		s.Fault(func(int, Call) Fault { return DeleteKeepsRow })
		if must(t, s, 204, "DELETE", "/api/terminals/"+kept.ID); !s.HasRow(kept.ID) {
			t.Error("the row of one that was taken over was not kept")
		}
		s.Fault(nil)
	}
	s.Exit(one.ID, 3)
	if got := listed(t, s)[one.ID]; got["status"] != "exited" || got["exitCode"] != 3.0 || s.HasRow(one.ID) || !s.Alive(one.ID) {
		t.Errorf("an end in another life than the start's: %v, row %v", got, s.HasRow(one.ID))
	}
}

// What the Tower cannot take over when it starts loses its row, and its shellper if it has one.
func TestReconcile(t *testing.T) {
	t.Parallel()
	s := open(t, Options{GraceMs: 3600000})
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	ws, left := s.Workspace(t.TempDir()), s.Workspace(gone)
	in := func(workspace string, spec Terminal) string { return s.Terminal(workspace, spec).ID }
	cases := []struct {
		name                   string
		id                     string
		registered, row, alive bool
	}{
		{"a live one", in(ws, Terminal{}), true, true, true},
		{"one in a workspace that is gone", in(left, Terminal{}), false, false, false},
		{"an exited one", in(ws, Terminal{Exited: new(0)}), false, false, false},
		{"an exited architect", in(ws, Terminal{Type: "architect", Exited: new(1)}), true, true, true},
		{"a development server", in(ws, Terminal{RoleID: "builder-pir-1", Dev: true}), false, false, true},
		{"one without a socket in its row", in(ws, Terminal{NoSocket: true}), false, false, false},
		{"one without a start in its row", in(ws, Terminal{NoStart: true}), true, true, true},
		{"one that the Tower had lost", in(ws, Terminal{NoSession: true}), true, true, true},
		{"one without a row whose socket's file is gone", in(ws, Terminal{NoRow: true}), false, false, false},
		{"one that began at another time", in(ws, Terminal{}), false, false, false},
		{"one that does not answer", in(ws, Terminal{}), false, false, false},
	}
	if err := errors.Join(os.Remove(gone), os.Remove(s.State(cases[8].id).Socket), os.Remove(s.State(cases[10].id).Socket)); err != nil {
		t.Fatal(err)
	}
	s.Exec(`UPDATE terminal_sessions SET shellper_start_time = shellper_start_time - 2100 WHERE id = ?`, cases[9].id)
	s.Restart()
	if !procs.Lives(s.State(cases[3].id).Agent) {
		t.Error("the architect was not started again")
	}
	for _, c := range cases {
		if !c.alive {
			wait.Eventually(t, "the end of "+c.name, func() bool { return !s.Alive(c.id) })
		}
		if s.Registered(c.id) != c.registered || s.HasRow(c.id) != c.row || s.Alive(c.id) != c.alive {
			t.Errorf("%s: listed %v, row %v, alive %v", c.name, s.Registered(c.id), s.HasRow(c.id), s.Alive(c.id))
		}
	}
}

func TestHusks(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := open(t, Options{SocketDir: filepath.Join(dir, "run"), KillWait: 50 * time.Millisecond})
	other := open(t, Options{SocketDir: filepath.Join(dir, "run2")})
	ws := s.Workspace(t.TempDir())
	husk, deaf := s.Husk(ws), s.Terminal(ws, Terminal{NoRow: true, NoSession: true, Exited: new(0), Deaf: true})
	child := s.Terminal(ws, Terminal{NoRow: true, NoSession: true})
	registered := s.Terminal(ws, Terminal{Exited: new(0)})
	trusted := s.Terminal(ws, Terminal{Exited: new(0), NoStart: true})
	foreign := other.Husk(ws)
	reused := s.Terminal(ws, Terminal{Exited: new(0)})
	s.Exec(`UPDATE terminal_sessions SET shellper_start_time = 1 WHERE id = ?`, reused.ID)

	want := []int{husk.PID, deaf.PID, reused.PID}
	var got []int
	for _, one := range must(t, s, 200, "GET", "/api/shellpers/husks")["candidates"].([]any) {
		got = append(got, int(one.(map[string]any)["pid"].(float64)))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("candidates %v, want %v", got, want)
	}
	s.sweepHusks()
	for _, pid := range want {
		wait.Eventually(t, "the end of a husk", func() bool { return !procs.Lives(pid) })
	}
	for _, one := range []TerminalState{child, registered, trusted, foreign} {
		if !procs.Lives(one.PID) {
			t.Errorf("%+v was swept", one)
		}
	}
	late := s.Husk(ws)
	if s.Restart(); s.Alive(late.ID) {
		t.Error("a Tower that started left a husk")
	}
	young := open(t, Options{GraceMs: 3600000})
	young.Husk(ws)
	if got := must(t, young, 200, "GET", "/api/shellpers/husks"); len(got["candidates"].([]any)) > 0 || got["graceMs"] != 3600000.0 {
		t.Errorf("a young one: %v", got)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault          Fault
		status         int // 0 is no answer
		body           string
		entry, row, up bool // what is left
	}{
		"hang":                {fault: Hang, entry: true, row: true, up: true},
		"hang before reply":   {fault: HangBeforeReply},
		"close without reply": {fault: CloseWithoutReply, entry: true, row: true, up: true},
		"lost reply":          {fault: LostReply},
		"garbage":             {fault: Garbage, status: 200, body: "\x00{]] Tower\n"},
		"status":              {fault: Status(500, "oops"), status: 500, body: "oops", entry: true, row: true, up: true},
		"does nothing":        {fault: DeleteDoesNothing, status: 204, entry: true, row: true, up: true},
		"only the row":        {fault: DeleteKillsOnlyRow, status: 204, entry: true, up: true},
		"keeps the row":       {fault: DeleteKeepsRow, status: 204, row: true},
		"slow":                {fault: SlowDelete(30 * time.Millisecond), status: 204},
		"none":                {status: 204},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, Options{})
			one := s.Terminal(s.Workspace(t.TempDir()), Terminal{})
			path := "/api/terminals/" + one.ID
			s.Fault(func(n int, call Call) Fault {
				if n != 1 || call.Method != "DELETE" || call.Path != path {
					t.Errorf("call %d is %+v", n, call)
				}
				return c.fault
			})
			done := make(chan reply)
			began := time.Now()
			go func() { done <- ask(t, s, "DELETE", path) }()
			var got reply
			if c.fault == Hang || c.fault == HangBeforeReply {
				wait.Eventually(t, "the call", func() bool { return len(s.Calls()) == 1 && s.Alive(one.ID) == c.up && s.Registered(one.ID) == c.entry })
				select {
				case got := <-done:
					t.Errorf("it answered: %+v", got)
				case <-time.After(20 * time.Millisecond):
				}
				entry, row, up := s.Registered(one.ID), s.HasRow(one.ID), s.Alive(one.ID)
				if entry != c.entry || row != c.row || up != c.up {
					t.Errorf("left: entry %v, row %v, shellper %v", entry, row, up)
				}
				s.Down()
				if got = <-done; got.err == nil {
					t.Errorf("it answered at last: %+v", got)
				}
				return
			}
			got = <-done
			if (got.err != nil) != (c.status == 0) || got.status != c.status || got.body != c.body {
				t.Errorf("%d %q, %v", got.status, got.body, got.err)
			}
			if took := time.Since(began); took < c.fault.wait {
				t.Errorf("it took %v only", took)
			}
			entry, row, up := s.Registered(one.ID), s.HasRow(one.ID), s.Alive(one.ID)
			if entry != c.entry || row != c.row || up != c.up {
				t.Errorf("left: entry %v, row %v, shellper %v", entry, row, up)
			}
		})
	}
}

func TestFaultsOfReads(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	s.Fault(func(n int, _ Call) Fault { return []Fault{Partial, Huge, DeleteDoesNothing}[n-1] })
	if got := ask(t, s, "GET", "/api/terminals"); got.err == nil || got.body != `{"terminal` && len(got.body) == 0 {
		t.Errorf("half an answer: %+v", got)
	}
	if got := ask(t, s, "GET", "/api/terminals"); len(got.body) < hugeSize || got.err != nil {
		t.Errorf("a huge answer has %d bytes, %v", len(got.body), got.err)
	}
	must(t, s, 200, "GET", "/api/terminals")
}

func TestHooks(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ws := s.Workspace(t.TempDir())
	var made TerminalState
	s.Before(func(int, Call) { made = s.Terminal(ws, Terminal{}) })
	s.After(func(int, Call) { s.Exit(made.ID, 9) })
	if got := listed(t, s)[made.ID]; got["status"] != "running" {
		t.Errorf("it was made before and ended after, and is %v", got)
	}
	s.Before(nil)
	s.After(nil)
	if got := listed(t, s)[made.ID]; got["status"] != "exited" || got["exitCode"] != 9.0 {
		t.Errorf("after that it is %v", got)
	}
}

// What a shellper looks like from outside.
func TestShellper(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ws := s.Workspace(t.TempDir())
	one := s.Terminal(ws, Terminal{RoleID: "builder-pir-1", Command: []string{"sh", "-c", "tty; echo $GREETING; read -r x; exit 4"}, Env: []string{"GREETING=it's"}})
	argv := procs.Argv(one.PID)
	if len(argv) != 3 || argv[1] != filepath.Join(s.dir, marker) || !strings.Contains(argv[2], `"cwd":"`+ws+`"`) || !strings.Contains(argv[2], Secret) ||
		!strings.Contains(argv[2], s.SocketDir()+"/") {
		t.Errorf("its command line is %q", argv)
	}
	if argv := procs.Argv(one.Tower); strings.Contains(strings.Join(argv, " "), marker) {
		t.Errorf("the Tower is taken for a shellper: %q", argv)
	}
	session, err := unix.Getsid(one.PID)
	agent, err2 := unix.Getsid(one.Agent)
	if p, err3 := procs.Read(one.Agent); session != one.PID || agent != one.Agent || p.Parent != one.PID || errors.Join(err, err2, err3) != nil {
		t.Errorf("sessions %d and %d of %+v, whose agent's parent is %d", session, agent, one, p.Parent)
	}
	wait.Eventually(t, "its output", func() bool { return strings.HasSuffix(s.Output(one.ID), "it's\n") })
	if got := s.Output(one.ID); !strings.HasPrefix(got, "/dev/pts/") {
		t.Errorf("the agent is not on a terminal: %q", got)
	}
	for _, path := range []string{"/environ", "/cmdline"} {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d%s", one.Agent, path)); err != nil || strings.Contains(string(text), Secret) {
			t.Errorf("the agent's %s has the secret, or cannot be read: %v", path, err)
		}
	}
	architect := s.Terminal(ws, Terminal{Type: "architect", RoleID: "other"})
	if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", architect.PID)); err != nil || !strings.Contains(string(env), "\x00CODEV_ARCHITECT_NAME=other\x00") {
		t.Errorf("an architect's shellper does not name its owner: %v", err)
	}
	s.Type(one.ID, "\n")
	wait.Eventually(t, "the agent's end", func() bool { return listed(t, s)[one.ID]["exitCode"] == 4.0 })
	if all := procs.All(); !s.Alive(one.ID) || !answers(one.Socket) || !s.HasRow(one.ID) || slices.ContainsFunc(all, func(p procs.Process) bool { return p.Parent == one.PID }) {
		t.Error("after the agent's end the shellper has a child, or is not there, or its row is not")
	}
	if err := unix.Kill(one.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, "its end", func() bool { return !s.Alive(one.ID) && !procs.Lives(one.PID) && !answers(one.Socket) })
	if !s.Registered(one.ID) || !s.HasRow(one.ID) {
		t.Error("the Tower forgot a terminal whose shellper another program killed")
	}
	must(t, s, 204, "DELETE", "/api/terminals/"+one.ID)
	if !s.Gone(one.ID) {
		t.Error("a dead one cannot be deleted")
	}
}

// A shellper that another process kills takes its terminal along, and the Tower sees it.
func TestKilledFromOutside(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	one := s.Terminal(s.Workspace(t.TempDir()), Terminal{Orphan: true})
	if p, err := procs.Read(one.PID); err != nil || p.Parent == one.Tower || procs.Lives(one.Tower) {
		t.Errorf("it is no orphan: its parent is %d, %v", p.Parent, err)
	}
	if err := unix.Kill(one.PID, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, "the agent's end", func() bool { return !procs.Lives(one.Agent) })
	wait.Eventually(t, "the Tower's word", func() bool { return listed(t, s)[one.ID]["status"] == "exited" })
	if _, has := listed(t, s)[one.ID]["exitCode"]; has {
		t.Error("it has an unknown exit code")
	}
}

func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ws := s.Workspace(t.TempDir())
	old := s.Terminal(ws, Terminal{})
	last := func() float64 { return listed(t, s)[old.ID]["lastDataAt"].(float64) }
	before := last()
	s.Type(old.ID, "x\n")
	wait.Eventually(t, "what it printed", func() bool { return last() > before })
	s.SetPID(old.ID, 1)
	if listed(t, s)[old.ID]["pid"] != 1.0 || s.count(`SELECT shellper_pid FROM terminal_sessions`) != 1 {
		t.Error("it has another pid than was reported")
	}
}

// Nothing outlives the Tower, wherever it has gone; given folders do.
func TestClose(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s, err := New(Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	ws := s.Workspace(t.TempDir())
	away := s.Terminal(ws, Terminal{Command: []string{"sh", "-c", "(trap '' HUP; setsid sleep 100 & echo $!; ) ; read -r x"}})
	deaf, orphan, husk := s.Terminal(ws, Terminal{Deaf: true}), s.Terminal(ws, Terminal{Orphan: true}), s.Husk(ws)
	var daemon int
	wait.Eventually(t, "the daemon", func() bool { _, err := fmt.Sscan(s.Output(away.ID), &daemon); return err == nil && procs.Lives(daemon) })
	s.Down()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{daemon, away.PID, away.Agent, deaf.PID, deaf.Agent, orphan.PID, orphan.Agent, husk.PID} {
		if procs.Lives(pid) {
			t.Errorf("%d (%q) still lives", pid, procs.Argv(pid))
		}
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("its own folder is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, "global.db")); err != nil {
		t.Error(err)
	}
	if got := ask(t, s, "GET", "/api/version"); got.err == nil {
		t.Error("it still answers")
	}
}

func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{SocketDir: filepath.Join(t.TempDir(), strings.Repeat("x", 60))}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("a socket folder of too long a path: %v", err)
	}
	taken := open(t, Options{})
	if _, err := New(Options{Addr: strings.TrimPrefix(taken.URL(), "http://")}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port that is taken: %v", err)
	}
}

func TestBuilderRows(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if got := s.Workspace(link); got != real {
		t.Errorf("the workspace is %s, not %s", got, real)
	}
	s.Builder(link, Builder{ID: "b"})
	for _, query := range []string{
		`UPDATE builders SET status = 'x'`, `UPDATE builders SET type = 'x'`, `INSERT INTO terminal_sessions (id, workspace_path, type) VALUES ('x', 'y', 'z')`,
		`INSERT INTO mailbox (id, workspace_path, to_agent, body, reason, created_at, updated_at) VALUES ('x', 'y', 'z', '', 'q', 1, 1)`,
	} {
		if _, err := s.db.Exec(query); err == nil {
			t.Errorf("SQLite let %s be", query)
		}
	}
	if n := s.count(`PRAGMA synchronous`); n != 2 {
		t.Errorf("synchronous is %d, not 2, which is FULL", n)
	}
	if n := s.count(`SELECT max(version) FROM _migrations`); n != 17 {
		t.Errorf("the version is %d", n)
	}
	s.RemoveBuilder(link, "b")
	if n := s.count(`SELECT count(*) FROM builders`); n != 0 {
		t.Errorf("%d builders are left", n)
	}
}
