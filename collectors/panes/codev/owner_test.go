package codev

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	client "github.com/winnow-reaper/winnow/internal/sys/tower"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/tower"
)

const week = 7 * 24 * time.Hour

func TestOwners(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ago := func(h int) time.Time { return at.Add(-time.Duration(h) * time.Hour) }
	uuid := func(name string) string {
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", []byte(name)[:min(6, len(name))])
	}
	terminal := func(source, name, builder string, recorded *bool) snapshot.Terminal {
		return snapshot.Terminal{Source: source, ID: uuid(name), RoleKind: client.KindBuilder, Workspace: "/w", Listed: new(true),
			Owner: &snapshot.TerminalOwner{ID: builder, Recorded: recorded, Worktree: "/w/.builders/x"}}
	}
	change := func(x snapshot.Terminal, f func(*snapshot.Terminal)) snapshot.Terminal { f(&x); return x }
	s := &snapshot.Snapshot{TakenAt: at, Host: snapshot.Host{BootID: "b"}, Terminals: map[string]snapshot.Terminal{}, Sources: map[string]snapshot.Source{
		"codev/a": {Status: snapshot.OK}, "codev/b": {Status: snapshot.Failed}, "codev/c": {Status: snapshot.Absent}, snapshot.Proc: {Status: snapshot.OK}}}
	for _, x := range []snapshot.Terminal{
		terminal("codev/a", "new", "builder-1", new(true)), terminal("codev/a", "known", "builder-2", new(true)),
		terminal("codev/a", "gone", "builder-3", new(false)), terminal("codev/a", "unsure", "builder-4", nil),
		terminal("codev/a", "newly", "builder-6", new(false)), terminal("codev/a", "another", "builder-5", new(true)),
		change(terminal("codev/a", "nobody", "", nil), func(x *snapshot.Terminal) { x.Owner = nil }),
		change(terminal("codev/a", "bare", "builder-8", new(true)), func(x *snapshot.Terminal) { x.Owner.Worktree = "" }),
		change(terminal("codev/a", "thin", "builder-8", new(false)), func(x *snapshot.Terminal) { x.Owner.Worktree = "" }),
		change(terminal("codev/a", "homele", "builder-9", new(true)), func(x *snapshot.Terminal) { x.Workspace = "" }),
		change(terminal("codev/a", "dev", "builder-9", new(false)), func(x *snapshot.Terminal) {
			x.RoleKind, x.PID, x.StartTicks = client.KindDev, new(7), new(uint64(70))
		}),
		change(terminal("codev/a", "pid", "builder-9", new(false)), func(x *snapshot.Terminal) { x.ID = "pid-7" }),
		terminal("codev/b", "new", "builder-6", new(true)), terminal("codev/b", "known", "builder-7", new(true)),
	} {
		s.Terminals[ID(x.Source, x.ID)] = x
	}
	owner := func(source, name, builder string, first, last int) snapshot.Owner {
		return snapshot.Owner{Source: source, Terminal: uuid(name), Workspace: "/w", Builder: builder, Worktree: "/w/.builders/x", Kind: client.KindBuilder,
			FirstAt: ago(first), LastAt: ago(last)}
	}
	rowed := func(o snapshot.Owner, h int) snapshot.Owner { o.RowAt = new(ago(h)); return o }
	prev := []snapshot.Owner{
		owner("codev/c", "x", "builder-0", 9, 8), owner("codev/b", "known", "builder-7", 9, 8), owner("codev/b", "away", "builder-7", 9, 8),
		owner("codev/a", "known", "builder-2", 9, 8), rowed(owner("codev/a", "gone", "builder-3", 9, 8), 8), owner("codev/a", "unsure", "builder-4", 9, 8),
		owner("codev/a", "another", "builder-0", 9, 8), owner("codev/a", "away", "builder-2", 9, 8), owner("codev/a", "bare", "builder-8", 9, 8),
		owner("codev/off", "x", "builder-0", 9, 8),
	}
	before := append([]snapshot.Owner{}, prev...)
	bare := rowed(owner("codev/a", "bare", "builder-8", 9, 0), 0)
	dev := owner("codev/a", "dev", "builder-9", 0, 0)
	dev.Kind, dev.BootID, dev.PID, dev.StartTicks = client.KindDev, "b", 7, 70
	want := []snapshot.Owner{
		rowed(owner("codev/a", "another", "builder-5", 0, 0), 0), owner("codev/a", "away", "builder-2", 9, 8), bare, dev,
		rowed(owner("codev/a", "gone", "builder-3", 9, 0), 8), rowed(owner("codev/a", "known", "builder-2", 9, 0), 0),
		rowed(owner("codev/a", "new", "builder-1", 0, 0), 0), owner("codev/a", "newly", "builder-6", 0, 0), owner("codev/a", "unsure", "builder-4", 9, 0),
		owner("codev/b", "away", "builder-7", 9, 8), owner("codev/b", "known", "builder-7", 9, 0), owner("codev/c", "x", "builder-0", 9, 8),
		owner("codev/off", "x", "builder-0", 9, 8),
	}
	slices.SortFunc(want, func(a, b snapshot.Owner) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Terminal, b.Terminal))
	})
	if d := gocmp.Diff(want, Owners(s, prev, week)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !reflect.DeepEqual(prev, before) {
		t.Error("what was remembered has changed")
	}
	if got := Owners(s, Owners(s, prev, week), week); !reflect.DeepEqual(got, Owners(s, prev, week)) {
		t.Error("remembering it twice is another thing")
	}
}

