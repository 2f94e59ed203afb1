package codev

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	client "github.com/winnow-reaper/winnow/internal/sys/tower"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/tower"
)

// Whichever way a role is written, the builder's row is found.
func TestSpellings(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	for _, c := range []struct{ row, builder, want string }{
		{"builder-pir-883", "builder-pir-883", "builder-pir-883"},
		{"Builder-PIR-0883", "builder-pir-883", "builder-pir-883"},
		{"builder-builder-pir-7", "builder-pir-0007", "builder-pir-7"},
		{"builder-pir-8", "Builder-Pir-8", "builder-pir-8"},
		{"builder-pir-9", "pir-9", "builder-pir-9"},
		{"builder-task-abcd", "builder-task-AbCd", "builder-task-abcd"},
		{"builder-task-0abc", "builder-task-abc", "builder-task-0abc"},
		{"worktree-x1", "worktree-X1", "worktree-x1"},
		{"builder-worktree-x2", "worktree-x2", "worktree-x2"},
		{"dev-builder-pir-10", "builder-pir-10", "builder-pir-10"},
	} {
		id := f.row(f.ws, c.row)
		f.Exec("UPDATE builders SET id = ? WHERE id = ?", c.builder, c.row)
		x := f.only(f.read(), id)
		if x.Role != c.want || x.Owner.ID != c.want || !*x.Owner.Recorded {
			t.Errorf("%+v: %s", c, says(x))
		}
		f.RemoveBuilder(f.ws, c.builder)
		if x = f.only(f.read(), id); *x.Owner.Recorded {
			t.Errorf("%+v without its row: %s", c, says(x))
		}
		f.Exec("DELETE FROM terminal_sessions WHERE id = ?", id)
	}
	near := f.row(f.ws, "builder-pir-88")
	f.Exec("UPDATE builders SET id = 'builder-pir-883', worktree = worktree || '3'")
	if x := f.only(f.read(), near); *x.Owner.Recorded {
		t.Errorf("another builder's row is this one's: %s", says(x))
	}
	f.Exec("UPDATE builders SET terminal_id = ?", near)
	if x := f.only(f.read(), near); !*x.Owner.Recorded {
		t.Errorf("a builder's row names it: %s", says(x))
	}
	f.Exec("UPDATE builders SET terminal_id = NULL, worktree = ?", f.worktree(f.ws, "builder-pir-88")+"/")
	if x := f.only(f.read(), near); !*x.Owner.Recorded {
		t.Errorf("a builder of another id works in its worktree: %s", says(x))
	}
	f.Exec("UPDATE builders SET terminal_id = ?", near)
	f.Exec("UPDATE terminal_sessions SET role_id = NULL")
	if x := f.only(f.read(), near); says(x) != "builder builder-pir-883 !listed recorded | row builder-pir-883 recorded gone" {
		t.Errorf("an old row: %s", says(x))
	}
	f.Exec("UPDATE builders SET terminal_id = NULL, worktree = ''")
	if x := f.only(f.read(), near); says(x) != "builder !listed recorded" {
		t.Errorf("an old row that no builder names: %s", says(x))
	}
}

func TestDuplicatesAndTwoWorkspaces(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	other := f.workspace("other")
	mine, twice, theirs := f.row(f.ws, "builder-pir-7"), "", f.row(other, "builder-pir-7")
	f.Exec("DELETE FROM builders WHERE workspace_path = ?", f.ws)
	twice = f.row(f.ws, "builder-pir-7")
	dev := f.Terminal(f.ws, tower.Terminal{RoleID: "Builder-PIR-007", Dev: true})
	must.Do(t, os.Mkdir(f.worktree(other, "builder-pir-7"), 0o755))
	f.want(f.read(), map[string]string{
		mine:   "builder builder-pir-7 !listed recorded | row builder-pir-7 recorded gone",
		twice:  "builder builder-pir-7 !listed recorded | row builder-pir-7 recorded gone",
		theirs: "builder builder-pir-7 !listed recorded | row builder-pir-7 recorded !gone",
		dev.ID: "dev builder-pir-7 running listed !recorded scoped pid | label builder-pir-7 recorded gone",
	})
	f.RemoveBuilder(f.ws, "builder-pir-7")
	p := f.read()
	if x := f.only(p, mine); *x.Owner.Recorded {
		t.Errorf("another workspace's builder is this one's: %s", says(x))
	}
	if x := f.only(p, dev.ID); *x.Owner.Recorded || x.Workspace != f.ws || !*x.Owner.Gone {
		t.Errorf("where it was started says of which of the two it is: %s", says(x))
	}
	strange := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true, Cwd: t.TempDir()})
	if x := f.only(f.read(), strange.ID); x.Owner.Recorded != nil || x.Workspace != "" {
		t.Errorf("nothing says of which of the two it is: %s", says(x))
	}
	at := time.Now()
	f.o.Known = []snapshot.Owner{{Source: "codev/home", Terminal: strange.ID, Workspace: f.ws, Builder: "builder-pir-7", LastAt: at, RowAt: &at}}
	if x := f.only(f.read(), strange.ID); x.Owner.Recorded != nil || x.Owner.SeenAt == nil || x.Workspace != f.ws {
		t.Errorf("what is remembered is no match for a builder of that id who is there: %s", says(x))
	}
	f.RemoveBuilder(other, "builder-pir-7")
	if x := f.only(f.read(), strange.ID); *x.Owner.Recorded || x.Workspace != f.ws || !*x.Owner.Gone {
		t.Errorf("with memory of it: %s", says(x))
	}
}

