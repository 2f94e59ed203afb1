package tmux

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// TestBatch ends two sessions by two looks, and leaves the one between them, to which something is sent after the last look: the server itself
// sees that.
func TestBatch(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	j := s.judge(loose)
	var ds []decision.Decision
	for _, name := range []string{"w1", "w2", "w3"} {
		s.Run("new-session", "-d", "-s", name, "exec sleep 1000")
	}
	for _, name := range []string{"w1", "w2", "w3"} {
		ds = append(ds, s.decide(j, name, decision.Reap))
	}
	j.After = func(times int) {
		if times == 1 {
			s.Run("link-window", "-d", "-s", ds[1].Identity.Session.ID+":", "-t", "=bystander:7")
		}
	}
	a := actuator(t, Options{Shells: shells})
	out := map[string]decision.Outcome{} // the eldest comes first, by how old each was when it was decided on
	for _, act := range j.CarryAll(t.Context(), a, ds...) {
		out[act.Candidate] = act.Outcome
	}
	for i, want := range []string{decision.Done, decision.Changed, decision.Done} {
		if got := out[ds[i].ID]; got.Outcome != want {
			t.Errorf("%d: want %s: %+v", i+1, want, got)
		}
	}
	if s.Has("w1") || !s.Has("w2") || s.Has("w3") || !s.Has("bystander") {
		t.Errorf("w1 %v, w2 %v, w3 %v, the bystander %v", s.Has("w1"), s.Has("w2"), s.Has("w3"), s.Has("bystander"))
	}
	// On a slow machine a kill may take longer than a judgement lasts; then what is left is looked at once more.
	if n := j.Looks(); n < 2 || n > 4 {
		t.Errorf("%d looks", n)
	}
	if len(j.Outcomes) != 3 {
		t.Errorf("%d outcomes were written down", len(j.Outcomes))
	}
}

// TestBatchOf keeps sessions apart that show one pane, and holds few at once.
func TestBatchOf(t *testing.T) {
	t.Parallel()
	of := func(server int, panes ...string) decision.Decision {
		d := decision.Decision{Kind: "session", Identity: decision.Identity{Session: &decision.Session{ServerPID: server}}}
		for _, p := range panes {
			d.Identity.Session.Panes = append(d.Identity.Session.Panes, decision.Pane{ID: p})
		}
		return d
	}
	many := []decision.Decision{}
	for range maxBatch + 2 {
		many = append(many, of(1))
	}
	for name, c := range map[string]struct {
		ds   []decision.Decision
		want int
	}{
		"panes of their own":         {[]decision.Decision{of(1, "%1", "%2"), of(1, "%3"), of(2, "%1")}, 3},
		"one that two show":          {[]decision.Decision{of(1, "%1"), of(1, "%2"), of(1, "%3", "%1")}, 2},
		"one that shows a pane once": {[]decision.Decision{of(1, "%1", "%1"), of(1, "%2")}, 2},
		"one that is no session":     {[]decision.Decision{of(1, "%1"), {}}, 1},
		"many":                       {many, maxBatch},
	} {
		if got := New(Options{}).Batch(c.ds); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