// What was known is remembered until it is positively otherwise.
func TestWhatIsForgotten(t *testing.T) {
	t.Parallel()
	const id, other = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mine := func(s *snapshot.Snapshot, f func(*snapshot.Terminal)) {
		x := snapshot.Terminal{Source: "codev/a", ID: id}
		f(&x)
		s.Terminals[ID(x.Source, x.ID)] = x
	}
	for name, tc := range map[string]struct {
		change func(s *snapshot.Snapshot, o *snapshot.Owner)
		keeps  bool
	}{
		"neither listed nor on record, and its process has ended": {func(*snapshot.Snapshot, *snapshot.Owner) {}, false},
		"its process lives":           {func(s *snapshot.Snapshot, _ *snapshot.Owner) { s.Processes["process:7@70"] = &snapshot.Process{} }, true},
		"another process has its pid": {func(s *snapshot.Snapshot, _ *snapshot.Owner) { s.Processes["process:7@71"] = &snapshot.Process{} }, false},
		"another boot's process is like its own": {func(s *snapshot.Snapshot, o *snapshot.Owner) {
			o.BootID, s.Processes["process:7@70"] = "earlier", &snapshot.Process{}
		}, false},
		"its process is not known": {func(_ *snapshot.Snapshot, o *snapshot.Owner) { o.PID, o.BootID = 0, "" }, true},
		"this boot is not known":   {func(s *snapshot.Snapshot, _ *snapshot.Owner) { s.Host.BootID = "" }, true},
		"the processes were not read whole": {func(s *snapshot.Snapshot, _ *snapshot.Owner) {
			s.Sources[snapshot.Proc] = snapshot.Source{Status: snapshot.Failed}
		}, true},
		"the Tower lists nothing": {func(s *snapshot.Snapshot, _ *snapshot.Owner) { clear(s.Terminals) }, true},
		"the source was not read whole": {func(s *snapshot.Snapshot, _ *snapshot.Owner) {
			s.Sources["codev/a"] = snapshot.Source{Status: snapshot.Failed}
		}, true},
		"there is no such source any more": {func(s *snapshot.Snapshot, _ *snapshot.Owner) { delete(s.Sources, "codev/a") }, true},
		"it was last seen longer ago than that": {func(s *snapshot.Snapshot, o *snapshot.Owner) {
			o.LastAt = at.Add(-week - time.Second)
			delete(s.Sources, "codev/a")
		}, false},
		"its process lives, however long ago it was seen": {func(s *snapshot.Snapshot, o *snapshot.Owner) {
			o.LastAt, s.Processes["process:7@70"] = at.Add(-9*week), &snapshot.Process{}
		}, true},
		"it is there, and its owner is not known": {func(s *snapshot.Snapshot, o *snapshot.Owner) {
			o.LastAt = at.Add(-9 * week)
			mine(s, func(*snapshot.Terminal) {})
		}, true},
		"it is a shell's": {func(s *snapshot.Snapshot, _ *snapshot.Owner) {
			mine(s, func(x *snapshot.Terminal) { x.RoleKind = client.KindShell })
		}, false},
		"it is an architect's": {func(s *snapshot.Snapshot, _ *snapshot.Owner) {
			mine(s, func(x *snapshot.Terminal) { x.RoleKind = client.KindArchitect })
		}, false},
		"it is another builder's": {func(s *snapshot.Snapshot, _ *snapshot.Owner) {
			mine(s, func(x *snapshot.Terminal) { x.Owner = &snapshot.TerminalOwner{ID: "builder-pir-8"} })
		}, false},
		"it is that of the same builder of another workspace": {func(s *snapshot.Snapshot, _ *snapshot.Owner) {
			mine(s, func(x *snapshot.Terminal) { x.Workspace, x.Owner = "/v", &snapshot.TerminalOwner{ID: "builder-pir-7"} })
		}, false},
	} {
		s := &snapshot.Snapshot{TakenAt: at, Host: snapshot.Host{BootID: "b"}, Processes: map[string]*snapshot.Process{},
			Sources:   map[string]snapshot.Source{"codev/a": {Status: snapshot.OK}, snapshot.Proc: {Status: snapshot.OK}},
			Terminals: map[string]snapshot.Terminal{ID("codev/a", other): {Source: "codev/a", ID: other, Listed: new(true)}}}
		o := snapshot.Owner{Source: "codev/a", Terminal: id, Workspace: "/w", Builder: "builder-pir-7", Worktree: "/w/.builders/pir-7", Kind: client.KindDev,
			BootID: "b", PID: 7, StartTicks: 70, FirstAt: at.Add(-time.Hour), LastAt: at.Add(-time.Minute)}
		tc.change(s, &o)
		if got := Owners(s, []snapshot.Owner{o}, week); (len(got) == 1) != tc.keeps {
			t.Errorf("%s: remembers %+v", name, got)
		}
	}
}

