package vscode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/editor"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestMain(m *testing.M) {
	attack.Play()
	os.Exit(m.Run())
}

func in(pairs ...string) collectors.Env {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func sourceOf(t testing.TB, o Options, w *editor.Window) collectors.Source {
	t.Helper()
	o.Sockets, o.UID = []string{w.Socket()}, os.Geteuid()
	sources := must.Get(Sources(o))(t)
	must.Equal(t, 1, len(sources), "sources")
	return sources[0]
}

func reading(t testing.TB, o Options, w *editor.Window) collectors.Part {
	t.Helper()
	return must.Get(sourceOf(t, o, w).Reader.Read(wait.Within(t, wait.Patience)))(t)
}

// fails gives the error of a reading, which must give nothing else.
func fails(t testing.TB, o Options, w *editor.Window, ctx context.Context) error {
	t.Helper()
	part, err := sourceOf(t, o, w).Reader.Read(ctx)
	if err == nil || part.Tabs != nil || part.Server != nil {
		t.Errorf("read %+v beside %v", part, err)
	}
	return err
}

func TestRead(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{Folders: []string{"/acme"}, Focused: true, Extension: "1.2.3"})
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	opened := func(o editor.Tab) { o.Opened, o.Shown = at, &at; must.Get(w.Open(o))(t) }
	opened(editor.Tab{Name: "mine now", CreationName: new("Codev: builder-pir-0883"), Shape: "pty", Whole: true})
	opened(editor.Tab{Name: "Codev: builder-pir-883", Shape: "shell", Typed: new(false), ExitCode: new(0)})
	opened(editor.Tab{Name: "make", CreationName: new("Dev: builder-pir-883"), Shape: "task", Program: new("bash"), Variables: []string{"A", "B"}, Whole: true})
	opened(editor.Tab{Name: "zsh", CreationName: new("")})
	part := reading(t, Options{Markers: []string{"B", "C"}}, w)
	name := "vscode/" + w.ID()
	want := map[string]*snapshot.EditorTab{
		"1": {Name: "mine now", CreationName: new("Codev: builder-pir-0883"), Codev: &snapshot.CodevTab{Kind: "builder", ID: "builder-pir-883", Key: "pir-883"}, Shape: "pty", Markers: []string{}, Active: new(false)},
		"2": {Name: "Codev: builder-pir-883", Shape: "shell", Typed: new(false), ExitCode: new(0), Active: new(false)},
		"3": {Name: "make", CreationName: new("Dev: builder-pir-883"), Codev: &snapshot.CodevTab{Kind: "dev", ID: "builder-pir-883", Key: "pir-883"}, Shape: "task", Program: new("bash"), Markers: []string{"B"}, Active: new(false)},
		"4": {Name: "zsh", CreationName: new(""), Shape: "shell", Active: new(true)},
	}
	must.Equal(t, len(want), len(part.Tabs), "tabs")
	for n, e := range want {
		tab := part.Tabs["tab:"+name+"/"+n]
		e.Window, e.Folders, e.OpenedAt, e.ShownAt, e.Error = w.ID(), []string{"/acme"}, &at, &at, new("")
		must.Equal(t, e, tab.Editor, "tab %s: what the window says", n)
		must.Equal(t, true, strings.Contains(tab.State, strconv.Quote(e.Name)), "tab %s: the name is in the state %s", n, tab.State)
		tab.State, tab.Editor = "", nil
		must.Equal(t, snapshot.Tab{Source: name, ID: n, Label: e.Name, Focused: new(n == "4")}, tab, "tab %s", n)
	}
	must.Equal(t, &snapshot.Server{Socket: w.Socket(), PID: os.Getpid(), StartTicks: new(w.Ticks()), Version: "1.2.3", Protocol: new(1)}, part.Server, "server")
	only := reading(t, Options{Only: []string{"3"}}, w)
	must.Equal(t, []string{"tab:" + name + "/3"}, slices.Collect(maps.Keys(only.Tabs)), "the one tab that was asked for")
	must.Equal(t, 0, len(reading(t, Options{Only: []string{"9"}}, w).Tabs), "tabs with a number that there is not")
}

// TestKnownAndEmpty tells an empty list from one that is not known.
func TestKnownAndEmpty(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	must.Get(w.Open(editor.Tab{Shape: "pty", Whole: true}))(t)
	must.Get(w.Open(editor.Tab{Shape: "pty"}))(t)
	part := reading(t, Options{}, w)
	known, unknown := part.Tabs[ID("vscode/"+w.ID(), "1")].Editor, part.Tabs[ID("vscode/"+w.ID(), "2")].Editor
	if known.Markers == nil || unknown.Markers != nil || known.Folders == nil || known.Session != nil {
		t.Errorf("markers %v and %v, folders %v, session %v", known.Markers, unknown.Markers, known.Folders, known.Session)
	}
	w = editor.Start(t, editor.Options{})
	if part := reading(t, Options{}, w); part.Tabs == nil || len(part.Tabs) != 0 {
		t.Errorf("a window without tabs: %v", part.Tabs)
	}
}

