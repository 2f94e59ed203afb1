package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func events(ids ...string) (all []ledger.Event) {
	for _, id := range ids {
		all = append(all, ledger.Event{Sink: "service", ID: id, JSON: fmt.Appendf(nil, `{"decision_id":%q}`, id)})
	}
	return all
}

func waiting(t *testing.T, l *ledger.Ledger) string {
	t.Helper()
	all := must.Get(l.Events(t.Context(), "service", 0, 100))(t)
	var got []string
	for _, e := range all {
		got = append(got, e.ID)
	}
	return strings.Join(got, " ")
}

// TestEventsWaitInTheirOrder gives each event once, in its order, until its sink has it.
func TestEventsWaitInTheirOrder(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	must.Do(t, l.QueueEvents(ctx, events("a", "b", "c"), 1<<20))
	must.Do(t, l.QueueEvents(ctx, events("b", "d"), 1<<20))
	must.Do(t, l.IntendLogged(ctx, intent("01AAA", t0), events("e"), 1<<20))
	if err := l.IntendLogged(ctx, intent("01AAA", t0), events("f"), 1<<20); err == nil {
		t.Error("an act was intended twice")
	}
	if got := waiting(t, l); got != "a b c d e" { // f is not there: its intent was not written
		t.Errorf("waiting: %s", got)
	}
	again, err := ledger.Open(l.Path()) // as after a restart
	must.Do(t, err)
	if got := waiting(t, again); got != "a b c d e" {
		t.Errorf("waiting after a restart: %s", got)
	}
	must.Do(t, again.Close())
	first := must.Get(l.Events(ctx, "service", 0, 2))(t)
	next, err := l.Events(ctx, "service", first[1].N, 1)
	if err != nil || next[0].ID != "c" || string(next[0].JSON) != `{"decision_id":"c"}` {
		t.Errorf("after the first two: %+v, %v", next, err)
	}
	must.Do(t, l.Delivered(ctx, first))
	must.Do(t, l.Refused(ctx, next))
	if got := waiting(t, l); got != "d e" {
		t.Errorf("waiting: %s", got)
	}
	if n, err := l.Waiting(ctx, "service"); err != nil || n != 2 {
		t.Errorf("%d wait, %v", n, err)
	}
	dropped, err := l.TakeDropped(ctx)
	if err != nil || len(dropped) != 1 || dropped[0].Count != 1 || dropped[0].Sink != "service" {
		t.Errorf("dropped: %+v, %v", dropped, err)
	}
	if again, err := l.TakeDropped(ctx); err != nil || len(again) != 0 {
		t.Errorf("dropped, said already: %+v, %v", again, err)
	}
}

// TestEventsWithoutRoomAreCounted lets the oldest go, of the sink that is full alone.
func TestEventsWithoutRoomAreCounted(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	must.Do(t, l.QueueEvents(ctx, []ledger.Event{{Sink: "file", ID: "a", JSON: []byte(`{}`)}}, 1<<20))
	room := int64(3 * len(`{"decision_id":"a"}`))
	must.Do(t, l.QueueEvents(ctx, events("a", "b", "c", "d"), room))
	must.Do(t, l.QueueEvents(ctx, events("e"), room))
	if got := waiting(t, l); got != "c d e" {
		t.Errorf("waiting: %s", got)
	}
	if n, err := l.Waiting(ctx, "file"); err != nil || n != 1 {
		t.Errorf("%d wait for the file, %v", n, err)
	}
	if dropped, err := l.TakeDropped(ctx); err != nil || len(dropped) != 1 || dropped[0].Count != 2 {
		t.Errorf("dropped: %+v, %v", dropped, err)
	}
}

// TestVerdictsBeforeASweep are those of the last sweep, and of no cleanup.
func TestVerdictsBeforeASweep(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	if got, err := l.Verdicts(ctx, "s0"); err != nil || got != nil {
		t.Errorf("before the first sweep: %v, %v", got, err)
	}
	for i, verdict := range []string{decision.Spare, decision.Reap, decision.Spare} {
		s := ledger.Sweep{ID: fmt.Sprint("s", i), Started: t0, Mode: "dry-run", Sources: map[string]int{}}
		if i == 2 {
			s.Mode, s.Sources = "cleanup", nil
		}
		must.Do(t, l.BeginSweep(ctx, s))
		must.Do(t, l.SaveDecisions(ctx, s.ID, []decision.Decision{{ID: "dir:/w/a", Verdict: verdict, InScope: true}}))
	}
	for before, want := range map[string]string{"s1": decision.Spare, "s2": decision.Reap, "not yet": decision.Reap} {
		if got, err := l.Verdicts(ctx, before); err != nil || got["dir:/w/a"] != want {
			t.Errorf("before %s: %v, %v; want %s", before, got, err, want)
		}
	}
}