// A builder that was seen before is cleaned up: its terminal and its development server are known to be its, also when looks were missed meanwhile.
func TestMemoryOfACleanup(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	x := f.builder(f.ws, "builder-pir-7")
	dev := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true})
	remember := func() {
		t.Helper()
		p, err := f.try(t.Context())
		s := &snapshot.Snapshot{TakenAt: time.Now(), Terminals: p.Terminals, Sources: map[string]snapshot.Source{"codev/home": {Status: snapshot.OK}}}
		if err != nil {
			s.Sources["codev/home"] = snapshot.Source{Status: snapshot.Failed}
		}
		f.o.Known = Owners(s, f.o.Known, week)
		if len(f.o.Known) != 2 {
			t.Errorf("remembers %+v", f.o.Known)
		}
	}
	remember()
	f.Fault(func(int, tower.Call) tower.Fault { return tower.Garbage })
	remember()
	f.RemoveBuilder(f.ws, "builder-pir-7")
	must.Do(t, os.RemoveAll(f.worktree(f.ws, "builder-pir-7")))
	f.Exec("DELETE FROM terminal_sessions")
	f.Fault(nil)
	remember()
	remember()
	p := f.read()
	f.want(p, map[string]string{
		x.ID:   "builder builder-pir-7 running listed !recorded scoped pid | memory builder-pir-7 !recorded gone",
		dev.ID: "dev builder-pir-7 running listed !recorded scoped pid | label builder-pir-7 !recorded gone",
	})
	if o := f.only(p, dev.ID).Owner; o.SeenAt == nil {
		t.Errorf("gave %+v", o)
	}
}

// The first look came after the cleanup, and all that says where the builder worked is its own terminal's row. That row goes with its terminal;
// the development server's owner is known on, also after a look at which the Tower said nothing.
func TestFirstLookAfterTheCleanup(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	x := f.builder(f.ws, "builder-pir-7")
	dev := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true, Cwd: t.TempDir()})
	f.RemoveBuilder(f.ws, "builder-pir-7")
	must.Do(t, os.RemoveAll(f.worktree(f.ws, "builder-pir-7")))
	remember := func() {
		t.Helper()
		s := &snapshot.Snapshot{TakenAt: time.Now(), Terminals: f.read().Terminals, Sources: map[string]snapshot.Source{"codev/home": {Status: snapshot.OK}}}
		f.o.Known = Owners(s, f.o.Known, week)
	}
	const over = "dev builder-pir-7 running listed !recorded scoped pid | label builder-pir-7 !recorded gone"
	if got := says(f.only(f.read(), dev.ID)); got != over {
		t.Fatalf("the server: %s", got)
	}
	f.Exec("DELETE FROM terminal_sessions WHERE id = ?", x.ID)
	if got := says(f.only(f.read(), dev.ID)); got == over {
		t.Fatalf("the server is known without memory too: %s", got)
	}
	f.Exec(`INSERT INTO terminal_sessions (id, workspace_path, type, role_id, cwd) VALUES (?, ?, 'builder', 'builder-pir-7', ?)`, x.ID, f.ws, f.worktree(f.ws, "builder-pir-7"))
	remember()
	f.Exec("DELETE FROM terminal_sessions WHERE id = ?", x.ID)
	f.Fault(func(_ int, c tower.Call) tower.Fault {
		if c.Path == "/api/terminals" {
			return tower.Status(200, `{"terminals":[]}`)
		}
		return tower.Fault{}
	})
	remember()
	f.Fault(nil)
	if got := f.only(f.read(), dev.ID); says(got) != over || got.Workspace != f.ws {
		t.Errorf("the server: %s", says(got))
	}
}

