package main

import (
	"os"
	"strings"
	"testing"
)

// What is held while a sweep acts counts before the next act: here the hold is placed when the look has said that the folder may go, and the act
// on it is written down.
func TestAHoldBetweenLookAndActCounts(t *testing.T) {
	t.Parallel()
	w := newCrashFolder(t)
	line := itself() + " retain --config " + w.config + " dir:" + w.worktree + " --reason later"
	out, err := w.run([]string{runAt + "=dir.refs:" + line}, "winnow", "sweep", "--config", w.config, "--kind", "dir", "--apply")
	if _, gone := os.Stat(w.worktree); gone != nil {
		t.Fatalf("it was held, and went all the same: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "held by") {
		t.Errorf("the act does not say why it was not done: %v\n%s", err, out)
	}
}
