package codev

import (
	"strings"
	"testing"
	"time"

	see "github.com/winnow-reaper/winnow/collectors/panes/codev"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	kit "github.com/winnow-reaper/winnow/test/kit/tower"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// lost is a development server that its Tower lost when it was started again, with command running in it. An earlier look knew it.
func (w *world) lost(command ...string) (kit.TerminalState, decision.Terminal) {
	w.t.Helper()
	st := w.builder(kit.Terminal{Dev: true, Command: command})
	w.remember()
	w.Restart()
	return st, w.unknown(st.PID)
}

// remember has later looks know what this one does.
func (w *world) remember() {
	w.t.Helper()
	s, err := w.judge.Look(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.known = see.Owners(s, w.known, time.Hour)
}

func TestEndsAServerThatTheTowerLost(t *testing.T) {
	t.Parallel()
	t.Run("with what runs in it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st, id := w.lost("sh", "-c", "sleep 1000 & sleep 1000")
		wait.Eventually(t, "both run", func() bool { return len(w.belowOf(st.PID)) == 3 })
		family := w.belowOf(st.PID)
		out := w.act(id)
		want(t, out, decision.Done, "ended when asked to", id.ID, "3 of its 3 processes with it")
		if out.Freed.RSS <= rss(id) {
			t.Errorf("freed %d", out.Freed.RSS)
		}
		for _, pid := range append(family, st.PID) {
			if procs.Lives(pid) {
				t.Errorf("pid %d still runs", pid)
			}
		}
		want(t, w.settle(id), decision.Done, "gone")
		want(t, w.act(id), decision.Gone, "no longer exist")
	})
	t.Run("with what does not end when asked to", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).deaf()
		st, id := w.lost("sh", "-c", "trap '' TERM HUP; echo deaf; sleep 1000")
		wait.Eventually(t, "it is deaf", func() bool { return strings.Contains(w.Output(st.ID), "deaf") && len(w.belowOf(st.PID)) == 2 })
		family := w.belowOf(st.PID)
		want(t, w.act(id), decision.Done, "2 of its 2 processes with it")
		for _, pid := range family {
			if procs.Lives(pid) {
				t.Errorf("pid %d still runs", pid)
			}
		}
	})
}

// TestSparesAServerThatIsNotAsItWasJudged has it become another thing after each step of an act.
func TestSparesAServerThatIsNotAsItWasJudged(t *testing.T) {
	t.Parallel()
	const starts = "while read -r x; do sleep 1000 & done"
	for name, c := range map[string]struct {
		change func(w *world, st kit.TerminalState)
		says   string
	}{
		"something began in it": {func(w *world, st kit.TerminalState) {
			n := len(w.belowOf(st.PID))
			w.Type(st.ID, "x\n")
			wait.Eventually(w.t, "it runs", func() bool { return len(w.belowOf(st.PID)) > n })
		}, "has begun to live below"},
		"the Tower lists it": {func(w *world, st kit.TerminalState) { w.SetPID(w.builder(kit.Terminal{}).ID, st.PID) }, "says now of it"},
	} {
		for _, when := range []string{"held", "saved", "last", StepTerm} {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				st, id := w.lost("sh", "-c", starts)
				change := func(moment string) {
					if moment == when {
						c.change(w, st)
					}
				}
				w.o.Step = change
				out := w.carry(t.Context(), w.decided[id.ID], change)
				if out.Outcome == decision.Done || out.Outcome == decision.Failed {
					t.Errorf("outcome: %+v", out)
				}
				if when == "last" || when == StepTerm {
					want(t, out, decision.Changed, c.says, "left untouched")
				}
				if !w.Alive(st.ID) {
					t.Error("it was ended")
				}
			})
		}
	}
	t.Run("one of them is never signalled", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st, id := w.lost("sh", "-c", "sleep 1000; true")
		wait.Eventually(t, "it runs", func() bool { return len(w.belowOf(st.PID)) == 2 })
		w.o.Never.Names = []string{"sleep"}
		want(t, w.act(id), decision.Refused, "never signalled", "left untouched")
		if !w.Alive(st.ID) {
			t.Error("it was ended")
		}
	})
}

// belowOf lists what lives below a shellper.
func (w *world) belowOf(pid int) []int {
	w.t.Helper()
	all, err := proc.Scan("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	return descendants(all, pid)
}

// What left the process that is root, by its parent, and stayed in a session that root began is below it; nothing else is.
func TestDescendants(t *testing.T) {
	t.Parallel()
	all := map[int]proc.Stat{
		10: {Parent: 1, Session: 10, Group: 10}, 11: {Parent: 10, Session: 11, Group: 11}, 12: {Parent: 1, Session: 11, Group: 12},
		13: {Parent: 12, Session: 13, Group: 13}, 20: {Parent: 1, Session: 1, Group: 1}, 21: {Parent: 20, Session: 9, Group: 9},
	}
	if got := len(descendants(all, 10)); got != 3 {
		t.Errorf("%d live below: %v", got, descendants(all, 10))
	}
	for _, pid := range descendants(all, 10) {
		if pid < 11 || pid > 13 {
			t.Errorf("%d lives below", pid)
		}
	}
}
