package subject_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

var now = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

func ago(seconds int) *time.Time { return new(now.Add(-time.Duration(seconds) * time.Second)) }

func config() *subject.Config {
	return &subject.Config{
		Agents: []string{"claude", "an-agent-with-a-long-name"}, Multiplexers: []string{"tmux: server"},
		Markers:   subject.Markers{{Name: "THREAD", Value: subject.MarkerSession, Agent: "codex"}, {Name: "AGENT_PID", Value: subject.MarkerPID, Agent: "claude"}},
		IDMarkers: []string{"AGENT_SESSION", "AGENT_RUN"}, PaneMarkers: []string{"TMUX", "STY", "HERDR_SOCKET_PATH"},
	}
}

// look is a snapshot in which everything was read, with what add puts into it.
func look(add func(*snapshot.Snapshot)) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Schema: snapshot.Schema, TakenAt: now, Host: snapshot.Host{Asleep: &[]snapshot.Asleep{}},
		Sources: map[string]snapshot.Source{
			"proc": {Kind: "processes", Status: "ok"}, "ledger": {Kind: "ledger", Status: "ok"},
			"tmux/default": {Kind: "tmux", Status: "ok"}, "dirs//w": {Kind: "dirs", Status: "ok"},
		},
		Tabs: map[string]snapshot.Tab{}, Sessions: map[string]snapshot.Session{}, Terminals: map[string]snapshot.Terminal{},
		Dirs: map[string]snapshot.Dir{}, Processes: map[string]*snapshot.Process{}, Sightings: map[string]snapshot.Sighting{},
	}
	add(s)
	return s
}

func of(t *testing.T, s *snapshot.Snapshot, id string) *subject.Subject {
	t.Helper()
	sub, ok := subject.Join(s, config()).Subject(id)
	if !ok {
		t.Fatalf("no subject %s", id)
	}
	return sub
}

// alterProcess changes one process of a snapshot.
func alterProcess(s *snapshot.Snapshot, id string, change func(*snapshot.Process)) {
	var p snapshot.Process
	if have := s.Processes[id]; have != nil {
		p = *have
	}
	change(&p)
	s.Processes[id] = &p
}

// alter changes one value of a map of them.
func alter[T any](in map[string]T, key string, change func(*T)) {
	v := in[key]
	change(&v)
	in[key] = v
}

func same(t *testing.T, what string, want, have any) {
	t.Helper()
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s (-want +have):\n%s", what, diff)
	}
}

func TestIDsAreSortedAndAllThereIs(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Dirs["dir:/w/b"], s.Dirs["dir:/w/a"] = snapshot.Dir{Path: "/w/b"}, snapshot.Dir{Path: "/w/a"}
		s.Terminals["terminal:codev/x"] = snapshot.Terminal{}
	})
	j := subject.Join(s, config())
	same(t, "dirs", []string{"dir:/w/a", "dir:/w/b"}, j.IDs(snapshot.KindDir))
	same(t, "terminals", []string{"terminal:codev/x"}, j.IDs(snapshot.KindTerminal))
	if len(j.IDs(snapshot.KindSession)) > 0 {
		t.Error("sessions out of nothing")
	}
	if _, ok := j.Subject("dir:/w/c"); ok {
		t.Error("a subject of nothing")
	}
	if id := j.Identity("dir:/w/c"); id.Key != "" {
		t.Errorf("an identity of nothing: %v", id)
	}
}