// Two workspaces have a builder of the same id: an end in one workspace counts there alone, and what is live in one
// keeps its owner there when the other workspace's has ended.
func TestOverInOneWorkspaceAndAliveInTheOther(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]int{"over in the first": 0, "over in the second": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tower.Options{})
			spaces := []string{f.ws, f.workspace("other")}
			var build, dev [2]tower.TerminalState
			for i, ws := range spaces {
				build[i] = f.builder(ws, "builder-pir-7")
				dev[i] = f.Terminal(ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true})
			}
			states := [2]string{"recorded !gone", "recorded !gone"}
			states[over] = "!recorded gone"
			f.RemoveBuilder(spaces[over], "builder-pir-7")
			must.Do(t, os.RemoveAll(f.worktree(spaces[over], "builder-pir-7")))
			for _, lost := range []bool{false, true} {
				p := f.read()
				for i, state := range states {
					if x := f.only(p, dev[i].ID); x.Workspace != spaces[i] || says(x) != "dev builder-pir-7 running listed !recorded scoped pid | label builder-pir-7 "+state {
						t.Errorf("the server of %s, without the other's rows: %v: %s", spaces[i], lost, says(x))
					}
					if x, there := p.Terminals[ID("codev/home", build[i].ID)]; there && !lost && !strings.HasSuffix(says(x), "| row builder-pir-7 "+state) {
						t.Errorf("the builder of %s: %s", spaces[i], says(x))
					}
				}
				f.Exec("DELETE FROM terminal_sessions WHERE workspace_path = ?", spaces[over])
			}
		})
	}
}

// A development server has a label and nothing else; a builder's terminal that lost its row not even that.
func TestWithoutARow(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	dev := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true})
	builder := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", NoRow: true, Label: "builder-pir-7"})
	arch := f.Terminal(f.ws, tower.Terminal{Type: "architect", NoRow: true})
	named := f.Terminal(f.ws, tower.Terminal{Type: "architect", NoRow: true, Label: "mine"})
	shell := f.Terminal(f.ws, tower.Terminal{Type: "shell", NoRow: true})
	f.Exec("INSERT INTO architect (workspace_path, id, cmd, terminal_id) VALUES (?, 'sibling', 'sh', ?)", f.ws, named.ID)
	rest := map[string]string{
		arch.ID:  "architect running listed !recorded scoped pid",
		named.ID: "architect sibling running listed !recorded scoped pid",
		shell.ID: "shell running listed !recorded scoped pid",
	}
	rest[dev.ID] = "dev builder-pir-7 running listed !recorded scoped pid | label builder-pir-7 !recorded"
	rest[builder.ID] = "running listed !recorded scoped pid"
	f.want(f.read(), rest)

	at := time.Now().UTC().Round(time.Second)
	tree := f.worktree(f.ws, "builder-pir-7")
	for _, id := range []string{dev.ID, builder.ID, arch.ID, shell.ID} {
		for age, source := range map[time.Duration]string{0: "codev/home", time.Hour: "codev/home", -time.Hour: "codev/another"} {
			f.o.Known = append(f.o.Known, snapshot.Owner{Source: source, Terminal: id, Workspace: f.ws, Builder: "builder-pir-7", Worktree: tree, LastAt: at.Add(-age), RowAt: new(at.Add(-age))})
		}
	}
	rest[dev.ID] = "dev builder-pir-7 running listed !recorded scoped pid | label builder-pir-7 !recorded gone"
	rest[builder.ID] = "builder builder-pir-7 running listed !recorded scoped pid | memory builder-pir-7 !recorded gone"
	p := f.read()
	f.want(p, rest)
	for _, id := range []string{dev.ID, builder.ID} {
		if x := f.only(p, id); x.Workspace != f.ws || !x.Owner.SeenAt.Equal(at) || x.Owner.Worktree != tree {
			t.Errorf("remembered: %+v, %+v", x, x.Owner)
		}
	}
	for i := range f.o.Known {
		f.o.Known[i].Builder = "builder-pir-8"
	}
	if x := f.only(f.read(), dev.ID); x.Owner.SeenAt != nil || x.Owner.Worktree != "" {
		t.Errorf("what is remembered of another builder counts: %+v", x.Owner)
	}
}

