package codev

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/panes"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	client "github.com/winnow-reaper/winnow/internal/sys/tower"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/tower"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// The states in which the answers of a real Tower were captured: terminals, after-agent-exit, after-tower-restart and husks.
func TestTerminalsOfAWholeLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	arch := f.Terminal(f.ws, tower.Terminal{Type: "architect"})
	pir := f.builder(f.ws, "builder-pir-883")
	task := f.builder(f.ws, "builder-task-abcd")
	dev := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-883", Dev: true})
	shell := f.Terminal(f.ws, tower.Terminal{Type: "shell"})
	if info, err := os.Stat(filepath.Join(f.Home(), client.StoreFile)); err != nil || info.Size() > 4096 {
		t.Fatalf("the store has left its -wal: %v, %v", info, err)
	}
	p := f.read()
	f.want(p, map[string]string{
		arch.ID:  "architect main running listed recorded scoped pid",
		pir.ID:   "builder builder-pir-883 running listed recorded scoped pid | row builder-pir-883 recorded !gone",
		task.ID:  "builder builder-task-abcd running listed recorded scoped pid | row builder-task-abcd recorded !gone",
		dev.ID:   "dev builder-pir-883 running listed !recorded scoped pid | label builder-pir-883 recorded !gone",
		shell.ID: "shell shell-1 running listed recorded scoped pid",
	})
	x := f.only(p, dev.ID)
	if x.Label != "Dev: builder-pir-883" || x.Workspace != f.ws || *x.PID != dev.PID || x.Owner.Worktree != f.worktree(f.ws, "builder-pir-883") {
		t.Errorf("the development server: %+v, %+v", x, x.Owner)
	}
	x = f.only(p, pir.ID)
	if since := time.Since(*x.CreatedAt); since < 0 || since > time.Minute || x.LastDataAt == nil || x.Cwd != f.worktree(f.ws, "builder-pir-883") || x.Workspace != f.ws {
		t.Errorf("the builder: %+v", x)
	}
	if p.Server == nil || p.Server.Socket != f.URL() || p.Server.Version != tower.Version || !slices.Equal(p.Named, []string{f.ws}) {
		t.Errorf("server %+v, named %v", p.Server, p.Named)
	}

	f.Exit(pir.ID, 3)
	f.Exit(arch.ID, 0)
	p = f.read()
	f.want(p, map[string]string{
		arch.ID:  "architect main exited 0 listed recorded scoped pid",
		pir.ID:   "builder builder-pir-883 exited 3 listed recorded scoped pid | row builder-pir-883 recorded !gone",
		task.ID:  "builder builder-task-abcd running listed recorded scoped pid | row builder-task-abcd recorded !gone",
		dev.ID:   "dev builder-pir-883 running listed !recorded scoped pid | label builder-pir-883 recorded !gone",
		shell.ID: "shell shell-1 running listed recorded scoped pid",
	})
	calls := len(f.Calls())

	f.Down()
	p, err := f.try(t.Context())
	if err == nil || isAbsent(err) || !p.Partial || !strings.Contains(err.Error(), "no Tower runs there; start it") {
		t.Errorf("with the Tower down: %v", err)
	}
	if len(f.Calls()) != calls {
		t.Errorf("the Tower was asked while it was down")
	}
	f.want(p, map[string]string{
		arch.ID:          "architect main recorded scoped pid",
		pir.ID:           "builder builder-pir-883 recorded scoped pid | row builder-pir-883 recorded !gone",
		task.ID:          "builder builder-task-abcd recorded scoped pid | row builder-task-abcd recorded !gone",
		shell.ID:         "shell shell-1 recorded scoped pid",
		strayID(dev.PID): "!recorded scoped pid",
	})

	f.Up()
	p = f.read()
	f.want(p, map[string]string{
		arch.ID:          "architect main running listed recorded scoped pid",
		task.ID:          "builder builder-task-abcd running listed recorded scoped pid | row builder-task-abcd recorded !gone",
		shell.ID:         "shell shell-1 running listed recorded scoped pid",
		strayID(dev.PID): "shellper !listed !recorded scoped pid | folder builder-pir-883 recorded !gone",
	})
	f.Exit(dev.ID, 0)
	if p = f.read(); says(f.only(p, strayID(dev.PID))) != "shellper !listed !recorded scoped pid | folder builder-pir-883 recorded !gone" {
		t.Errorf("the husk: %+v", f.only(p, strayID(dev.PID)))
	}
	if len(f.Mutations()) != 0 {
		t.Errorf("asked for %v", f.Mutations())
	}
}