func TestAgesCountBackFromTheLook(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		s.Host.SteadySince = ago(100)
		s.Dirs["dir:/w/a"] = snapshot.Dir{Source: "dirs//w", Path: "/w/a", ModifiedAt: ago(50), ActiveAt: ago(-5)}
		s.Sessions["session:tmux/default/$1"] = snapshot.Session{
			Source: "tmux/default", Attached: new(1), CreatedAt: ago(9), LastActivityAt: ago(8), ClientActivityAt: ago(7), UsedAt: ago(6),
		}
		s.Sessions["session:tmux/default/$2"] = snapshot.Session{Source: "tmux/default", Attached: new(0), ClientActivityAt: ago(7)}
		s.Processes["process:5@6"] = &snapshot.Process{PID: 5, StartTicks: 6, StartedAt: ago(3)}
		s.Sightings["dir:/w/a"] = snapshot.Sighting{Rule: "r", Identity: "k", FirstAt: *ago(30), LastAt: *ago(20), Count: 2}
	})
	dir := of(t, s, "dir:/w/a")
	same(t, "folder", []*float64{new(50.0), new(-5.0), nil}, []*float64{dir.Age, dir.Idle, dir.ClientIdle})
	same(t, "sighting", &subject.Sighting{Rule: "r", Identity: "k", First: 30, Last: 20, Count: 2}, dir.Sighting)
	same(t, "steady", new(100.0), dir.Host.Steady)
	attached, alone := of(t, s, "session:tmux/default/$1"), of(t, s, "session:tmux/default/$2")
	same(t, "session", []*float64{new(9.0), new(8.0), new(7.0), new(6.0)}, []*float64{attached.Age, attached.Idle, attached.ClientIdle, attached.Used})
	same(t, "session without clients", []*float64{nil, nil, nil, nil}, []*float64{alone.Age, alone.Idle, alone.ClientIdle, alone.Used})
	process := of(t, s, "process:5@6")
	same(t, "process", []*float64{new(3.0), nil}, []*float64{process.Age, process.Idle})
	if process.Sighting != nil {
		t.Error("a sighting of nothing")
	}
}

func TestHowBusyAProcessWas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cpu     *float64
		started *time.Time
		want    *subject.Processors
	}{
		"half of one":           {new(50.0), ago(100), new(subject.Processors(0.5))},
		"two, with children":    {new(200.0), ago(100), new(subject.Processors(2))},
		"none":                  {new(0.0), ago(100), new(subject.Processors(0))},
		"its time is not known": {nil, ago(100), nil},
		"its age is not known":  {new(50.0), nil, nil},
		"it has begun just now": {new(50.0), ago(0), nil},
		"it begins later":       {new(50.0), ago(-5), nil},
	} {
		s := look(func(s *snapshot.Snapshot) {
			s.Processes["process:5@6"] = &snapshot.Process{PID: 5, StartTicks: 6, StartedAt: c.started, CPU: c.cpu}
		})
		same(t, name, c.want, of(t, s, "process:5@6").Busy)
	}
}

