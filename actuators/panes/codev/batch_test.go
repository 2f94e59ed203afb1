package codev

import (
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	kit "github.com/winnow-reaper/winnow/test/kit/tower"
)

// TestBatchOf takes terminals together that the Tower lists, and none that has the process of another.
func TestBatchOf(t *testing.T) {
	t.Parallel()
	of := func(pid int, listed bool) decision.Decision {
		d := decision.Decision{Kind: "terminal", Identity: decision.Identity{Terminal: &decision.Terminal{Listed: listed}}}
		if pid > 0 {
			d.Identity.Terminal.Process = &decision.Process{PID: pid}
		}
		return d
	}
	for name, c := range map[string]struct {
		ds   []decision.Decision
		want int
	}{
		"listed":                      {[]decision.Decision{of(10, true), of(11, true), of(0, true), of(0, true)}, 4},
		"one that is not listed":      {[]decision.Decision{of(10, true), of(11, false), of(12, true)}, 1},
		"one that is not listed only": {[]decision.Decision{of(10, false), of(11, true)}, 1},
		"two with one process":        {[]decision.Decision{of(10, true), of(11, true), of(10, true)}, 2},
		"one that is no terminal":     {[]decision.Decision{of(10, true), {}}, 1},
	} {
		if got := (&Actuator{}).Batch(c.ds); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestBatch has the Tower close two terminals that were judged by the same looks, and leaves one that was judged to stay.
func TestBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for range 3 {
		ids = append(ids, w.builder(kit.Terminal{}).ID)
	}
	w.expect(ids[0])
	w.expect(ids[2])
	var ds []decision.Decision
	for _, id := range ids {
		ds = append(ds, w.decide(id))
	}
	ds[1].Identity.Key += "x"            // another thing by now
	out := map[string]decision.Outcome{} // the eldest comes first, by how old each was when it was decided on
	for _, act := range w.judge.CarryAll(t.Context(), New(w.o), ds...) {
		out[act.Candidate] = act.Outcome
	}
	for i, want := range []string{decision.Done, decision.Changed, decision.Done} {
		if got := out[ds[i].ID]; got.Outcome != want || w.Alive(ids[i]) != (i == 1) {
			t.Errorf("%d: want %s, and it lives: %v: %+v", i, want, w.Alive(ids[i]), got)
		}
	}
}

func TestAttackAnotherUserIsWhereTheTowerWas(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	w := newWorld(t)
	st := w.builder(kit.Terminal{})
	a := attack.New(t, "another user listens where the Tower was that is to close a terminal")
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		heard := attacker.Listen(t, "tcp", at)
		for range 20 {
			id := w.identity(st)
			id.Tower = "http://" + heard.Address
			out := w.direct(id)
			switch {
			case out.Outcome != decision.Refused || !strings.Contains(out.Detail, "another user") || !strings.Contains(out.Detail, "left untouched"):
				a.Lost("%s: %s", out.Outcome, out.Detail)
			case heard.Text() != "":
				a.Lost("he heard %q", heard.Text())
			default:
				a.Held()
			}
		}
	}
	w.untouched(st)
}