// What runs below a shellper comes from the processes that were read in the same look.
func TestBelowTheShellper(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	x := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-1", Command: []string{"sh", "-c", "sleep 600 & until grep -q sleep /proc/$!/comm; do :; done; exec cat"}})
	wait.Eventually(t, "cat, when sleep is there", func() bool { return string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/comm", x.Agent)))(t)) == "cat\n" })
	husk := f.Husk(f.ws)
	all, err := processes.New(processes.Options{Root: "/proc"}).Read(t.Context())
	must.Equal(t, true, err == nil || all.Partial, "the processes are read: %v", err)
	p := f.read()
	s := &snapshot.Snapshot{Terminals: p.Terminals, Processes: all.Processes, Sources: map[string]snapshot.Source{snapshot.Proc: {Status: snapshot.OK}}}
	panes.Fill(s)
	got := f.only(collectors.Part{Terminals: s.Terminals}, x.ID)
	if got.Below == nil || !slices.ContainsFunc(*got.Below, func(p snapshot.PaneProc) bool { return p.PID == x.Agent && p.Name == "cat" }) ||
		!slices.ContainsFunc(*got.Below, func(p snapshot.PaneProc) bool { return p.Name == "sleep" }) ||
		slices.ContainsFunc(*got.Below, func(p snapshot.PaneProc) bool { return p.PID == x.PID }) {
		t.Errorf("below %d: %+v", x.PID, got.Below)
	}
	if got.StartedAt == nil || time.Since(*got.StartedAt) > time.Minute {
		t.Errorf("started %v", got.StartedAt)
	}
	if got = f.only(collectors.Part{Terminals: s.Terminals}, strayID(husk.PID)); got.Below == nil || len(*got.Below) != 0 {
		t.Errorf("below a husk: %+v", got.Below)
	}
}

// Each failure of the Tower is one of the source with its own words. What the store says is given all the same, and nothing else.
func TestTowerThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) tower.Fault { return tower.Status(code, body) }
	starting := status(503, `{"error":"STARTING_UP","message":"x"}`)
	f := newFixture(t, tower.Options{})
	f.builder(f.ws, "builder-pir-7")
	f.RemoveBuilder(f.ws, "builder-pir-7")
	for name, tc := range map[string]struct {
		path  string
		fault tower.Fault
		want  string
	}{
		"starting":               {"/api/terminals", starting, "it is starting up; look again"},
		"starting at once":       {"/api/version", starting, "it is starting up; look again"},
		"wrong key":              {"/api/terminals", status(401, "Unauthorized"), "it refuses the key (401); set CODEV_TOWER_KEY"},
		"hangs":                  {"/api/terminals", tower.Hang, "it did not answer in time; see whether it hangs"},
		"hangs at once":          {"/api/version", tower.Hang, "it did not answer in time; see whether it hangs"},
		"hangs at last":          {"/api/shellpers/husks", tower.HangBeforeReply, "it did not answer in time; see whether it hangs"},
		"no answer":              {"/api/terminals", tower.CloseWithoutReply, "it hung up before the answer was whole"},
		"half an answer":         {"/api/terminals", tower.Partial, "it hung up before the answer was whole"},
		"garbage":                {"/api/terminals", tower.Garbage, "winnow does not know this answer; see what listens there"},
		"garbage at once":        {"/api/version", tower.Garbage, "winnow does not know this answer; see what listens there"},
		"garbage of husks":       {"/api/shellpers/husks", tower.Garbage, "winnow does not know this answer; see what listens there"},
		"endless":                {"/api/terminals", tower.Huge, "longer than the 4 MiB that winnow reads; see what listens there"},
		"broken":                 {"/api/terminals", status(500, tower.Secret), "it answers 500; see what listens there"},
		"elsewhere":              {"/api/terminals", status(404, "{}"), "it answers 404; see what listens there"},
		"busy":                   {"/api/terminals", status(503, "{}"), "it answers 503; look again"},
		"no list":                {"/api/terminals", status(200, "{}"), "winnow does not know this answer"},
		"a list of null":         {"/api/terminals", status(200, `{"terminals":null}`), "winnow does not know this answer"},
		"a list of other things": {"/api/terminals", status(200, `{"terminals":["x"]}`), "winnow does not know this answer"},
		"a terminal without id":  {"/api/terminals", status(200, `{"terminals":[{}]}`), "winnow does not know this answer"},
		"an empty list":          {"/api/terminals", status(200, `{"terminals":[]}`), "records a terminal whose processes live"},
		"another shape":          {"/api/terminals", status(200, `[]`), "winnow does not know this answer"},
		"no version":             {"/api/version", status(200, `{}`), "winnow does not know this answer"},
		"husks of null":          {"/api/shellpers/husks", status(200, `{"candidates":null}`), "winnow does not know this answer"},
	} {
		t.Run(name, func(t *testing.T) {
			f.o.Timeout = wait.Patience
			if strings.HasPrefix(name, "hangs") {
				f.o.Timeout = 100 * time.Millisecond
			}
			f.Fault(func(_ int, c tower.Call) tower.Fault {
				if c.Path == tc.path {
					return tc.fault
				}
				return tower.Fault{}
			})
			p, err := f.try(t.Context())
			if err == nil || isAbsent(err) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), f.Home()) {
				t.Errorf("gave %v; want %q", err, tc.want)
			}
			if strings.HasPrefix(name, "hangs") != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is an end of time or not", err)
			}
			if !p.Partial || len(p.Terminals) != 1 {
				t.Fatalf("gave %+v", p)
			}
			for _, x := range p.Terminals {
				if tc.path != "/api/shellpers/husks" && (x.Status != "" || x.Listed != nil || x.CreatedAt != nil) {
					t.Errorf("the Tower did not say %+v", x)
				}
				if x.RoleKind != "builder" || x.Owner == nil || *x.Owner.Recorded || *x.Recorded != true {
					t.Errorf("the store said %+v, %+v", x, x.Owner)
				}
			}
		})
	}
}

