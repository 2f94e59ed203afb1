package subject_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// ties are the records of a subject, each with what ties it.
func ties(sub *subject.Subject) []string {
	out := []string{}
	for _, s := range sub.Spawns {
		out = append(out, s.ID+" "+s.By)
	}
	for _, e := range sub.Entries {
		out = append(out, e.ID+" "+e.By)
	}
	return out
}

func TestRecordsOfASession(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Sessions["session:tmux/default/$4"] = snapshot.Session{
			Source: "tmux/default", ID: "$4", Name: "work", Panes: []snapshot.Pane{{Cwd: "/w/acme/src"}, {Cwd: "/home/u/"}},
		}
		for i, p := range []string{"/w/acme", "/w/acme/src/deep", "/w/acm", "/home/u", "/w/./acme/", "relative", ""} {
			s.Spawns = append(s.Spawns, snapshot.Spawn{ID: fmt.Sprint("s", i), Path: p})
		}
		s.Spawns = append(s.Spawns, snapshot.Spawn{ID: "named", Session: "work", Path: "/w/acme"})
		for i, n := range []string{"work", "$4", "wor", "", "=work"} {
			s.Registry = append(s.Registry, snapshot.Entry{ID: fmt.Sprint("e", i), Session: n})
		}
		s.Registry = append(s.Registry, snapshot.Entry{ID: "path", Path: "/"})
	})
	want := []string{"s0 path", "s3 path", "s4 path", "named session", "e0 session", "e1 session", "path path"}
	same(t, "ties", want, ties(of(t, s, "session:tmux/default/$4")))
}

// A name that two servers' sessions bear does not say which of them an entry means; the tie stays, for the rules that keep by it.
func TestAnEntryOfSeveralSessionsIsShared(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Sessions["session:tmux/default/$1"] = snapshot.Session{Source: "tmux/default", ID: "$1", Name: "work"}
		s.Sessions["session:tmux/other/$2"] = snapshot.Session{Source: "tmux/other", ID: "$2", Name: "work"}
		s.Sessions["session:tmux/other/$3"] = snapshot.Session{Source: "tmux/other", ID: "$3", Name: "$3"}
		s.Registry = []snapshot.Entry{{ID: "name", Session: "work"}, {ID: "id", Session: "$1"}, {ID: "own", Session: "$3"}}
	})
	shared := func(id string) map[string]*bool {
		out := map[string]*bool{}
		for _, e := range of(t, s, id).Entries {
			out[e.ID] = e.Shared
		}
		return out
	}
	same(t, "one", map[string]*bool{"name": new(true), "id": new(false)}, shared("session:tmux/default/$1"))
	same(t, "other", map[string]*bool{"name": new(true)}, shared("session:tmux/other/$2"))
	same(t, "a name like an id", map[string]*bool{"own": new(false)}, shared("session:tmux/other/$3"))
	s.Sessions["session:tmux/other/$4"] = snapshot.Session{Source: "tmux/other", ID: "$4"}
	same(t, "one of unknown name", map[string]*bool{"own": new(true)}, shared("session:tmux/other/$3"))
}

func TestRecordsOfAFolder(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Dirs["dir:/w/acme"] = snapshot.Dir{Path: "/w/acme"}
		s.Dirs["dir:/w/acme/inner"] = snapshot.Dir{Path: "/w/acme/inner"}
		for i, p := range []string{"/w/acme", "/w/acme/inner/x", "/w/acme2", "/w", "/w/other/../acme/y"} {
			s.Registry = append(s.Registry, snapshot.Entry{
				Source: "registry/r", ID: fmt.Sprint("e", i), Path: p, Status: "running", Terminal: new(false), StartedAt: ago(9), EndedAt: ago(4),
			})
		}
		s.Spawns = []snapshot.Spawn{{Source: "spawns/s", ID: "sp", Kind: "review", Path: "/w/acme", SpawnedAt: ago(7), CompletedAt: ago(6)}}
	})
	outer, inner := of(t, s, "dir:/w/acme"), of(t, s, "dir:/w/acme/inner")
	same(t, "outer", []string{"sp path", "e0 path", "e1 path", "e4 path"}, ties(outer))
	same(t, "inner", []string{"e1 path"}, ties(inner))
	same(t, "entry", subject.Entry{
		Source: "registry/r", ID: "e0", Status: "running", Terminal: new(false), Path: "/w/acme", By: "path", Started: new(9.0), Ended: new(4.0),
	}, outer.Entries[0])
	same(t, "spawn", subject.Spawn{
		Source: "spawns/s", ID: "sp", Kind: "review", Path: "/w/acme", By: "path", Age: new(7.0), Completed: new(6.0),
	}, outer.Spawns[0])
}