// A Tower that was started again knows no development server any more. One that an earlier look saw is known by its very process.
func TestServerThatTheTowerLost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tower.Options{})
	f.builder(f.ws, "builder-pir-7")
	dev := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true})
	other := f.Terminal(f.ws, tower.Terminal{RoleID: "builder-pir-7", Dev: true})
	boot, _ := proc.BootID("/proc")
	s := &snapshot.Snapshot{TakenAt: time.Now(), Host: snapshot.Host{BootID: boot}, Terminals: f.read().Terminals,
		Sources: map[string]snapshot.Source{"codev/home": {Status: snapshot.OK}}}
	f.o.Known = slices.DeleteFunc(Owners(s, nil, week), func(o snapshot.Owner) bool { return o.Terminal == other.ID })
	if len(f.o.Known) != 2 || boot == "" {
		t.Fatalf("boot %q, remembers %+v", boot, f.o.Known)
	}
	f.RemoveBuilder(f.ws, "builder-pir-7")
	must.Do(t, os.RemoveAll(f.worktree(f.ws, "builder-pir-7")))
	f.Restart()
	lost := func() snapshot.Terminal { t.Helper(); return f.only(f.read(), strayID(dev.PID)) }
	const gone = "dev builder-pir-7 !listed !recorded scoped pid | memory builder-pir-7 !recorded gone"
	const stranger = "shellper !listed !recorded scoped pid | folder builder-pir-7 !recorded gone"
	if x := lost(); says(x) != gone || x.Workspace != f.ws || x.Owner.Worktree != f.worktree(f.ws, "builder-pir-7") || x.Owner.SeenAt == nil {
		t.Errorf("the server: %s, %+v", says(x), x.Owner)
	}
	if x := f.only(f.read(), strayID(other.PID)); says(x) != stranger {
		t.Errorf("one that no look saw: %s", says(x))
	}
	whole := f.o.Known
	for name, change := range map[string]func(*snapshot.Owner){
		"another process had the pid": func(o *snapshot.Owner) { o.StartTicks++ },
		"it was seen in another boot": func(o *snapshot.Owner) { o.BootID = "another" },
		"in which boot is not known":  func(o *snapshot.Owner) { o.BootID = "" },
		"another state folder had it": func(o *snapshot.Owner) { o.Source = "codev/another" },
		"its process was never known": func(o *snapshot.Owner) { o.PID, o.StartTicks, o.BootID = 0, 0, "" },
		"its workspace was another's": func(o *snapshot.Owner) { o.Workspace = "/elsewhere" },
	} {
		f.o.Known = slices.Clone(whole)
		for i := range f.o.Known {
			change(&f.o.Known[i])
		}
		want := stranger
		if strings.HasPrefix(name, "its workspace") { // where it was started outweighs that, and says the rest
			want = gone
		}
		if x := lost(); says(x) != want || want == gone && x.Owner.SeenAt != nil {
			t.Errorf("%s: %s", name, says(x))
		}
	}
	f.o.Known = whole
	f.Builder(f.ws, tower.Builder{ID: "builder-pir-7"})
	if x := lost(); says(x) != "dev builder-pir-7 !listed !recorded scoped pid | memory builder-pir-7 recorded gone" {
		t.Errorf("its builder is there: %s", says(x))
	}
	f.Fault(func(int, tower.Call) tower.Fault { return tower.Garbage })
	p, err := f.try(t.Context())
	if x := f.only(p, strayID(dev.PID)); err == nil || says(x) != "!recorded scoped pid" {
		t.Errorf("the Tower did not say what it lists: %s, %v", says(x), err)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	root := client.Resolved(t.TempDir())
	me, set, third, twin, file := filepath.Join(root, "me"), filepath.Join(root, "set"), filepath.Join(root, "x", "farm"), filepath.Join(root, "y", "farm"), filepath.Join(root, "file")
	calm := filepath.Join(root, "default")
	for _, dir := range []string{filepath.Join(me, usual), set, third, twin, calm} {
		must.Do(t, os.MkdirAll(dir, 0o755))
	}
	must.Do(t, os.WriteFile(file, nil, 0o644))
	must.Do(t, os.Symlink(set, filepath.Join(root, "link")))
	env := func(dir string) func(string) string {
		return func(k string) string { return map[string]string{"CODEV_AGENT_FARM_DIR": dir}[k] }
	}
	list := func(o Options) map[string]string {
		t.Helper()
		if o.Home == "" {
			o.Home = me
		}
		sources, err := Sources(o)
		must.Do(t, err)
		stores, err := Stores(o)
		must.Do(t, err)
		got := map[string]string{}
		for i, s := range sources {
			got[s.Name] = s.Path
			if s.Kind != Kind || stores[i] != filepath.Join(s.Path, client.StoreFile) {
				t.Errorf("%+v and %s", s, stores[i])
			}
		}
		return got
	}
	usualPath := filepath.Join(me, usual)
	for name, tc := range map[string]struct {
		o    Options
		want map[string]string
	}{
		"auto":                     {Options{Homes: []string{auto}}, map[string]string{"codev/default": usualPath}},
		"off":                      {Options{}, map[string]string{}},
		"auto with one set":        {Options{Homes: []string{auto}, Env: env(set)}, map[string]string{"codev/default": usualPath, "codev/set": set}},
		"auto with the usual set":  {Options{Homes: []string{auto, usualPath}, Env: env(usualPath)}, map[string]string{"codev/default": usualPath}},
		"the same through a link":  {Options{Homes: []string{set, root + "/link"}}, map[string]string{"codev/set": set}},
		"what is not there":        {Options{Homes: []string{auto}, Home: root, Env: env(root + "/none")}, map[string]string{}},
		"named default, elsewhere": {Options{Homes: []string{calm}}, map[string]string{"codev/" + suffixed("default", calm): calm}},
		"two of one name": {Options{Homes: []string{third, twin}},
			map[string]string{"codev/" + suffixed("farm", third): third, "codev/" + suffixed("farm", twin): twin}},
	} {
		if d := gocmp.Diff(tc.want, list(tc.o)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	for _, none := range []string{root + "/none", file, file + "/x"} {
		o := Options{Homes: []string{none, none, auto, set}, Home: root}
		sources, err := Sources(o)
		must.Do(t, err)
		if len(sources) != 2 {
			t.Fatalf("%s gave %+v", none, sources)
		}
		i := slices.IndexFunc(sources, func(s collectors.Source) bool { return s.Path == none })
		if _, err := sources[i].Reader.Read(t.Context()); err == nil || isAbsent(err) || !strings.Contains(err.Error(), none+": no such folder; correct") {
			t.Errorf("%s gave %v", none, err)
		}
		if stores, err := Stores(o); err != nil || len(stores) != 1 {
			t.Errorf("%s has a store: %v, %v", none, stores, err)
		}
	}
	for _, bad := range []string{"", "farm", "~/farm", "AUTO"} {
		if _, err := Sources(Options{Homes: []string{bad}}); err == nil {
			t.Errorf("%q is taken", bad)
		}
		if _, err := Stores(Options{Homes: []string{bad}}); err == nil {
			t.Errorf("%q is taken for a store", bad)
		}
	}
}

func suffixed(name, path string) string { return name + "~" + collectors.Short(path) }

// BenchmarkRead is one look at a Tower with ten builders.
func BenchmarkRead(b *testing.B) {
	s := tower.Start(b, tower.Options{})
	ws := s.Workspace(b.TempDir())
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		s.Builder(ws, tower.Builder{ID: "builder-pir-" + id})
		s.Terminal(ws, tower.Terminal{RoleID: "builder-pir-" + id})
	}
	sources, err := Sources(Options{Homes: []string{s.Home()}, Tower: s.URL(), Env: func(k string) string { return map[string]string{"SHELLPER_SOCKET_DIR": s.SocketDir()}[k] }})
	if err != nil {
		b.Fatal(err)
	}
	var p collectors.Part
	for b.Loop() {
		if p, err = sources[0].Reader.Read(b.Context()); err != nil || len(p.Terminals) != 10 {
			b.Fatalf("%d terminals, %v", len(p.Terminals), err)
		}
	}
}