func TestLabelsAndOwners(t *testing.T) {
	t.Parallel()
	markers := func(m map[string]string) *map[string]string { return &m }
	s := look(func(s *snapshot.Snapshot) {
		s.Dirs["dir:/w/a"] = snapshot.Dir{Path: "/w/a", Root: "/w", Git: &snapshot.Git{Main: "/repo", Worktree: new(true)}}
		s.Dirs["dir:/w/b"] = snapshot.Dir{Path: "/w/b", Root: "/w"}
		s.Sessions["session:tmux/default/$1"] = snapshot.Session{Source: "tmux/default", Name: "work"}
		s.Tabs["tab:herdr/default/w1:t1"] = snapshot.Tab{Source: "herdr/default", Workspace: "w1", Label: "review"}
		s.Terminals["terminal:codev/x"] = snapshot.Terminal{Source: "codev/default", Role: "builder", Workspace: "/repo"}
		s.Processes["process:1@1"] = &snapshot.Process{PID: 1, Name: "vite", Markers: markers(map[string]string{"CLAUDECODE": "1", "AGENT_RUN": "r7", "TMUX": "x"})}
		s.Processes["process:2@1"] = &snapshot.Process{PID: 2, Name: "vite", Markers: markers(map[string]string{"CLAUDECODE": "1"})}
		s.Processes["process:3@1"] = &snapshot.Process{PID: 3, Name: "vite", Markers: markers(map[string]string{"TMUX": "x"}), Cwd: new("/w/a/src")}
		s.Processes["process:5@1"] = &snapshot.Process{PID: 5, Name: "vite", Markers: markers(map[string]string{"AGENT_PID": "24", "THREAD": "t-1"})}
		s.Processes["process:6@1"] = &snapshot.Process{PID: 6, Name: "vite", Markers: markers(map[string]string{"AGENT_PID": "24", "CLAUDECODE": "1"})}
		s.Processes["process:4@1"] = &snapshot.Process{PID: 4, Name: "vite"}
	})
	for id, want := range map[string][2]string{
		"dir:/w/a": {"/w/a", "/repo"}, "dir:/w/b": {"/w/b", "/w"}, "session:tmux/default/$1": {"work", "tmux/default"},
		"tab:herdr/default/w1:t1": {"review", "herdr/default/w1"}, "terminal:codev/x": {"builder", "/repo"},
		"process:1@1": {"vite", "r7"}, "process:2@1": {"vite", ""}, "process:5@1": {"vite", "t-1"}, "process:6@1": {"vite", "24"}, "process:3@1": {"vite", "/w/a"}, "process:4@1": {"vite", ""},
	} {
		sub := of(t, s, id)
		same(t, id, want, [2]string{sub.Label, sub.Owner})
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	hold := func(id, owner string, until *time.Time) snapshot.Hold {
		return snapshot.Hold{ID: id, Owner: owner, Since: *ago(60), Until: until}
	}
	s := look(func(s *snapshot.Snapshot) {
		for _, p := range []string{"/w/a", "/w/b", "/w/c", "/w/d"} {
			s.Dirs["dir:"+p] = snapshot.Dir{Path: p}
		}
		s.Holds = []snapshot.Hold{
			hold("dir:/w/a", "lapsed", ago(0)), hold("dir:/w/a", "short", ago(-10)), hold("dir:/w/a", "long", ago(-20)), hold("dir:/w/a", "middle", ago(-15)),
			hold("dir:/w/b", "for ever", nil), hold("dir:/w/b", "long", ago(-1e6)), hold("dir:/w/c", "lapsed", ago(1)),
		}
	})
	same(t, "the longest", &subject.Hold{Owner: "long", Left: new(20.0)}, of(t, s, "dir:/w/a").Hold)
	same(t, "without an end", &subject.Hold{Owner: "for ever"}, of(t, s, "dir:/w/b").Hold)
	for _, id := range []string{"dir:/w/c", "dir:/w/d"} {
		if h := of(t, s, id).Hold; h != nil {
			t.Errorf("%s: a hold that has ended, or never was: %v", id, h)
		}
	}
}

// A hold on a folder keeps what lies in it, and the folders around it, which would take it with them; not those beside it.
func TestHoldsOnFoldersAroundAndBelow(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		for _, p := range []string{"/w", "/w/a", "/w/a/b/c", "/w/ab", "/v", "/u/x"} {
			s.Dirs["dir:"+p] = snapshot.Dir{Path: p}
		}
		s.Holds = []snapshot.Hold{
			{ID: "dir:/w/a/b", Owner: "inside", Since: *ago(60)}, {ID: "dir:/u", Owner: "above", Since: *ago(60)}, {ID: "dir:/v/gone", Owner: "lapsed", Since: *ago(60), Until: ago(1)},
			{ID: "process:1@1", Owner: "other", Since: *ago(60)},
		}
	})
	for id, want := range map[string]string{"dir:/w": "inside", "dir:/w/a": "inside", "dir:/w/a/b/c": "inside", "dir:/w/ab": "", "dir:/v": "", "dir:/u/x": "above"} {
		got := ""
		if h := of(t, s, id).Hold; h != nil {
			got = h.Owner
		}
		if got != want {
			t.Errorf("%s is held by %q, want %q", id, got, want)
		}
	}
}