// What calls a terminal an architect's outweighs its row.
func TestArchitectsAreNeverBuilders(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	byTable, byLabel := f.row(f.ws, "builder-pir-1"), f.row(f.ws, "builder-pir-2")
	f.Exec("INSERT INTO architect (workspace_path, id, cmd, terminal_id) VALUES (?, 'main', 'sh', ?)", f.ws, byTable)
	f.Exec("UPDATE terminal_sessions SET label = 'Architect' WHERE id = ?", byLabel)
	odd := f.row(f.ws, "builder-pir-3")
	f.Exec("UPDATE terminal_sessions SET type = 'shell', label = 'Dev: builder-pir-3', role_id = 'shell-1' WHERE id = ?", odd)
	f.want(f.read(), map[string]string{
		byTable: "architect main !listed recorded",
		byLabel: "architect builder-pir-2 !listed recorded",
		odd:     "shell shell-1 !listed recorded",
	})
}

// Only what is positively a terminal's process is given as such.
func TestWhoseProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	x := f.builder(f.ws, "builder-pir-1")
	started := func(change int) {
		f.Exec("UPDATE terminal_sessions SET shellper_start_time = shellper_start_time + ?", change)
	}
	check := func(what, want, text string) {
		t.Helper()
		got := f.only(f.read(), x.ID)
		if says(got) != "builder builder-pir-1 "+want+" | row builder-pir-1 recorded !gone" || !strings.Contains(*got.Error, text) || (text == "") != (*got.Error == "") {
			t.Errorf("%s: %s: %s", what, says(got), *got.Error)
		}
	}
	const live = "running listed recorded"
	check("as it is", live+" scoped pid", "")
	started(1500)
	check("1.5 s off", live+" scoped pid", "")
	started(1500)
	check("3 s off", live, "pid "+fmt.Sprint(x.PID)+" is another process than the store's: it began at another time")
	started(-6000)
	check("3 s off the other way", live, "it began at another time")
	started(3000)
	f.Exec("UPDATE terminal_sessions SET shellper_socket = ?", filepath.Join(f.SocketDir(), "shellper-other.sock"))
	check("another socket", live+" !scoped", "is no shellper of this terminal")
	f.Exec("UPDATE terminal_sessions SET shellper_socket = NULL, shellper_start_time = NULL")
	check("nothing but the Tower's word", live+" scoped pid", "")
	f.Exec("UPDATE terminal_sessions SET shellper_pid = NULL, pid = NULL")
	check("the Tower's pid", live+" scoped pid", "")
	f.Exec("UPDATE terminal_sessions SET shellper_pid = 1")
	check("two pids", live, "by the Tower and pid 1 by the store")

	stranger := exec.Command("sleep", "600")
	must.Do(t, stranger.Start())
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	f.SetPID(x.ID, stranger.Process.Pid)
	check("another program", live+" !scoped", "is no shellper of this terminal")
	f.SetPID(x.ID, -1)
	check("none yet", live, "")
	f.SetPID(x.ID, 1<<22+1)
	check("none any more", live, "has ended")
	f.Exit(x.ID, 1)
	check("none any more, of one that exited", "exited 1 listed recorded", "")
	f.SetPID(x.ID, stranger.Process.Pid)
	f.Exec("UPDATE terminal_sessions SET shellper_start_time = 1795196883912")
	check("another process's by now, of one that exited", "exited 1 listed recorded", "closing the terminal could end it")
}

// Without the Tower, a row of old that says neither when nor where proves nothing.
func TestOldRows(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	old := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-1", NoStart: true, NoSocket: true})
	socket := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-2", NoStart: true})
	f.Down()
	p, _ := f.try(t.Context())
	f.want(p, map[string]string{
		old.ID:    "builder builder-pir-1 recorded scoped | row builder-pir-1 !recorded",
		socket.ID: "builder builder-pir-2 recorded scoped pid | row builder-pir-2 !recorded",
	})
	if x := f.only(p, old.ID); !strings.Contains(*x.Error, "is unknown") {
		t.Errorf("gave %+v", x)
	}
}