func TestRecordsOfAProcess(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Processes["process:7@70"] = &snapshot.Process{
			PID: 7, StartTicks: 70, StartedAt: ago(100), Cwd: new("/w/acme (deleted)"), CwdDeleted: new(true),
			Markers: &map[string]string{"AGENT_SESSION": "s1", "EMPTY": ""},
		}
		s.Processes["process:8@80"] = &snapshot.Process{PID: 8, StartTicks: 80}
		s.Registry = []snapshot.Entry{
			{ID: "marker", Marker: "s1"}, {ID: "other", Marker: "s2"}, {ID: "no marker"},
			{ID: "pid", PID: new(7)}, {ID: "before", PID: new(7), EndedAt: ago(200)}, {ID: "since", PID: new(7), StartedAt: ago(10), EndedAt: ago(5)},
			{ID: "both", PID: new(7), Marker: "s1", Path: "/w"}, {ID: "path", Path: "/w/acme"}, {ID: "eight", PID: new(8), EndedAt: ago(1)},
		}
	})
	same(t, "marker", subject.Entry{ID: "marker", Marker: "s1", By: "marker"}, of(t, s, "process:7@70").Entries[0])
	same(t, "7", []string{"marker marker", "pid pid", "since pid", "both marker", "path path"}, ties(of(t, s, "process:7@70")))
	same(t, "8, whose start is not known", []string{"eight pid"}, ties(of(t, s, "process:8@80")))
}

// The folders of its shells give a tab no owner; only a record that names it does.
func TestRecordsOfATab(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Tabs["tab:herdr/default/w1:t1"] = snapshot.Tab{
			Source: "herdr/default", ID: "w1:t1", Label: "review 7", Panes: []snapshot.Pane{{Cwd: "/w/a", Terminal: "term_1"}, {Terminal: "term_2"}},
		}
		s.Spawns = []snapshot.Spawn{{ID: "path", Path: "/w/a"}, {ID: "label", Label: "review 7"}, {ID: "other", Label: "review"}}
		s.Registry = []snapshot.Entry{
			{ID: "path", Path: "/w/a"}, {ID: "pane", Pane: "term_2"}, {ID: "pane here", Pane: "term_2", Server: "default"},
			{ID: "pane there", Pane: "term_2", Server: "other"}, {ID: "tab", Tab: "w1:t1", Server: "default"},
			{ID: "tab there", Tab: "w1:t1", Server: "other"}, {ID: "other", Pane: "term_3", Tab: "w1:t2"},
		}
	})
	same(t, "ties", []string{"label label", "pane pane", "pane here pane", "tab tab"}, ties(of(t, s, "tab:herdr/default/w1:t1")))
	bare := look(func(s *snapshot.Snapshot) {
		s.Tabs["tab:herdr/default/w1:t1"] = snapshot.Tab{Source: "herdr/default", Panes: []snapshot.Pane{{}}}
		s.Spawns, s.Registry = []snapshot.Spawn{{ID: "s", Path: "/w"}}, []snapshot.Entry{{ID: "e"}}
	})
	same(t, "an empty name ties to nothing", []string{}, ties(of(t, bare, "tab:herdr/default/w1:t1")))
}

// A terminal's owner is a fact of the terminal; a record of who works where does not give it.
func TestRecordsOfATerminal(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Terminals["terminal:codev/default/x"] = snapshot.Terminal{Cwd: "/w/b"}
		s.Registry = []snapshot.Entry{{ID: "b", Path: "/w/b"}, {ID: "w", Path: "/w"}}
	})
	same(t, "terminal", []string{}, ties(of(t, s, "terminal:codev/default/x")))
}

func TestOwnersOfSpawns(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Dirs["dir:/w/a"] = snapshot.Dir{Path: "/w/a"}
		s.Spawns = []snapshot.Spawn{{ID: "1", Path: "/w/a", Owner: "task"}, {ID: "2", Path: "/w/a"}, {ID: "3", Path: "/w/b", Owner: "elsewhere"}}
		s.Registry = []snapshot.Entry{
			{Source: "r", ID: "task", Path: "/w/c"}, {Source: "q", ID: "task"}, {ID: "elsewhere"}, {ID: "here", Path: "/w/a"},
		}
	})
	same(t, "ties", []string{"1 path", "2 path", "task spawn", "task spawn", "here path"}, ties(of(t, s, "dir:/w/a")))
	same(t, "owner", "task", of(t, s, "dir:/w/a").Spawns[0].Owner)
	s.Registry[0].Path = "/w/a"
	same(t, "its own tie comes first", []string{"1 path", "2 path", "task path", "task spawn", "here path"}, ties(of(t, s, "dir:/w/a")))
}

