package codev

import (
	"strings"
	"testing"
	"time"

	"winnow/actuators/panes"
	"winnow/engine/decision"
	"winnow/testkit/tower"
)

// lost is a development server that its Tower lost when it was started anew, with command running in it.
func (w *world) lost(command ...string) (tower.TerminalState, decision.Terminal) {
	w.t.Helper()
	st := w.Terminal(w.ws, tower.Terminal{RoleID: "builder-pir-883", Dev: true, Command: command})
	w.Restart()
	id := w.identity(st, shellper, "")
	id.RoleKind, id.Role = dev, "builder-pir-883"
	return st, id
}

func runs(pid int) bool {
	h, err := panes.Hold("/proc", pid)
	if err == nil {
		h.Close()
	}
	return err == nil
}

func TestEndsAServerThatTheTowerLost(t *testing.T) {
	t.Parallel()
	t.Run("with what runs in it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st, id := w.lost("sh", "-c", "sleep 1000 & sleep 1000")
		eventually(t, "both run", func() bool { return len(w.belowOf(st.PID)) == 3 })
		family := w.belowOf(st.PID)
		out := w.act(id)
		want(t, out, decision.Done, "ended when asked to", id.ID, "3 of its 3 processes with it")
		if out.Freed.RSS <= rss {
			t.Errorf("freed %d", out.Freed.RSS)
		}
		for _, pid := range append(family, st.PID) {
			if runs(pid) {
				t.Errorf("pid %d still runs", pid)
			}
		}
		want(t, w.settle(id), decision.Done, "gone")
		want(t, w.act(id), decision.Gone, "has ended")
	})
	t.Run("with what does not end when asked to", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.o.TermGrace = 200 * time.Millisecond
		st, id := w.lost("sh", "-c", "trap '' TERM HUP; echo deaf; sleep 1000")
		eventually(t, "it is deaf", func() bool { return strings.Contains(w.Output(st.ID), "deaf") && len(w.belowOf(st.PID)) == 2 })
		family := w.belowOf(st.PID)
		want(t, w.act(id), decision.Done, "2 of its 2 processes with it")
		for _, pid := range family {
			if runs(pid) {
				t.Errorf("pid %d still runs", pid)
			}
		}
	})
}

// TestSparesAServerThatIsNotAsItWasJudged has it become another thing between the look that is judged and the signal.
func TestSparesAServerThatIsNotAsItWasJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(w *world, f *fake, id *decision.Terminal)
		outcome string
		says    string
	}{
		"something began in it":            {func(_ *world, f *fake, _ *decision.Terminal) { f.child("child") }, decision.Changed, "has begun to live below"},
		"something began in its group":     {func(_ *world, f *fake, _ *decision.Terminal) { f.child("background") }, decision.Changed, "has begun to live below"},
		"somebody uses its terminal":       {func(_ *world, f *fake, _ *decision.Terminal) { f.child("terminal") }, decision.Refused, "uses the terminal"},
		"one of them is never signalled":   {func(w *world, _ *fake, _ *decision.Terminal) { w.o.Never = []string{"sleep"} }, decision.Refused, "never signalled"},
		"the Tower lists it":               {func(w *world, f *fake, _ *decision.Terminal) { w.SetPID(w.builder(tower.Terminal{}).ID, f.pid) }, decision.Changed, "lists it now"},
		"it is a shellper nobody knows":    {func(_ *world, _ *fake, id *decision.Terminal) { id.RoleKind, id.Role = shellper, "" }, decision.Refused, "lives below pid"},
		"it is called by another's pid":    {func(_ *world, _ *fake, id *decision.Terminal) { id.ID = "pid-1" }, decision.Refused, "does not have an id of Codev's"},
		"it is listed under its process":   {func(_ *world, _ *fake, id *decision.Terminal) { id.Listed, id.Status = true, running }, decision.Refused, "does not have an id of Codev's"},
		"its process is known no more":     {func(_ *world, _ *fake, id *decision.Terminal) { id.Process = nil }, decision.Refused, "does not have an id of Codev's"},
		"it is an architect's by its kind": {func(_ *world, _ *fake, id *decision.Terminal) { id.RoleKind = "architect" }, decision.Refused, "only those of builders"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := newFake(t, w.conf(nil))
			f.child("child")
			id := w.unknown(f.pid)
			id.RoleKind, id.Role = dev, "builder-pir-883"
			changed := false
			w.o.Step = func(step string) {
				if step == StepTerm && !changed {
					changed = true
					c.change(w, f, &id)
				}
			}
			if strings.HasPrefix(name, "it is") || strings.HasPrefix(name, "its process") || strings.HasPrefix(name, "one of") {
				c.change(w, f, &id)
				changed = true
			}
			want(t, w.act(id), c.outcome, c.says, "left untouched")
			if !f.alive() {
				t.Error("it was ended")
			}
		})
	}
}

// belowOf lists what lives below a shellper.
func (w *world) belowOf(pid int) []int {
	w.t.Helper()
	all, err := panes.Scan("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	return below(all, pid)
}

// What left the process that is root, by its parent, and stayed in a session that root began is below it; nothing else is.
func TestBelow(t *testing.T) {
	t.Parallel()
	all := map[int]panes.Stat{
		10: {Parent: 1, Session: 10, Group: 10}, 11: {Parent: 10, Session: 11, Group: 11}, 12: {Parent: 1, Session: 11, Group: 12},
		13: {Parent: 12, Session: 13, Group: 13}, 20: {Parent: 1, Session: 1, Group: 1}, 21: {Parent: 20, Session: 9, Group: 9},
	}
	if got := len(below(all, 10)); got != 3 {
		t.Errorf("%d live below: %v", got, below(all, 10))
	}
	for _, pid := range below(all, 10) {
		if pid < 11 || pid > 13 {
			t.Errorf("%d lives below", pid)
		}
	}
}
