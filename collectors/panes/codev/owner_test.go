package codev

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"winnow/collectors"
	"winnow/engine/snapshot"
	"winnow/testkit/tower"
)

func TestOwners(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ago := func(h int) time.Time { return at.Add(-time.Duration(h) * time.Hour) }
	terminal := func(source, id, builder string, recorded *bool) snapshot.Terminal {
		return snapshot.Terminal{Source: source, ID: id, Workspace: "/w", Owner: &snapshot.TerminalOwner{ID: builder, Recorded: recorded, Worktree: "/w/.builders/x"}}
	}
	s := &snapshot.Snapshot{TakenAt: at, Sources: map[string]snapshot.Source{"codev/a": {Status: snapshot.OK}, "codev/b": {Status: snapshot.Failed},
		"codev/c": {Status: snapshot.Absent}}, Terminals: map[string]snapshot.Terminal{}}
	bare := terminal("codev/a", "bare", "builder-8", new(true))
	bare.Owner.Worktree = ""
	homeless := terminal("codev/a", "homeless", "builder-9", new(true))
	homeless.Workspace = ""
	for _, x := range []snapshot.Terminal{
		terminal("codev/a", "new", "builder-1", new(true)), terminal("codev/a", "known", "builder-2", new(true)),
		terminal("codev/a", "gone", "builder-3", new(false)), terminal("codev/a", "unsure", "builder-4", nil),
		terminal("codev/a", "another", "builder-5", new(true)), {Source: "codev/a", ID: "nobody's"}, bare, homeless,
		terminal("codev/b", "new", "builder-6", new(true)), terminal("codev/b", "known", "builder-7", new(true)),
	} {
		s.Terminals[ID(x.Source, x.ID)] = x
	}
	owner := func(source, id, builder string, first, last int) snapshot.Owner {
		return snapshot.Owner{Source: source, Terminal: id, Workspace: "/w", Builder: builder, Worktree: "/w/.builders/x", FirstAt: ago(first), LastAt: ago(last)}
	}
	prev := []snapshot.Owner{
		owner("codev/c", "x", "builder-0", 9, 8), owner("codev/b", "known", "builder-7", 9, 8), owner("codev/b", "away", "builder-7", 9, 8),
		owner("codev/a", "known", "builder-2", 9, 8), owner("codev/a", "gone", "builder-3", 9, 8), owner("codev/a", "unsure", "builder-4", 9, 8),
		owner("codev/a", "another", "builder-0", 9, 8), owner("codev/a", "away", "builder-2", 9, 8), owner("codev/a", "bare", "builder-8", 9, 8),
		owner("codev/off", "x", "builder-0", 9, 8),
	}
	before := append([]snapshot.Owner{}, prev...)
	want := []snapshot.Owner{
		owner("codev/a", "another", "builder-5", 0, 0), owner("codev/a", "bare", "builder-8", 9, 0), owner("codev/a", "gone", "builder-3", 9, 8),
		owner("codev/a", "known", "builder-2", 9, 0), owner("codev/a", "new", "builder-1", 0, 0), owner("codev/a", "unsure", "builder-4", 9, 8),
		owner("codev/b", "away", "builder-7", 9, 8), owner("codev/b", "known", "builder-7", 9, 8), owner("codev/c", "x", "builder-0", 9, 8),
		owner("codev/off", "x", "builder-0", 9, 8),
	}
	if d := cmp.Diff(want, Owners(s, prev)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !reflect.DeepEqual(prev, before) {
		t.Error("what was remembered has changed")
	}
	if got := Owners(s, Owners(s, prev)); !reflect.DeepEqual(got, Owners(s, prev)) {
		t.Error("remembering it twice is another thing")
	}
}

// A builder that was seen before is cleaned up: its terminal and its development server are known to be its, whatever was missed meanwhile.
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
		f.o.Known = Owners(s, f.o.Known)
		if len(f.o.Known) != 2 {
			t.Errorf("remembers %+v", f.o.Known)
		}
	}
	remember()
	f.Fault(func(int, tower.Call) tower.Fault { return tower.Garbage })
	remember()
	f.RemoveBuilder(f.ws, "builder-pir-7")
	if err := os.RemoveAll(f.worktree(f.ws, "builder-pir-7")); err != nil {
		t.Fatal(err)
	}
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

func TestSources(t *testing.T) {
	t.Parallel()
	root := resolved(t.TempDir())
	me, set, third, twin, file := filepath.Join(root, "me"), filepath.Join(root, "set"), filepath.Join(root, "x", "farm"), filepath.Join(root, "y", "farm"), filepath.Join(root, "file")
	calm := filepath.Join(root, "default")
	for _, dir := range []string{filepath.Join(me, usual), set, third, twin, calm} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	must(t, os.WriteFile(file, nil, 0o644))
	must(t, os.Symlink(set, filepath.Join(root, "link")))
	env := func(dir string) func(string) string {
		return func(k string) string { return map[string]string{"CODEV_AGENT_FARM_DIR": dir}[k] }
	}
	list := func(o Options) map[string]string {
		t.Helper()
		if o.Home == "" {
			o.Home = me
		}
		sources, err := Sources(o)
		must(t, err)
		stores, err := Stores(o)
		must(t, err)
		got := map[string]string{}
		for i, s := range sources {
			got[s.Name] = s.Path
			if s.Kind != Kind || stores[i] != filepath.Join(s.Path, storeFile) {
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
		if d := cmp.Diff(tc.want, list(tc.o)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	for _, none := range []string{root + "/none", file, file + "/x"} {
		o := Options{Homes: []string{none, none, auto, set}, Home: root}
		sources, err := Sources(o)
		must(t, err)
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

func suffixed(name, path string) string {
	return names([]string{path, filepath.Join(filepath.Dir(filepath.Dir(path)), "z", name)}, "")[path][len(Kind)+1:]
}

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