func TestFocus(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	must.Get(w.Open(editor.Tab{Name: "a"}))(t)
	must.Get(w.Open(editor.Tab{Name: "b"}))(t)
	for _, c := range []struct {
		focused bool
		active  int
		want    map[string]bool
	}{{true, 1, map[string]bool{"1": true, "2": false}}, {true, 0, map[string]bool{"1": false, "2": false}}, {false, 1, map[string]bool{"1": false, "2": false}}} {
		w.Focus(c.focused)
		w.Activate(c.active)
		got := map[string]bool{}
		for _, tab := range reading(t, Options{}, w).Tabs {
			got[tab.ID] = *tab.Focused
		}
		must.Equal(t, c.want, got, "focus where the window has it: %t, and tab %d is the active one", c.focused, c.active)
	}
}

// TestSession has a tab whose shell ended and left a process that pays no heed to a hangup, and one that made itself a session of its own.
func TestSession(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	dir := t.TempDir()
	n := must.Get(w.Open(editor.Tab{Name: "x", Cwd: dir, Argv: []string{"sh", "-c", `trap "" HUP; sleep 1000 & echo $! > stays; setsid sleep 1000 & exec cat go`}}))(t)
	tab := w.Tab(n)
	session := func() []snapshot.EditorProc {
		return reading(t, Options{}, w).Tabs[ID("vscode/"+w.ID(), strconv.Itoa(n))].Editor.Session
	}
	must.Do(t, w.Await(n)) // there is no file called go
	text := must.Get(os.ReadFile(filepath.Join(dir, "stays")))(t)
	stays := must.Get(strconv.Atoi(strings.TrimSpace(string(text))))(t)
	wait.Eventually(t, "what is left is a sleep", func() bool { return procs.Name(stays) == "sleep" && len(procs.Session(tab.PID)) == 1 })
	must.Equal(t, []snapshot.EditorProc{{PID: stays, Name: "sleep"}}, session(), "what was started in the tab")
	w.Change(n, func(t *editor.Tab) { t.Ticks = nil })
	must.Equal(t, []snapshot.EditorProc{{PID: stays, Name: "sleep"}}, session(), "what was started in the tab, where its start is not known")
	must.Do(t, syscall.Kill(stays, syscall.SIGKILL))
	wait.Eventually(t, "nothing is left", func() bool { return !procs.Lives(stays) })
	got := session()
	if got == nil || len(got) != 0 {
		t.Errorf("where nothing is left: %#v", got)
	}
}

func TestSessionOf(t *testing.T) {
	t.Parallel()
	table := map[int]proc.Stat{
		1: {PID: 1, State: 'S', Session: 1}, 10: {PID: 10, Comm: "sh", State: 'S', Session: 10, Start: 5}, 11: {PID: 11, Comm: "b", State: 'S', Session: 10}, 12: {PID: 12, Comm: "a", State: 'R', Session: 10},
		13: {PID: 13, Comm: "dead", State: 'Z', Session: 10}, 14: {PID: 14, Comm: "other", State: 'S', Session: 14},
	}
	hidden := maps.Clone(table)
	delete(hidden, 1)
	all := []snapshot.EditorProc{{PID: 11, Name: "b"}, {PID: 12, Name: "a"}}
	led := maps.Clone(table)
	delete(led, 10)
	for name, c := range map[string]struct {
		pid   int
		ticks *uint64
		table map[int]proc.Stat
		want  []snapshot.EditorProc
	}{
		"it lives": {10, new(uint64(5)), table, all}, "it lives, since when is not known": {10, nil, table, nil}, "another one has its number": {10, new(uint64(4)), table, []snapshot.EditorProc{}},
		"it has ended": {10, new(uint64(5)), led, all}, "it has ended, since when it lived is not known": {10, nil, led, all}, "nothing is left": {99, nil, table, []snapshot.EditorProc{}},
		"others are hidden": {10, new(uint64(5)), hidden, nil}, "others are hidden, and it has ended": {99, new(uint64(5)), hidden, nil},
	} {
		must.Equal(t, c.want, session(c.pid, c.ticks, c.table), "%s: session", name)
	}
}