// A shellper has an owner if a row or the list could mean it, and is another instance's if its socket lies elsewhere.
func TestStrays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	elsewhere := newFixture(t, tower.Options{})
	far := elsewhere.Husk(elsewhere.ws)
	husk := f.Husk(f.ws)
	alive := f.Terminal(f.ws, tower.Terminal{Type: "shell", NoRow: true, NoSession: true})
	trusted := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-1", NoStart: true, NoSession: true})
	listed := f.builder(f.ws, "builder-pir-9")
	want := map[string]string{
		listed.ID:          "builder builder-pir-9 running listed recorded scoped pid | row builder-pir-9 recorded !gone",
		strayID(husk.PID):  "shellper !listed !recorded scoped pid",
		strayID(alive.PID): "shellper !listed !recorded scoped pid",
		trusted.ID:         "builder builder-pir-1 !listed recorded scoped pid | row builder-pir-1 !recorded",
	}
	f.want(f.read(), want)

	f.env["SHELLPER_SOCKET_DIR"] = f.SocketDir() + "2"
	f.want(f.read(), want) // a row says where this folder's sockets are
	f.Exec("UPDATE terminal_sessions SET shellper_socket = NULL")
	if p := f.read(); len(p.Terminals) != 2 || *f.only(p, trusted.ID).Scoped {
		t.Errorf("with sockets elsewhere gave %+v", p.Terminals)
	}
	f.env["SHELLPER_SOCKET_DIR"] = strings.TrimSuffix(f.SocketDir(), "n")
	if p := f.read(); len(p.Terminals) != 2 {
		t.Errorf("with a folder whose name begins alike gave %+v", p.Terminals)
	}
	f.env["SHELLPER_SOCKET_DIR"] = f.SocketDir()

	// A row that no longer means the process leaves it without an owner; a terminal that is being attached could be any.
	f.Exec("UPDATE terminal_sessions SET shellper_start_time = 1795196883912, shellper_socket = NULL")
	p := f.read()
	if says(f.only(p, strayID(trusted.PID))) != "shellper !listed !recorded scoped pid" {
		t.Errorf("of a row of another life: %s", says(f.only(p, strayID(trusted.PID))))
	}
	f.Exec("UPDATE terminal_sessions SET shellper_start_time = NULL, shellper_socket = ?, shellper_pid = 1, pid = 1", trusted.Socket)
	if p = f.read(); len(p.Terminals) != 4 {
		t.Errorf("a row that names its socket gave %+v", p.Terminals)
	}
	fresh := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-2", Dev: true})
	f.SetPID(fresh.ID, -1)
	p = f.read()
	for _, pid := range []int{fresh.PID, husk.PID} {
		if says(f.only(p, strayID(pid))) != "!listed !recorded scoped pid" {
			t.Errorf("while a terminal is being attached: %s", says(f.only(p, strayID(pid))))
		}
	}
	if elsewhere.Alive(far.ID) != true {
		t.Error("the other's ended")
	}
}

// Shellpers of two state folders may have their sockets in one folder.
func TestTwoHomesShareSockets(t *testing.T) {
	t.Parallel()
	a := newFixture(t, tower.Options{})
	b := newFixture(t, tower.Options{SocketDir: a.SocketDir()})
	a.builder(a.ws, "builder-pir-1")
	theirs, husk := b.builder(b.ws, "builder-pir-1"), b.Husk(b.ws)
	b.env["CODEV_AGENT_FARM_DIR"] = a.Home()
	p := b.read()
	b.want(p, map[string]string{
		theirs.ID:         "builder builder-pir-1 running listed recorded scoped pid | row builder-pir-1 recorded !gone",
		strayID(husk.PID): "!listed !recorded pid",
	})
	if x := b.only(p, strayID(husk.PID)); !strings.Contains(*x.Error, "which of this user's state folders") {
		t.Errorf("gave %+v", x)
	}
	// Only those of the other one had their sockets elsewhere: then it is this one's.
	a.Exec("UPDATE terminal_sessions SET shellper_socket = '/elsewhere/x.sock'")
	if x := b.only(b.read(), strayID(husk.PID)); x.RoleKind != "shellper" || !*x.Scoped {
		t.Errorf("gave %s", says(x))
	}
	a.Exec("UPDATE terminal_sessions SET shellper_socket = x'00'")
	if x := b.only(b.read(), strayID(husk.PID)); x.RoleKind != "" || x.Scoped != nil {
		t.Errorf("with a store that cannot be read gave %s", says(x))
	}
}

