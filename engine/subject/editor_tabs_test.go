package subject

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

const tabID = "tab:vscode/3f9a01bc/7"

// editorWorld is a window on the workspace /w with one tab, whose process has ended.
func editorWorld(change func(*snapshot.Snapshot, *snapshot.EditorTab)) *snapshot.Snapshot {
	at := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	e := &snapshot.EditorTab{
		Window: "3f9a01bc", Folders: []string{"/w"}, Name: "n", CreationName: new("n"), Shape: "shell", PID: new(70), StartTicks: new(uint64(700)),
		OpenedAt: new(at.Add(-time.Hour)), Session: []snapshot.EditorProc{},
	}
	s := &snapshot.Snapshot{
		TakenAt: at,
		Sources: map[string]snapshot.Source{
			snapshot.Proc: {Status: snapshot.OK}, "codev/default": {Kind: "codev", Status: snapshot.OK},
			"vscode/3f9a01bc": {Kind: "vscode", Status: snapshot.OK, Server: &snapshot.Server{Socket: "/s", PID: 9, StartTicks: new(uint64(90))}},
		},
		Processes:  map[string]*snapshot.Process{"process:9@90": {PID: 9, StartTicks: 90, State: "S"}},
		Terminals:  map[string]snapshot.Terminal{},
		Workspaces: []snapshot.Workspace{{Source: "codev/default", Path: "/w", Builders: []snapshot.Builder{}, Worktrees: []snapshot.Builder{}}},
	}
	change(s, e)
	s.Tabs = map[string]snapshot.Tab{tabID: {Source: "vscode/3f9a01bc", ID: "7", Label: e.Name, State: "all of it", Editor: e}}
	return s
}

// TestATabsFoldersStayAsTheyWereRead: an exception is asked of cleaned paths, and the snapshot keeps its own.
func TestATabsFoldersStayAsTheyWereRead(t *testing.T) {
	t.Parallel()
	s := editorWorld(func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.Folders = []string{"/w/", "relative"} })
	Join(s, &Config{Exceptions: []snapshot.Keep{{Match: snapshot.Match{Path: "/w"}, Until: "never"}}}).Subject(tabID)
	if diff := cmp.Diff([]string{"/w/", "relative"}, s.Tabs[tabID].Editor.Folders); diff != "" {
		t.Errorf("-want +have:\n%s", diff)
	}
}

