package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/tower"
)

const (
	builder = "builder-pir-883"
	tab     = "Codev: " + builder
)

// TestTheFirstLookCameAfterTheCleanup: no window looked while the builder was there.
func TestTheFirstLookCameAfterTheCleanup(t *testing.T) {
	b := newBench(t, settings{sweep: false})
	w := b.open(b.workspace("acme"))
	s := w.builder(builder, tab)
	w.cleanUp(builder, s)
	time.Sleep(3 * time.Second) // looks of a window that may not sweep close nothing
	if !w.has(tab) {
		t.Fatal("it was closed although winnow.sweep is off")
	}
	b.settings("Machine", map[string]any{"winnow.path": w.program(), "winnow.sweep": true, "winnow.every": 5})
	w.closes(tab)
}

// TestTheExtensionComesAfterTheCleanup: the builder was cleaned up before Winnow was ever on this machine, in a window that is open.
func TestTheExtensionComesAfterTheCleanup(t *testing.T) {
	b := newBench(t, settings{sweep: true, late: true})
	w := b.open(b.workspace("acme"))
	w.beside()
	s := w.builder(builder, tab)
	w.cleanUp(builder, s)
	w.ask(map[string]any{"call": "show", "name": "mine"})
	if exists(filepath.Join(b.dir, "state/winnow")) || len(b.sockets()) > 0 {
		t.Fatal("winnow has looked before")
	}
	b.install()
	w.closes(tab)
	w.stays(3*time.Second, beside...)
}

// TestARequestHangs: the Tower takes requests and answers none.
func TestARequestHangs(t *testing.T) {
	b := newBench(t, settings{sweep: true})
	w := b.open(b.workspace("acme"))
	s := w.builder(builder, tab)
	b.tower.Fault(func(int, tower.Call) tower.Fault { return tower.Hang })
	w.cleanUp(builder, s)
	w.stays(12*time.Second, tab)
	if _, said := b.decision(tab); !strings.Contains(said, "could not be read") {
		t.Errorf("what keeps it is not said: %s", said)
	}
	b.tower.Fault(nil)
	w.closes(tab)
}

// TestAnotherSpelling: the tab has another spelling of the builder's id than the row.
func TestAnotherSpelling(t *testing.T) {
	b := newBench(t, settings{sweep: true})
	w := b.open(b.workspace("acme"))
	s := w.builder(builder, "Codev: Builder-PIR-0883")
	w.stays(10*time.Second, "Codev: Builder-PIR-0883")
	w.cleanUp(builder, s)
	w.closes("Codev: Builder-PIR-0883")
}

// TestAClosingThatDoesNothing: the page of the window does not answer, so that the extension host asks it in vain.
func TestAClosingThatDoesNothing(t *testing.T) {
	b := newBench(t, settings{sweep: false})
	w := b.open(b.workspace("acme"))
	s := w.builder(builder, tab)
	w.cleanUp(builder, s)
	b.decision(tab)
	time.Sleep(1500 * time.Millisecond)
	b.driver.call(map[string]any{"call": "freeze", "window": w.name})
	out, code := b.winnow("sweep", "--apply", "--kind", "tab,terminal")
	if code != 3 || !strings.Contains(out, "the window still shows it") {
		t.Errorf("exit %d, want 3 and that the window still shows it:\n%s", code, out)
	}
	if !w.has(tab) {
		t.Error("the editor has it no more")
	}
	b.driver.call(map[string]any{"call": "thaw", "window": w.name})
	w.eventually("the tab closes when the page answers", func() bool {
		b.winnow("sweep", "--apply", "--kind", "tab,terminal")
		return !w.has(tab)
	})
}

// TestTheTerminalGoesFirst: a cleanup leaves the terminal at the Tower. It goes, and its tab goes after it in the same sweep.
func TestTheTerminalGoesFirst(t *testing.T) {
	b := newBench(t, settings{sweep: false})
	w := b.open(b.workspace("acme"))
	s := w.builder(builder, tab)
	must.Do(t, os.RemoveAll(w.worktree(builder)))
	w.tower.RemoveBuilder(w.folder, builder)
	time.Sleep(1500 * time.Millisecond) // rules.terminal_idle
	verdict, said := b.decision(tab)
	if verdict != "spare" || !strings.Contains(said, "a terminal that it shows has not ended: terminal:codev/") {
		t.Fatalf("the tab is to %s: %s", verdict, said)
	}
	time.Sleep(1500 * time.Millisecond) // rules.confirm_after
	if out, _ := b.winnow("sweep", "--kind", "tab,terminal"); !strings.Contains(out, "after") {
		t.Errorf("a dry run does not say that the tab goes after its terminal:\n%s", out)
	}
	w.tower.Expect("DELETE", "/api/terminals/"+s.ID)
	out, code := b.winnow("sweep", "--apply", "--kind", "tab,terminal")
	if code != 0 || !strings.Contains(out, "2 acts done") {
		t.Errorf("exit %d; want both to go in one sweep:\n%s", code, out)
	}
	if w.has(tab) || !w.tower.Gone(s.ID) {
		t.Errorf("the window has %q, and the terminal is gone: %v", w.names(), w.tower.Gone(s.ID))
	}
}
