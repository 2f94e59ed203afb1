package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// TestAClockThatIsSetBetweenLooks gives every wait a new start. The machine's clock is left alone: the program runs in time namespaces whose clocks since boot differ, which to two
// looks is the same as a wall clock that was set, or a time suspended.
func TestAClockThatIsSetBetweenLooks(t *testing.T) {
	stage.NeedSecond(t, "it needs a time namespace")
	t.Parallel()
	startsOften(t)
	if out, err := exec.Command("unshare", "--time", "--boottime", "1", "true").CombinedOutput(); err != nil {
		t.Skipf("needs a time namespace: %v %s", err, out)
	}
	const far = "1000000" // seconds
	plain, set, suspended := []string{}, []string{"--boottime", far, "--monotonic", far}, []string{"--boottime", far}
	for name, clocks := range map[string][][]string{ // it goes at the last of these looks, and was seen before all of them
		"the clock stays":           {plain},
		"the wall clock is set":     {set, set},
		"it is set back":            {set, plain, plain},
		"the machine was suspended": {suspended, suspended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCrashSession(t)
			files.Write(t, w.config, strings.Replace(w.configuration(t), "confirm_after: 0s", "confirm_after: 100ms", 1))
			for i, clock := range clocks {
				time.Sleep(200 * time.Millisecond) // longer than confirm_after
				args := append(append([]string{"--time"}, clock...), itself(), "run", "--once", "--apply", "--config", w.config)
				out, err := w.run(nil, "unshare", args...)
				if err != nil {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
				if said, want := strings.Contains(string(out), "every wait begins again: "), i < len(clocks)-1; said != want {
					t.Errorf("it says at look %d that every wait begins again: %v, want %v: %s", i+1, said, want, out)
				}
				_, err = w.run(nil, "tmux", "-S", w.worktree, "has-session", "-t", "=worker-1")
				if goes, want := err != nil, i == len(clocks)-1; goes != want {
					t.Fatalf("it goes at look %d: %v, want %v", i+1, goes, want)
				}
			}
		})
	}
}