// A Tower that has no manager of shellpers has no husks to tell of, and that is not a failure.
func TestTowerWithoutShellpers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	f.Fault(func(_ int, c tower.Call) tower.Fault {
		if c.Path == "/api/shellpers/husks" {
			return tower.Status(503, `{"error":"NO_MANAGER"}`)
		}
		return tower.Fault{}
	})
	f.want(f.read(), map[string]string{})
}

// A source is absent only where nothing is left that a look could have missed.
func TestNoTower(t *testing.T) {
	t.Parallel()
	t.Run("and nothing left behind", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, tower.Options{})
		f.Down()
		if p, err := f.try(t.Context()); !isAbsent(err) || p.Partial || len(p.Terminals) != 0 {
			t.Errorf("gave %v", err)
		}
		f.o.Only = []string{"b26afcb2-e6ce-4410-9950-93df6cbfe922"}
		if _, err := f.try(t.Context()); err == nil || isAbsent(err) {
			t.Errorf("of one terminal that is not known any more: %v", err)
		}
	})
	t.Run("and no store", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, tower.Options{})
		f.Down()
		f.o.Homes = []string{t.TempDir()}
		if _, err := f.try(t.Context()); !isAbsent(err) {
			t.Errorf("gave %v", err)
		}
	})
	t.Run("and a store that says nothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, tower.Options{})
		f.Down()
		f.Exec("DROP TABLE builders")
		if _, err := f.try(t.Context()); err == nil || isAbsent(err) {
			t.Errorf("gave %v", err)
		}
	})
	t.Run("but its shellper", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, tower.Options{})
		husk := f.Husk(f.ws)
		f.Down()
		p, err := f.try(t.Context())
		if err == nil || isAbsent(err) {
			t.Errorf("gave %v", err)
		}
		f.want(p, map[string]string{strayID(husk.PID): "!recorded scoped pid"})
	})
}

func TestStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	run := func(name, want string, do func(t *testing.T, f *fixture), check func(t *testing.T, f *fixture, p collectors.Part, x snapshot.Terminal)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tower.Options{})
			x := f.row(f.ws, "builder-pir-7")
			do(t, f)
			p, err := f.try(t.Context())
			if err == nil || isAbsent(err) || !strings.Contains(err.Error(), want) || !p.Partial {
				t.Fatalf("gave %v; want %q", err, want)
			}
			for _, x := range p.Terminals {
				if x.Recorded != nil && !*x.Recorded || x.Owner != nil && x.Owner.Recorded != nil && !*x.Owner.Recorded {
					t.Errorf("a store that was not read whole denies a row: %+v, %+v", x, x.Owner)
				}
			}
			check(t, f, p, p.Terminals[ID("codev/home", x)])
		})
	}
	none := func(*testing.T, *fixture, collectors.Part, snapshot.Terminal) {}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, tower.Options{})
		x := f.builder(f.ws, "builder-pir-7")
		dev := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true})
		husk := f.Husk(f.ws)
		f.env["CODEV_TOWER_KEY"] = f.Key()
		f.o.Homes = []string{filepath.Join(t.TempDir(), "home")}
		must.Do(t, os.Mkdir(f.o.Homes[0], 0o700))
		p, err := f.try(t.Context())
		if err == nil || isAbsent(err) || !strings.Contains(err.Error(), "although a Tower answers; name the folder of that Tower") {
			t.Errorf("gave %v", err)
		}
		f.want(p, map[string]string{
			x.ID: "running listed scoped pid", dev.ID: "dev builder-pir-7 running listed scoped pid | label builder-pir-7", strayID(husk.PID): "!listed scoped pid",
		})
	})
	run("locked", "locked", func(t *testing.T, f *fixture) {
		stage.NeedSecond(t, "it waits for all of the reader's patience")
		f.Exec("PRAGMA locking_mode = EXCLUSIVE")
		f.Exec("PRAGMA journal_mode = DELETE")
		f.Exec("BEGIN EXCLUSIVE")
	}, none)
	run("another version", "has no column role_id; a newer or older Codev", func(t *testing.T, f *fixture) {
		f.Exec("ALTER TABLE terminal_sessions RENAME COLUMN role_id TO role")
	}, none)
	run("builders of another version", "no table builders; a newer or older Codev", func(t *testing.T, f *fixture) {
		f.Exec("ALTER TABLE builders RENAME TO makers")
	}, func(t *testing.T, f *fixture, p collectors.Part, x snapshot.Terminal) {
		if says(x) != "builder builder-pir-7 !listed recorded | row builder-pir-7 gone" {
			t.Errorf("gave %s", says(x))
		}
	})
	for name, tc := range map[string]struct{ change, want string }{
		"an id of another kind":   {"terminal_sessions SET id = 'x', role_id = 'y'", "terminal_sessions: row 1: its id does not have the form of Codev's ids"},
		"a relative workspace":    {"terminal_sessions SET workspace_path = 'acme'", "workspace_path is not absolute"},
		"no workspace":            {"terminal_sessions SET workspace_path = ''", "it has no workspace_path"},
		"a start of text":         {"terminal_sessions SET shellper_start_time = 'then'", "shellper_start_time is not a whole number"},
		"a start of 0":            {"terminal_sessions SET shellper_start_time = 0", "shellper_start_time is no time"},
		"a pid of text":           {"terminal_sessions SET shellper_pid = 'one'", "shellper_pid is not a whole number"},
		"a role of bytes":         {"terminal_sessions SET role_id = x'00'", "role_id is not text"},
		"a builder without an id": {"builders SET id = ''", "builders: row 1: it has no id"},
		"a builder's worktree":    {"builders SET worktree = '.'", "builders: row 1: worktree is not absolute"},
	} {
		run(name, tc.want, func(t *testing.T, f *fixture) { f.Exec("UPDATE " + tc.change) },
			func(t *testing.T, f *fixture, p collectors.Part, _ snapshot.Terminal) {
				if p.Unreadable == 0 {
					t.Errorf("no row is counted as unreadable")
				}
			})
	}
}

