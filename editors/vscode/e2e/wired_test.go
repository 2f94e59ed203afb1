package e2e

import (
	"strings"
	"testing"
	"time"
)

// beside are tabs that must stay: an architect's, a shell of Codev's and a person's own.
var beside = []string{"Codev: Architect", "Codev: Shell #1", "mine"}

func (w *window) beside() {
	w.ask(map[string]any{"call": "pty", "name": beside[0]})
	w.ask(map[string]any{"call": "pty", "name": beside[1]})
	w.ask(map[string]any{"call": "shell", "name": beside[2]})
	w.eventually("the tabs beside are open", func() bool { return w.has(beside[0]) && w.has(beside[1]) && w.has(beside[2]) })
}

// TestTheTriggerWasNeverWired: nothing tells the editor of the cleanup.
func TestTheTriggerWasNeverWired(t *testing.T) {
	b := newBench(t, settings{sweep: true})
	w := b.open(b.workspace("acme"))
	w.beside()
	s := w.builder("builder-pir-883", "Codev: builder-pir-883")
	w.stays(8*time.Second, "Codev: builder-pir-883")
	w.cleanUp("builder-pir-883", s)
	w.closes("Codev: builder-pir-883")
	w.stays(3*time.Second, beside...)
}

// TestTheRowStays: a cleanup that leaves the row behind.
func TestTheRowStays(t *testing.T) {
	b := newBench(t, settings{sweep: true})
	w := b.open(b.workspace("acme"))
	s := w.builder("builder-pir-883", "Codev: builder-pir-883")
	w.cleanUpButRow("builder-pir-883", s)
	w.stays(10*time.Second, "Codev: builder-pir-883")
	if _, said := b.decision("Codev: builder-pir-883"); !strings.Contains(said, "its builder builder-pir-883 is on record") {
		t.Errorf("what keeps it is not said: %s", said)
	}
	w.tower.RemoveBuilder(w.folder, "builder-pir-883")
	w.closes("Codev: builder-pir-883")
}