func TestWhetherATabsProcessHasEnded(t *testing.T) {
	t.Parallel()
	live := snapshot.Process{PID: 70, StartTicks: 700, State: "S"}
	for name, c := range map[string]struct {
		change func(*snapshot.Snapshot, *snapshot.EditorTab)
		want   *bool
	}{
		"it is not there": {func(*snapshot.Snapshot, *snapshot.EditorTab) {}, new(true)},
		"it lives":        {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) { s.Processes["process:70@700"] = &live }, new(false)},
		"it is a zombie": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			z := live
			z.State, z.Threads = "Z", new(1)
			s.Processes["process:70@700"] = &z
		}, new(true)},
		"another has its number": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			s.Processes["process:70@701"] = &snapshot.Process{PID: 70, StartTicks: 701, State: "S"}
		}, new(true)},
		"another may have its number": {func(s *snapshot.Snapshot, e *snapshot.EditorTab) {
			e.StartTicks, s.Processes["process:70@700"] = nil, &live
		}, nil},
		"its start is not known, and no process has its pid": {func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.StartTicks = nil }, new(true)},
		"the processes were not read whole": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			s.Sources[snapshot.Proc] = snapshot.Source{Status: snapshot.Failed}
		}, nil},
		"the tab is younger than the process table": {func(s *snapshot.Snapshot, e *snapshot.EditorTab) { e.OpenedAt = &s.TakenAt }, nil},
		"when it was opened is not known":           {func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.OpenedAt = nil }, nil},
		"it has no process":                         {func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.PID = nil }, nil},
	} {
		sub, _ := Join(editorWorld(c.change), &Config{}).Subject(tabID)
		if d := cmp.Diff(c.want, sub.Shown.Ended); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// builderTab makes the tab one of builder-pir-883.
func builderTab(e *snapshot.EditorTab) {
	e.Shape, e.PID, e.StartTicks, e.Session = "pty", nil, nil, nil
	e.Codev = &snapshot.CodevTab{Kind: "builder", ID: "builder-pir-883", Key: "pir-883"}
}

func TestWhatABuildersTabShows(t *testing.T) {
	t.Parallel()
	is := []snapshot.Builder{{ID: "Builder-PIR-0883", Key: "pir-883"}}
	terminal := func(s *snapshot.Snapshot, change func(*snapshot.Terminal)) {
		x := snapshot.Terminal{Source: "codev/default", RoleKind: "builder", Workspace: "/w", Status: "running", Owner: &snapshot.TerminalOwner{Key: "pir-883"}}
		change(&x)
		s.Terminals["terminal:codev/default/one"] = x
	}
	gone := Shown{Workspaces: []string{"/w"}, Recorded: new(false), Worktree: new(false), Sessions: []string{}}
	with := func(change func(*Shown)) Shown { x := gone; change(&x); return x }
	for name, c := range map[string]struct {
		change func(*snapshot.Snapshot, *snapshot.EditorTab)
		want   Shown
	}{
		"the builder is gone":           {func(*snapshot.Snapshot, *snapshot.EditorTab) {}, gone},
		"a row in another spelling":     {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) { s.Workspaces[0].Builders = is }, with(func(x *Shown) { x.Recorded = new(true) })},
		"a folder":                      {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) { s.Workspaces[0].Worktrees = is }, with(func(x *Shown) { x.Worktree = new(true) })},
		"rows that were not read whole": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) { s.Workspaces[0].Builders = nil }, with(func(x *Shown) { x.Recorded = nil })},
		"folders that were not listed":  {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) { s.Workspaces[0].Worktrees = nil }, with(func(x *Shown) { x.Worktree = nil })},
		"a Tower that does not answer": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			s.Sources["codev/default"] = snapshot.Source{Kind: "codev", Status: snapshot.Failed}
		}, Shown{}},
		"no Tower": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) { delete(s.Sources, "codev/default") }, Shown{}},
		"a second state folder that was not read": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			s.Sources["codev/b"] = snapshot.Source{Status: snapshot.Absent}
		}, Shown{}},
		"another workspace":         {func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.Folders = []string{"/w2", "/"} }, Shown{}},
		"a folder of the workspace": {func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.Folders = []string{"/w/src"} }, gone},
		"a terminal lives":          {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) { terminal(s, func(*snapshot.Terminal) {}) }, with(func(x *Shown) { x.Sessions = []string{"terminal:codev/default/one"} })},
		"a terminal has exited": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.Status = "exited" })
		}, gone},
		"a terminal that no Tower lists has no process": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.Status, x.Listed = "", new(false) })
		}, gone},
		"a terminal that no Tower lists has one": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.Status, x.Listed, x.PID = "", new(false), new(5) })
		}, with(func(x *Shown) { x.Sessions = []string{"terminal:codev/default/one"} })},
		"a terminal of unknown workspace": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.Workspace = "" })
		}, with(func(x *Shown) { x.Sessions = []string{"terminal:codev/default/one"} })},
		"its development server": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.RoleKind = "dev" })
		}, gone},
		"a terminal of an unknown builder": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.Owner = nil })
		}, with(func(x *Shown) { x.Sessions = nil })},
		"a terminal of which nothing says what works in it": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.RoleKind = "" })
		}, with(func(x *Shown) { x.Sessions = nil })},
		"an unknown shellper in the builder's folder": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.RoleKind = "shellper" })
		}, with(func(x *Shown) { x.Sessions = []string{"terminal:codev/default/one"} })},
		"an unknown shellper elsewhere": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.RoleKind, x.Owner, x.Cwd = "shellper", nil, "/w/src" })
		}, gone},
		"an unknown shellper in an unknown folder": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.RoleKind, x.Owner = "shellper", nil })
		}, with(func(x *Shown) { x.Sessions = nil })},
		"no terminals were read": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) { s.Terminals = nil }, with(func(x *Shown) { x.Sessions = nil })},
		"a row without a name":   {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) { s.Workspaces[0].Builders = []snapshot.Builder{{}} }, with(func(x *Shown) { x.Recorded = nil })},
		"another builder's": {func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			terminal(s, func(x *snapshot.Terminal) { x.Owner.Key = "pir-884" })
		}, gone},
	} {
		s := editorWorld(func(s *snapshot.Snapshot, e *snapshot.EditorTab) { builderTab(e); c.change(s, e) })
		sub, _ := Join(s, &Config{}).Subject(tabID)
		if d := cmp.Diff(&c.want, sub.Shown); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestATabsEvidence(t *testing.T) {
	t.Parallel()
	of := func(change func(*snapshot.Snapshot, *snapshot.EditorTab)) map[string]string {
		sub, _ := Join(editorWorld(change), &Config{}).Subject(tabID)
		return sub.EvidenceSources
	}
	if got := of(func(*snapshot.Snapshot, *snapshot.EditorTab) {}); got["codev/default"] != "" || got["vscode/3f9a01bc"] != snapshot.OK {
		t.Errorf("a tab with a process rests on %v", got)
	}
	if got := of(func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { builderTab(e) }); got["codev/default"] != snapshot.OK {
		t.Errorf("a builder's tab rests on %v", got)
	}
}

func TestATabsIdentity(t *testing.T) {
	t.Parallel()
	key := func(change func(*snapshot.Snapshot, *snapshot.EditorTab)) string {
		return Join(editorWorld(change), &Config{}).Identity(tabID).Key
	}
	same := key(func(*snapshot.Snapshot, *snapshot.EditorTab) {})
	if same == "" {
		t.Fatal("it has none")
	}
	if got := key(func(_ *snapshot.Snapshot, e *snapshot.EditorTab) {
		e.Active, e.ShownAt, e.ExitCode = new(true), new(time.Now()), new(1)
	}); got != same {
		t.Errorf("what changes under the same tab makes it another one: %s, %s", same, got)
	}
	for name, change := range map[string]func(*snapshot.Snapshot, *snapshot.EditorTab){
		"another name":    func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.Name = "m" },
		"another process": func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.StartTicks = new(uint64(701)) },
		"another window": func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			s.Sources["vscode/3f9a01bc"].Server.StartTicks = new(uint64(91))
		},
	} {
		if got := key(change); got == same || got == "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, change := range map[string]func(*snapshot.Snapshot, *snapshot.EditorTab){
		"how it was opened is not known": func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.CreationName = nil },
		"it is still starting":           func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.PID, e.StartTicks = nil, nil },
		"a pty with a process":           func(_ *snapshot.Snapshot, e *snapshot.EditorTab) { e.Shape = "pty" },
		"its window is not known": func(s *snapshot.Snapshot, _ *snapshot.EditorTab) {
			s.Sources["vscode/3f9a01bc"].Server.StartTicks = nil
		},
	} {
		if got := key(change); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestATabsIdentityNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := editorWorld(func(s *snapshot.Snapshot, e *snapshot.EditorTab) {
		e.Session = []snapshot.EditorProc{{PID: 71, Name: "sleep"}, {PID: 72, Name: "ended since"}}
		s.Processes["process:71@710"] = &snapshot.Process{PID: 71, StartTicks: 710, State: "S"}
	})
	left := Join(s, &Config{}).Identity(tabID).Editor.Left
	if len(left) != 1 || left[0].PID != 71 || left[0].StartTicks != 710 || left[0].Name != "sleep" {
		t.Errorf("left: %+v", left)
	}
}