// When time runs out, what is known by then is given, and nothing is reported as absent.
func TestTimeRunsOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	f.builder(f.ws, "builder-pir-7")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if p, err := f.try(ended); !errors.Is(err, context.Canceled) || isAbsent(err) || len(p.Terminals) != 0 {
		t.Errorf("after the end gave %v, %+v", err, p.Terminals)
	}
	f.Fault(func(int, tower.Call) tower.Fault { return tower.Hang })
	ctx, cancel := context.WithCancel(t.Context())
	f.Before(func(int, tower.Call) { cancel() })
	f.o.Timeout = time.Hour
	if p, err := f.try(ctx); !errors.Is(err, context.Canceled) || isAbsent(err) || len(p.Terminals) != 1 {
		t.Errorf("with a Tower that hangs gave %v, %+v", err, p.Terminals)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	f.builder(f.ws, "builder-pir-7")
	own := f.Key()
	refused := func(what, want string) {
		t.Helper()
		if _, err := f.try(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	f.env["CODEV_TOWER_KEY"] = strings.Repeat("a", 64)
	refused("another key in the environment than in the folder, which is right", "it refuses the key")
	f.SetKey(strings.Repeat("a", 64))
	f.read()
	delete(f.env, "CODEV_TOWER_KEY")
	refused("the folder's key, and the Tower was started with another", "it refuses the key")
	f.SetKey(own)
	f.read()
	for _, c := range f.Calls() {
		if strings.HasPrefix(c.Path, "/api/version") && c.Key {
			t.Error("the key was sent before it was known who listens")
		}
	}
	f.env["CODEV_TOWER_KEY"] = "a\nb"
	refused("a key that cannot be sent", "CODEV_TOWER_KEY holds no key")
	delete(f.env, "CODEV_TOWER_KEY")
	path := filepath.Join(f.Home(), "local-key")
	for _, text := range []string{"", " \n", "two words"} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		refused("a file without a key", "holds no key of 64 hexadecimal digits; start the Tower again")
	}
	must.Do(t, os.Remove(path))
	refused("no file", "there is no "+path+"; start the Tower once")
	must.Do(t, os.Mkdir(path, 0o700))
	refused("a folder", "read the Tower's key")
}

// The key goes to the Tower and nowhere else, and so does the question.
func TestNowhereButToThisMachine(t *testing.T) {
	t.Parallel()
	t.Run("not after a redirect", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, tower.Options{})
		led := http.NewServeMux()
		led.HandleFunc("/api/version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"version":"3.3.1"}`) })
		led.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, f.URL()+r.URL.Path, http.StatusFound)
		})
		s := httptest.NewServer(led)
		defer s.Close()
		f.o.Tower = s.URL
		if _, err := f.try(t.Context()); err == nil || !strings.Contains(err.Error(), "it answers 302") {
			t.Errorf("gave %v", err)
		}
		if len(f.Calls()) != 0 {
			t.Errorf("was led to %v", f.Calls())
		}
	})
	t.Run("not where it resolves to", func(t *testing.T) {
		t.Parallel()
		c := client.New("http://192.0.2.1:9", "k", time.Second)
		if _, err := c.Version(t.Context()); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("gave %v", err)
		}
	})
	t.Run("not by configuration", func(t *testing.T) {
		t.Parallel()
		for _, url := range []string{"http://192.0.2.1:4100", "https://127.0.0.1:4100", "http://example.org", "http://u:p@127.0.0.1", "127.0.0.1:4100",
			"http://127.0.0.1/x", "http://127.0.0.1/?x", "http://127.0.0.1.example.org", "file:///x", "http://"} {
			if _, err := Sources(Options{Homes: []string{t.TempDir()}, Tower: url}); err == nil {
				t.Errorf("%s is taken", url)
			}
		}
		for _, url := range []string{"", "http://localhost:4100/", "http://[::1]:4100", "http://127.0.0.2:1"} {
			if _, err := Sources(Options{Homes: []string{t.TempDir()}, Tower: url}); err != nil {
				t.Errorf("%s: %v", url, err)
			}
		}
	})
}

// Something that listens and says nothing is not taken for a Tower that is down.
func TestAnotherProgramListens(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("SSH-2.0-x\r\n"))
			_ = c.Close()
		}
	}()
	f.o.Tower = "http://" + l.Addr().String()
	if _, err := f.try(t.Context()); err == nil || isAbsent(err) || strings.Contains(err.Error(), "SSH") {
		t.Errorf("gave %v", err)
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	a, b := f.builder(f.ws, "builder-pir-1"), f.builder(f.ws, "builder-pir-2")
	husk := f.Husk(f.ws)
	all := f.read()
	for _, id := range []string{a.ID, b.ID, strayID(husk.PID)} {
		f.o.Only = []string{id}
		p := f.read()
		f.want(p, map[string]string{id: says(f.only(all, id))})
	}
	f.o.Only = []string{strayID(a.PID)}
	f.want(f.read(), map[string]string{})
	for _, id := range []string{"x", "pid-0", "../x", a.ID + "x"} {
		calls := len(f.Calls())
		f.o.Only = []string{id}
		if _, err := f.try(t.Context()); err == nil || len(f.Calls()) != calls {
			t.Errorf("%q gave %v", id, err)
		}
	}
}

// A secret of a command line is in nothing that comes out, in every case; fixture.try looks for it every time.
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	x := f.builder(f.ws, "builder-pir-1")
	text, err := os.ReadFile("/proc/" + strconv.Itoa(x.PID) + "/cmdline")
	if err != nil || !bytes.Contains(text, []byte(tower.Secret)) {
		t.Fatalf("there is no secret to be found: %v", err)
	}
	husk := f.Husk(f.ws)
	f.SetPID(x.ID, husk.PID)
	p := f.read()
	out, err := json.Marshal(p)
	if err != nil || bytes.Contains(out, []byte("ANTHROPIC")) || bytes.Contains(out, []byte(".sock")) {
		t.Errorf("gave %s, %v", out, err)
	}
	if *f.only(p, x.ID).Error == "" {
		t.Error("another's process is this terminal's")
	}
}