// TestWindowsThatFail tells one that is positively gone from unknown ones.
func TestWindowsThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  func(*editor.Window)
		absent bool
		is     error
		says   string
	}{
		"no program listens":   {func(w *editor.Window) { w.Vanish(true) }, true, collectors.ErrAbsent, "closed or loaded again"},
		"the socket is gone":   {func(w *editor.Window) { w.Vanish(false) }, true, collectors.ErrAbsent, "no such socket"},
		"it hangs up":          {func(w *editor.Window) { w.Fault(always(editor.CloseWithoutReply)) }, false, nil, "hung up"},
		"half an answer":       {func(w *editor.Window) { w.Fault(always(editor.PartialLine)) }, false, nil, "in the middle"},
		"it refuses":           {func(w *editor.Window) { w.Fault(at("terminals.list", editor.ErrorReply("failed", "busy"))) }, false, nil, "busy"},
		"it refuses the proof": {func(w *editor.Window) { w.Fault(at("prove", editor.ErrorReply("not_proved", "no"))) }, false, nil, "not_proved"},
		"others can write":     {func(w *editor.Window) { _ = os.Chmod(w.Dir(), 0o777) }, false, collectors.ErrPermission, "collect.vscode.sockets"},
		"a file":               {func(w *editor.Window) { w.Vanish(false); _ = os.WriteFile(w.Socket(), nil, 0o600) }, false, nil, "no socket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := editor.Start(t, editor.Options{})
			must.Get(w.Open(editor.Tab{Name: "x"}))(t)
			c.spoil(w)
			err := fails(t, Options{}, w, wait.Within(t, wait.Patience))
			if errors.Is(err, collectors.ErrAbsent) != c.absent || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.says) || !strings.Contains(err.Error(), w.Socket()) {
				t.Error(err)
			}
		})
	}
	w := editor.Start(t, editor.Options{})
	w.Fault(always(editor.HangAfterAccept))
	if err := fails(t, Options{}, w, wait.Within(t, 50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer in time: %v", err)
	}
}

func always(f editor.Fault) func(int, editor.Call) editor.Fault {
	return func(int, editor.Call) editor.Fault { return f }
}

func at(method string, f editor.Fault) func(int, editor.Call) editor.Fault {
	return func(_ int, c editor.Call) editor.Fault {
		if c.Method == method {
			return f
		}
		return editor.Fault{}
	}
}