func TestTwoHomesAtOnce(t *testing.T) {
	t.Parallel()
	a, b := newFixture(t, tower.Options{}), newFixture(t, tower.Options{})
	a.builder(a.ws, "builder-pir-1")
	x := b.builder(b.ws, "builder-pir-1")
	o := b.o
	o.Homes = []string{a.Home(), b.Home()}
	sources, err := Sources(o)
	if err != nil || len(sources) != 2 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	for _, s := range sources {
		p, err := s.Reader.Read(t.Context())
		switch {
		case s.Path == a.Home() && (err == nil || !strings.Contains(err.Error(), "refuses the key") || len(p.Terminals) != 1):
			t.Errorf("the one whose Tower it is not gave %v, %+v", err, p.Terminals)
		case s.Path == b.Home() && (err != nil || len(p.Terminals) != 1 || p.Terminals[ID(s.Name, x.ID)].Source != s.Name):
			t.Errorf("the one whose Tower it is gave %v, %+v", err, p.Terminals)
		}
	}
	// One key for all does not make it the Tower of all.
	b.env["CODEV_TOWER_KEY"] = b.Key()
	a.o.Tower, a.env["CODEV_TOWER_KEY"] = b.URL(), b.Key()
	if _, err := a.try(t.Context()); err == nil || !strings.Contains(err.Error(), "lists none of the terminals that "+a.Home()) {
		t.Errorf("gave %v", err)
	}
	b.read()
}

// Two development servers of which the Tower says that they are one process have none that is positively theirs.
func TestContestedProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	a := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-1", Dev: true})
	b := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-2", Dev: true})
	f.SetPID(b.ID, a.PID)
	p := f.read()
	for _, id := range []string{a.ID, b.ID} {
		if x := f.only(p, id); x.PID != nil || !strings.Contains(*x.Error, "is unknown") {
			t.Errorf("gave %s: %s", says(x), *x.Error)
		}
	}
	x := f.builder(f.ws, "builder-pir-3")
	f.SetPID(b.ID, x.PID)
	p = f.read()
	if f.only(p, x.ID).PID == nil || f.only(p, b.ID).PID != nil {
		t.Errorf("the one with a row: %s, the other: %s", says(f.only(p, x.ID)), says(f.only(p, b.ID)))
	}
}

// What a shellper's command line says of its owner.
func TestWhoseShellper(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	home, run := filepath.Join(root, "farm"), filepath.Join(root, "run")
	own := client.Command{Known: true, Shellper: true, Socket: filepath.Join(run, "shellper-1.sock")}
	with := func(change func(*client.Command)) client.Command {
		c := own
		change(&c)
		return c
	}
	other := filepath.Join(root, "other")
	for name, tc := range map[string]struct {
		client.Command
		others []string
		want   string
	}{
		"its own":                            {own, nil, "shellper !listed !recorded scoped pid"},
		"started for this folder":            {with(func(c *client.Command) { c.Farm = home }), []string{other}, "shellper !listed !recorded scoped pid"},
		"started for another":                {with(func(c *client.Command) { c.Farm = other }), nil, ""},
		"an architect's":                     {with(func(c *client.Command) { c.Architect = "main" }), nil, "architect main !listed !recorded scoped pid"},
		"another program":                    {with(func(c *client.Command) { c.Shellper = false }), nil, ""},
		"not understood":                     {with(func(c *client.Command) { c.Known = false }), nil, ""},
		"without a socket":                   {with(func(c *client.Command) { c.Socket = "" }), nil, ""},
		"in a folder below":                  {with(func(c *client.Command) { c.Socket = filepath.Join(run, "x", "s.sock") }), nil, ""},
		"another folder may have it as well": {own, []string{other}, "!listed !recorded pid"},
	} {
		me := must.Get(client.Look("/proc", os.Getpid()))(t)
		me.Command = tc.Command
		r := newReader(Options{Env: func(k string) string { return map[string]string{"SHELLPER_SOCKET_DIR": run}[k] }}, "codev/x", home, "", append(tc.others, home))
		j := newJoin(r, &world{Records: &client.Records{SessionsWhole: true, BuildersWhole: true}, answered: true, running: []*client.Process{me}})
		got := ""
		for _, x := range j.terminals(t.Context()) {
			got = says(*x)
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