// A hold on a process keeps all that it would end with: the processes above it, and the session or the terminal that they run in.
func TestHoldsOnProcessesThatGoAlong(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		for pid, parent := range map[int]int{50: 1, 51: 50, 52: 51, 60: 1, 70: 1, 71: 70} {
			s.Processes[snapshot.ProcessID(pid, 9)] = &snapshot.Process{PID: pid, PPID: &parent, StartTicks: 9}
		}
		s.Sessions["session:tmux/x/$1"] = snapshot.Session{Source: "tmux/x", Panes: []snapshot.Pane{{ShellPID: new(50), SessionPIDs: []int{50, 51}}}}
		s.Sessions["session:tmux/x/$2"] = snapshot.Session{Source: "tmux/x", Panes: []snapshot.Pane{{ShellPID: new(60)}}}
		s.Terminals["terminal:codev/x/a"] = snapshot.Terminal{Source: "codev/x", PID: new(70)}
		s.Holds = []snapshot.Hold{
			{ID: "process:52@9", Owner: "deep", Since: *ago(60)}, {ID: "process:60@8", Owner: "another life", Since: *ago(60)},
			{ID: "process:71@9", Owner: "lapsed", Since: *ago(60), Until: ago(1)}, {ID: "process:71@9", Owner: "child", Since: *ago(60)},
		}
	})
	for id, want := range map[string]string{"process:50@9": "deep", "process:51@9": "deep", "process:52@9": "deep", "session:tmux/x/$1": "deep", "session:tmux/x/$2": "",
		"process:60@9": "", "terminal:codev/x/a": "child", "process:70@9": "child", "process:71@9": "child"} {
		got := ""
		if h := of(t, s, id).Hold; h != nil {
			got = h.Owner
		}
		if got != want {
			t.Errorf("%s is held by %q, want %q", id, got, want)
		}
	}
}

func TestEvidenceSources(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		delete(s.Sources, "ledger")
		s.Sources["tmux/other"] = snapshot.Source{Kind: "tmux", Status: "failed"}
		s.Sources["spawns/builds"] = snapshot.Source{Kind: "spawns", Status: "absent"}
		s.Sources["dirs//v"] = snapshot.Source{Kind: "dirs", Status: "failed"}
		s.Registry = []snapshot.Entry{{Source: "registry/gone", ID: "e"}}
		s.Dirs["dir:/w/a"] = snapshot.Dir{Source: "dirs//w", Path: "/w/a"}
		s.Sessions["session:tmux/nosuch/$1"] = snapshot.Session{Source: "tmux/nosuch"}
		s.Processes["process:1@1"] = &snapshot.Process{PID: 1}
	})
	common := func(more map[string]string) map[string]string {
		more["proc"], more["ledger"], more["spawns/builds"], more["registry/gone"] = "ok", "missing", "absent", "missing"
		return more
	}
	for id, want := range map[string]map[string]string{
		"dir:/w/a":               common(map[string]string{"dirs//w": "ok"}),
		"session:tmux/nosuch/$1": common(map[string]string{"tmux/nosuch": "missing"}),
		"process:1@1":            common(map[string]string{"tmux/default": "ok", "tmux/other": "failed"}),
	} {
		sub := of(t, s, id)
		same(t, id, want, sub.EvidenceSources)
		same(t, id, want[sub.Source.Name], sub.Source.Status)
	}
}

// TestListsAreNeverNull: the schema of the document knows no null.
func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	c := &subject.Config{}
	sub := subject.Join(look(func(*snapshot.Snapshot) {}), c).Common()
	if sub.Config.Shells == nil || sub.Config.HelperLabels.Prefix == nil || sub.Config.TerminalStatuses == nil {
		t.Error("a list of the configuration is null")
	}
	if c.Shells != nil {
		t.Error("the caller's configuration was changed")
	}
}