// TestOfAnotherPlace has /proc show another process, or none, where the window says that its extension host is.
func TestOfAnotherPlace(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	must.Get(w.Open(editor.Tab{Name: "x"}))(t)
	w.Fault(at("hello", editor.Another(func(line []byte) []byte {
		return []byte(strings.Replace(string(line), fmt.Sprintf(`"start_ticks":%d`, w.Ticks()), `"start_ticks":1`, 1))
	})))
	if err := fails(t, Options{}, w, wait.Within(t, wait.Patience)); !strings.Contains(err.Error(), "that process began at "+strconv.FormatUint(w.Ticks(), 10)) || !strings.Contains(err.Error(), "say nothing here") {
		t.Errorf("another start: %v", err)
	}
	w.Fault(nil)
	if err := fails(t, Options{ProcRoot: t.TempDir()}, w, wait.Within(t, wait.Patience)); !strings.Contains(err.Error(), "say nothing here") {
		t.Errorf("an empty /proc: %v", err)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	run := must.Get(os.MkdirTemp("", "run"))(t) // a socket's path is short
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	dir := filepath.Join(run, "winnow", "editors")
	a, b := editor.Start(t, editor.Options{Dir: dir}), editor.Start(t, editor.Options{Dir: dir})
	same := filepath.Join(t.TempDir(), filepath.Base(a.Socket()))
	o := Options{Env: in("XDG_RUNTIME_DIR", run, "TMPDIR", "/missing"), UID: os.Geteuid()}
	for name, c := range map[string]struct {
		sockets []string
		want    []string
	}{
		"auto":            {[]string{"auto"}, []string{"vscode/" + a.ID(), "vscode/" + b.ID()}},
		"auto and a path": {[]string{a.Socket(), "auto", dir + "/../editors/" + a.ID() + ".sock"}, []string{"vscode/" + a.ID(), "vscode/" + b.ID()}},
		"a path":          {[]string{b.Socket()}, []string{"vscode/" + b.ID()}},
		"two of a name":   {[]string{a.Socket(), same}, []string{"vscode/" + a.ID() + "~" + collectors.Short(a.Socket()), "vscode/" + a.ID() + "~" + collectors.Short(same)}},
		"nothing":         {nil, nil},
	} {
		o.Sockets = c.sockets
		var got, paths []string
		for _, s := range must.Get(Sources(o))(t) {
			if strings.HasPrefix(s.Path, "/tmp/winnow-") || strings.HasPrefix(s.Path, "/run/user") { // what else this machine has
				continue
			}
			must.Equal(t, Kind, s.Kind, "kind of %s", s.Name)
			got, paths = append(got, s.Name), append(paths, s.Path)
		}
		must.Equal(t, slices.Sorted(slices.Values(c.want)), slices.Sorted(slices.Values(got)), "%s: sources", name)
		must.Equal(t, true, slices.IsSorted(paths), "%s: sorted by path: %v", name, paths)
	}
	for _, bad := range []string{"a.sock", "", "Auto"} {
		o.Sockets = []string{bad}
		if _, err := Sources(o); err == nil || !strings.Contains(err.Error(), "write auto, or the path of a socket") {
			t.Errorf("socket %q: %v", bad, err)
		}
	}
}

// TestAFolderThatCannotBeTrusted is a source that fails, so that its windows are not taken for absent.
func TestAFolderThatCannotBeTrusted(t *testing.T) {
	t.Parallel()
	run := must.Get(os.MkdirTemp("", "run"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	dir := filepath.Join(run, "winnow", "editors")
	must.Do(t, os.MkdirAll(dir, 0o700))
	must.Do(t, os.Chmod(dir, 0o777))
	l := must.Get(net.Listen("unix", filepath.Join(dir, "0a0b0c0d.sock")))(t)
	t.Cleanup(func() { _ = l.Close() })
	sources := must.Get(Sources(Options{Sockets: []string{"auto"}, Env: in("XDG_RUNTIME_DIR", run), UID: os.Geteuid()}))(t)
	i := slices.IndexFunc(sources, func(s collectors.Source) bool { return s.Path == dir })
	if i < 0 || slices.ContainsFunc(sources, func(s collectors.Source) bool { return filepath.Dir(s.Path) == dir }) {
		t.Fatalf("sources: %v", sources)
	}
	_, err := sources[i].Reader.Read(t.Context())
	if err == nil || errors.Is(err, collectors.ErrAbsent) || !strings.Contains(err.Error(), "no window there was asked") {
		t.Error(err)
	}
}

// TestASocketOfAnotherUser has another user listen where a window of this user would.
func TestASocketOfAnotherUser(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	path := filepath.Join(attacker.Home, "0a0b0c0d.sock")
	heard := attacker.Listen(t, "unix", path)
	sources := must.Get(Sources(Options{Sockets: []string{path}, UID: os.Geteuid()}))(t)
	part, err := sources[0].Reader.Read(wait.Within(t, wait.Patience))
	if !errors.Is(err, collectors.ErrPermission) || part.Tabs != nil || heard.Text() != "" {
		t.Errorf("%v, %v; it heard %q", part, err, heard.Text())
	}
}

// TestRunTakesIt has the collectors read a window together with others, as a sweep does.
func TestRunTakesIt(t *testing.T) {
	t.Parallel()
	live, gone := editor.Start(t, editor.Options{}), editor.Start(t, editor.Options{})
	must.Get(live.Open(editor.Tab{Name: "x"}))(t)
	gone.Vanish(true)
	sources := must.Get(Sources(Options{Sockets: []string{live.Socket(), gone.Socket()}, UID: os.Geteuid()}))(t)
	s := collectors.Run(t.Context(), collectors.RunOptions{Sources: sources, Timeout: wait.Patience})
	got := map[string]string{}
	for name, src := range s.Sources {
		got[name] = src.Status
	}
	must.Equal(t, map[string]string{"vscode/" + live.ID(): snapshot.OK, "vscode/" + gone.ID(): snapshot.Absent}, got, "states of the sources")
	must.Equal(t, []string{"tab:vscode/" + live.ID() + "/1"}, slices.Collect(maps.Keys(s.Tabs)), "tabs")
}

// TestAnUnknownSessionIsSaid has a tab whose process lives while it is not known when that began: the number may be another process's.
func TestAnUnknownSessionIsSaid(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	n := must.Get(w.Open(editor.Tab{Name: "x", Argv: []string{"sleep", "1000"}}))(t)
	tab := func() *snapshot.EditorTab {
		return reading(t, Options{}, w).Tabs[ID("vscode/"+w.ID(), strconv.Itoa(n))].Editor
	}
	must.Equal(t, "", *tab().Error, "what could not be read of a known session")
	w.Change(n, func(t *editor.Tab) { t.Ticks = nil })
	if got := tab(); got.Session != nil || !strings.Contains(*got.Error, "which processes were started in it is not known") {
		t.Errorf("session %v, error %q", got.Session, *got.Error)
	}
}
