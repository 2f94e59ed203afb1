package act

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/vscode"
	"github.com/winnow-reaper/winnow/test/kit/editor"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func of(w *editor.Window) vscode.Window {
	return vscode.Window{Socket: w.Socket(), UID: os.Geteuid(), Patience: wait.Patience}
}

// params are those of the last request of a method.
func params(t *testing.T, w *editor.Window, method string) (last map[string]any) {
	t.Helper()
	for _, c := range w.Calls() {
		if c.Method == method {
			last = nil
			must.Do(t, json.Unmarshal(c.Params, &last))
		}
	}
	return last
}

// TestCloseTab sends every field of the tab that was read, and none that it does not have.
func TestCloseTab(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tab  editor.Tab
		want map[string]any
	}{
		"whole":   {editor.Tab{Name: "x", CreationName: new("y"), PID: 7, Ticks: new(uint64(8))}, map[string]any{"n": 1., "name": "x", "shape": "shell", "creation_name": "y", "pid": 7., "start_ticks": 8.}},
		"unnamed": {editor.Tab{Name: "x", CreationName: new("")}, map[string]any{"n": 1., "name": "x", "shape": "shell", "creation_name": ""}},
		"drawn":   {editor.Tab{Shape: "pty"}, map[string]any{"n": 1., "name": "", "shape": "pty"}},
	} {
		w := editor.Start(t, editor.Options{})
		must.Get(w.Open(c.tab))(t)
		must.Get(w.Open(editor.Tab{Name: "beside"}))(t)
		w.Expect("terminal.dispose", "1")
		var asked *vscode.Terminal
		err := CloseTab(t.Context(), of(w), 1, func(_ vscode.Hello, tab *vscode.Terminal) error { asked = tab; return nil })
		must.Do(t, err)
		must.Equal(t, c.want, params(t, w, "terminal.dispose"), "%s: request", name)
		must.Equal(t, []int{2}, w.Tabs(), "%s: tabs", name)
		must.Equal(t, c.tab.Name, asked.Name, "%s: the tab that was asked about", name)
	}
}

// TestCloseTabAsksFirst holds that nothing is sent where the tab may not go, or is not there.
func TestCloseTabAsksFirst(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	n := must.Get(w.Open(editor.Tab{Name: "x"}))(t)
	no := errors.New("no")
	refuse := func(vscode.Hello, *vscode.Terminal) error { return no }
	agree := func(vscode.Hello, *vscode.Terminal) error { return nil }
	must.Equal(t, true, errors.Is(CloseTab(t.Context(), of(w), n, refuse), no), "the error of the one who was asked")
	err := CloseTab(t.Context(), of(w), n+1, agree)
	must.Equal(t, true, errors.Is(err, vscode.ErrNotSent), "nothing was sent: %v", err)
	w.Fault(func(_ int, c editor.Call) editor.Fault {
		if c.Method == "terminals.list" {
			return editor.PartialLine
		}
		return editor.Fault{}
	})
	err = CloseTab(t.Context(), of(w), n, agree)
	must.Equal(t, true, errors.Is(err, vscode.ErrNotSent), "nothing was sent: %v", err)
	must.Equal(t, 0, len(w.Mutations()), "requests that change something")
}

// TestCloseTabThatChanges has the tab renamed after it was asked about: the window itself refuses.
func TestCloseTabThatChanges(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	n := must.Get(w.Open(editor.Tab{Name: "x"}))(t)
	w.Expect("terminal.dispose", "1")
	w.Expect("terminal.dispose", "1")
	err := CloseTab(t.Context(), of(w), n, func(vscode.Hello, *vscode.Terminal) error {
		w.Change(n, func(t *editor.Tab) { t.Name = "mine" })
		return nil
	})
	must.Equal(t, Changed, vscode.Code(err), "code of %v", err)
	must.Equal(t, []int{n}, w.Tabs(), "tabs")
	err = CloseTab(t.Context(), of(w), n, func(vscode.Hello, *vscode.Terminal) error { w.Shut(n); return nil })
	must.Equal(t, NotFound, vscode.Code(err), "code of %v", err)
}

func TestOpenTab(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	w.Expect("terminal.open", "x")
	w.Expect("terminal.open", "x")
	w.Expect("terminal.open", "x")
	dir := t.TempDir()
	n := must.Get(OpenTab(t.Context(), of(w), "x", dir))(t)
	must.Equal(t, []int{n}, w.Tabs(), "tabs")
	must.Equal(t, map[string]any{"name": "x", "cwd": dir}, params(t, w, "terminal.open"), "request")
	must.Get(OpenTab(t.Context(), of(w), "x", ""))(t)
	must.Equal(t, map[string]any{"name": "x"}, params(t, w, "terminal.open"), "request without a folder")
	if _, err := OpenTab(t.Context(), of(w), "x", dir+"/missing"); vscode.Code(err) != "refused" {
		t.Errorf("a missing folder: %v", err)
	}
}

// TestCut cuts as an editor counts: a letter outside of the basic plane has two units.
func TestCut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, strings.Repeat("x", 256): 256, strings.Repeat("x", 257): 256, strings.Repeat("ü", 257): 512, strings.Repeat("🙂", 200): 512, "x" + strings.Repeat("🙂", 200): 509} {
		if got := cut(text); len(got) != want || !strings.HasPrefix(text, got) {
			t.Errorf("%d bytes of %.8q are cut to %d, want %d", len(text), text, len(got), want)
		}
	}
}