func TestWhatWasReadWholeOfRecords(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Dirs["dir:/w/a"] = snapshot.Dir{Path: "/w/a"}
		for name, src := range map[string]snapshot.Source{
			"spawns/a":   {Kind: "spawns", Format: "shepherd", Status: snapshot.OK},
			"spawns/b":   {Kind: "spawns", Format: "jsonl", Status: snapshot.OK},
			"spawns/c":   {Kind: "spawns", Format: "jsonl", Status: snapshot.Failed},
			"spawns/d":   {Kind: "spawns", Format: "jsonl", Status: snapshot.OK},
			"registry/a": {Kind: "registry", Format: "shepherd", Status: snapshot.Absent},
			"registry/b": {Kind: "registry", Format: "json", Status: snapshot.OK},
			"registry/c": {Kind: "registry", Status: snapshot.OK},
			"dirs//w":    {Kind: "dirs", Format: "shepherd", Status: snapshot.OK},
		} {
			s.Sources[name] = src
		}
	})
	same(t, "read", []string{"registry:json", "spawns:shepherd"}, of(t, s, "dir:/w/a").RecordsRead)
}

// FuzzPaths compares the walk up a path with the plain statement of what it is to find: the records whose path is the working
// directory or one of the folders that it lies in.
func FuzzPaths(f *testing.F) {
	for _, p := range [][2]string{{"/w/acme", "/w"}, {"/", "/"}, {"/w//x/../y", "/w/y"}, {"x", "x"}, {"", ""}, {"/a\nb/c", "/a\nb"}} {
		f.Add(p[0], p[1])
	}
	f.Fuzz(func(t *testing.T, cwd, record string) {
		s := look(func(s *snapshot.Snapshot) {
			s.Processes["process:1@1"] = &snapshot.Process{PID: 1, StartTicks: 1, Cwd: &cwd}
			s.Spawns = []snapshot.Spawn{{ID: "s", Path: record}}
		})
		if found, want := len(of(t, s, "process:1@1").Spawns) == 1, within(cwd, record); found != want {
			t.Errorf("%q in %q: %v, want %v", cwd, record, found, want)
		}
	})
}

// within compares segment by segment.
func within(cwd, record string) bool {
	c, okC := segments(cwd)
	r, okR := segments(record)
	return okC && okR && len(r) <= len(c) && slices.Equal(r, c[:len(r)])
}

func segments(p string) (out []string, absolute bool) {
	if p == "" || p[0] != '/' {
		return nil, false
	}
	from := 1
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		switch s := p[from:i]; s {
		case "", ".":
		case "..":
			out = out[:max(0, len(out)-1)]
		default:
			out = append(out, s)
		}
		from = i + 1
	}
	return out, true
}

// TestRecordsKnown: where a folder is not known, what records name folders may concern it.
func TestRecordsKnown(t *testing.T) {
	t.Parallel()
	named := []snapshot.Record{{Source: "registry/workers", ID: "w-1", Path: "/w/feature"}}
	for name, tt := range map[string]struct {
		process              snapshot.Process
		panes                []snapshot.Pane
		registry             []snapshot.Record
		asProcess, asSession bool
	}{
		"known":                       {snapshot.Process{Cwd: new("/w")}, []snapshot.Pane{{Cwd: "/w"}}, named, true, true},
		"not known":                   {snapshot.Process{}, []snapshot.Pane{{Cwd: "/w"}, {}}, named, false, false},
		"not known, nothing recorded": {snapshot.Process{}, []snapshot.Pane{{}}, nil, true, true},
		"in another mount namespace":  {snapshot.Process{Cwd: new("(unreachable)/w")}, []snapshot.Pane{{Cwd: "w"}}, named, false, false},
		"nothing works in it":         {snapshot.Process{Cwd: new("/w")}, []snapshot.Pane{{Dead: new(true)}}, named, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.process.PID, tt.process.StartTicks = 7, 70
			j := subject.Join(&snapshot.Snapshot{
				Processes: map[string]*snapshot.Process{"process:7@70": &tt.process}, Registry: tt.registry,
				Sessions: map[string]snapshot.Session{"session:tmux/default/$1": {Source: "tmux/default", Panes: tt.panes}},
			}, &subject.Config{})
			for id, want := range map[string]bool{"process:7@70": tt.asProcess, "session:tmux/default/$1": tt.asSession} {
				sub, _ := j.Subject(id)
				if got := sub.EntriesKnown != nil && *sub.EntriesKnown; got != want || sub.SpawnsKnown == nil {
					t.Errorf("%s: %v, want %v", id, got, want)
				}
			}
		})
	}
}
