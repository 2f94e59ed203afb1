package editor

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// Tab is a terminal tab. Nil is what is not known, or not there.
type Tab struct {
	Name         string
	CreationName *string
	// Shape is shell, task or pty; "" is shell.
	Shape   string
	Program *string
	Cwd     string
	// Variables are the names of the variables that it was opened with, where Whole says that they are known.
	Variables []string
	Whole     bool
	// Argv, where it is set, is run on a terminal of its own. Else PID and Ticks are told as they are.
	Argv     []string
	PID      int
	Ticks    *uint64
	ExitCode *int
	Typed    *bool
	Opened   time.Time // zero is now
	Shown    *time.Time
}

// tab is one that the window has.
type tab struct {
	Tab
	n     int
	child *child
}

// hangUp ends the tab's terminal.
func (t *tab) hangUp() {
	if t.child != nil {
		t.child.hangUp()
	}
}

// world is what the window has.
type world struct {
	sync.Mutex
	last    int
	active  int // the number of the active tab, 0 for none
	tabs    []*tab
	folders []string
	focused bool
}

func (m *world) find(n int) *tab {
	if i := slices.IndexFunc(m.tabs, func(t *tab) bool { return t.n == n }); i >= 0 {
		return m.tabs[i]
	}
	return nil
}

// remove takes a tab out. The one before it, or the first, is the active one then, as in VS Code.
func (m *world) remove(t *tab) {
	i := slices.Index(m.tabs, t)
	m.tabs = slices.Delete(m.tabs, i, i+1)
	if m.active != t.n {
		return
	}
	m.active = 0
	if len(m.tabs) > 0 {
		next := m.tabs[max(0, i-1)]
		m.active, next.Shown = next.n, new(time.Now())
	}
}

// told is what the window says of a tab.
func (m *world) told(t *tab, markers []string) object {
	out := object{"n": t.n, "name": t.Name, "shape": t.Shape, "active": m.active == t.n, "opened_at": t.Opened.UTC().Format(time.RFC3339Nano)}
	if t.CreationName != nil {
		out["creation_name"] = *t.CreationName
	}
	if t.Program != nil {
		out["program"] = *t.Program
	}
	if t.Cwd != "" {
		out["cwd"] = t.Cwd
	}
	if t.Whole {
		out["markers"] = slices.DeleteFunc(append([]string{}, markers...), func(m string) bool { return !slices.Contains(t.Variables, m) })
	}
	if t.PID != 0 {
		out["pid"] = t.PID
		if t.Ticks != nil {
			out["start_ticks"] = *t.Ticks
		}
	}
	if t.ExitCode != nil {
		out["exit_code"] = *t.ExitCode
	}
	if t.Typed != nil {
		out["typed"] = *t.Typed
	}
	if t.Shown != nil {
		out["shown_at"] = t.Shown.UTC().Format(time.RFC3339Nano)
	}
	return out
}

// reload gives new numbers, and forgets.
func (m *world) reload(remembered bool) {
	m.Lock()
	defer m.Unlock()
	m.tabs = slices.DeleteFunc(m.tabs, func(t *tab) bool { return t.Shape == "pty" })
	m.last, m.active = 0, 0
	for _, t := range m.tabs {
		m.last++
		t.n, t.Shown = m.last, nil
		if !remembered {
			t.CreationName, t.Program, t.Typed, t.Whole, t.Opened = nil, nil, nil, false, time.Now()
		}
	}
}

// end closes all terminals.
func (m *world) end() {
	m.Lock()
	defer m.Unlock()
	for _, t := range m.tabs {
		t.hangUp()
	}
}

// Open opens a tab, which is the active one then, and gives its number.
func (w *Window) Open(o Tab) (int, error) {
	t := &tab{Tab: o}
	if t.Shape == "" {
		t.Shape = "shell"
	}
	if t.Opened.IsZero() {
		t.Opened = time.Now()
	}
	if len(o.Argv) > 0 {
		child, err := spawn(o.Argv, o.Cwd, append(os.Environ(), w.mark))
		if err != nil {
			return 0, err
		}
		t.child, t.PID, t.Ticks = child, child.pid(), &child.ticks
	}
	w.world.Lock()
	w.world.last++
	t.n = w.world.last
	w.world.active = t.n
	if t.Shown == nil {
		t.Shown = new(time.Now())
	}
	w.world.tabs = append(w.world.tabs, t)
	w.world.Unlock()
	w.tell("opened", t.n)
	return t.n, nil
}

// Tab gives a tab as it is now, and an empty one when it is missing.
func (w *Window) Tab(n int) Tab {
	w.world.Lock()
	defer w.world.Unlock()
	if t := w.world.find(n); t != nil {
		return t.Tab
	}
	return Tab{}
}

// Change changes a tab as f does, and nothing when it is missing.
func (w *Window) Change(n int, f func(*Tab)) {
	w.world.Lock()
	if t := w.world.find(n); t != nil {
		f(&t.Tab)
	}
	w.world.Unlock()
	w.tell("changed", n)
}

// Shut closes a tab as a person does.
func (w *Window) Shut(n int) {
	w.world.Lock()
	t := w.world.find(n)
	if t != nil {
		w.world.remove(t)
	}
	w.world.Unlock()
	if t != nil {
		t.hangUp()
		w.tell("closed", n)
	}
}

// Activate makes a tab the active one; 0 activates no tab.
func (w *Window) Activate(n int) {
	w.world.Lock()
	defer w.world.Unlock()
	w.world.active = n
	if t := w.world.find(n); t != nil {
		t.Shown = new(time.Now())
	}
}

// Focus gives the window the focus, or takes it away.
func (w *Window) Focus(on bool) {
	w.world.Lock()
	defer w.world.Unlock()
	w.world.focused = on
}

// Await waits until the process of a tab has ended and was reaped. The tab stays, as one of a task does.
func (w *Window) Await(n int) error {
	w.world.Lock()
	t := w.world.find(n)
	w.world.Unlock()
	if t == nil || t.child == nil {
		return fmt.Errorf("tab %d has no process of its own", n)
	}
	select {
	case <-t.child.done:
	case <-time.After(wait.Patience):
		return fmt.Errorf("the process of tab %d does not end", n)
	}
	w.Change(n, func(t *Tab) { t.ExitCode = new(0) })
	w.tell("ended", n)
	return nil
}
