package alarm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// wanting is a world in which these are to be reaped.
func wanting(kind string, n int) (*world, []string) {
	w := newWorld()
	w.add(kind, 0, n, true)
	var ids []string
	for i := range n {
		ids = append(ids, id(kind, i))
		w.in[id(kind, i)] = decision.Reap
	}
	return w, ids
}

func TestRefusedAgainAndAgain(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{decision.Refused, decision.Failed, decision.Changed} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			w, ids := wanting("dir", 1)
			want(t, w.look(0))
			for range 2 {
				w.acts("k ", outcome, ids...)
				want(t, w.look(time.Hour))
			}
			w.acts("k ", outcome, ids...)
			alarms := w.look(0)
			want(t, alarms, "refused_again "+ids[0])
			says(t, alarms, ids[0]+" (fix)", "3 times in a row since "+clock(now), outcome+": git said no")
			want(t, w.look(time.Hour), "refused_again "+ids[0]) // also where nothing is tried
		})
	}
}

func TestWhatEndsARefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     func(w *world, ids []string)
		remembered bool
	}{
		"it was done":                {func(w *world, ids []string) { w.acts("k ", decision.Done, ids...) }, false},
		"it was gone":                {func(w *world, ids []string) { w.acts("k ", decision.Gone, ids...) }, false},
		"another thing is refused":   {func(w *world, ids []string) { w.acts("other ", decision.Refused, ids...) }, true},
		"it is gone":                 {func(w *world, ids []string) { w.close("dir", 0, 1) }, false},
		"it is not wanted any more":  {func(w *world, ids []string) { w.in[ids[0]] = decision.Spare }, true},
		"it is long past":            {func(w *world, ids []string) { w.snap.TakenAt = w.snap.TakenAt.Add(169 * time.Hour) }, false},
		"nothing is remembered":      {func(w *world, ids []string) { w.limits.Remember = 0 }, false},
		"it is never to be reported": {func(w *world, ids []string) { w.limits.RefusedTimes = 0 }, true},
		"it cannot be seen":          {func(w *world, ids []string) { w.close("dir", 0, 1); w.source("dirs//w", snapshot.Failed) }, true},
		"another thing has its name": {func(w *world, ids []string) {
			r := w.memory.Refusals[ids[0]]
			r.Identity = "k of another"
			w.memory.Refusals[ids[0]] = r
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ids := wanting("dir", 1)
			for range 3 {
				w.acts("k ", decision.Refused, ids...)
			}
			want(t, w.look(0), "refused_again "+ids[0])
			c.change(w, ids)
			want(t, w.look(0))
			if name == "another thing is refused" && w.memory.Refusals[ids[0]].Count != 1 {
				t.Errorf("counted on: %+v", w.memory.Refusals[ids[0]])
			}
			if _, ok := w.memory.Refusals[ids[0]]; ok != c.remembered {
				t.Errorf("remembered: %v; want %v", ok, c.remembered)
			}
		})
	}
}

func TestAnActThatIsOpenCountsForNothing(t *testing.T) {
	t.Parallel()
	w, ids := wanting("dir", 1)
	for range 2 {
		w.acts("k ", decision.Refused, ids...)
	}
	w.actsOpen(ids[0])
	want(t, w.look(0))
	if n := w.memory.Refusals[ids[0]].Count; n != 2 {
		t.Errorf("refused %d times; want 2", n)
	}
}

// Forty refusals of one cause are one alarm.
func TestManyRefusals(t *testing.T) {
	t.Parallel()
	w, ids := wanting("tab", 40)
	for range 3 {
		w.acts("k ", decision.Refused, ids...)
	}
	w.acts("k ", decision.Refused, ids[7])
	alarms := w.look(0)
	want(t, alarms, "refused_again "+ids[7])
	says(t, alarms, "4 times in a row", "39 other tabs fare the same")
	w, ids = wanting("tab", 3)
	for range 3 {
		w.acts("k ", decision.Refused, ids...)
	}
	want(t, w.look(0), "refused_again "+ids[0], "refused_again "+ids[1], "refused_again "+ids[2])
}

func TestCappedAgainAndAgain(t *testing.T) {
	t.Parallel()
	w, ids := wanting("tab", 5)
	for range 2 {
		w.acts("k ", decision.Capped, ids...)
		want(t, w.look(time.Hour))
	}
	w.acts("k ", decision.Capped, ids...)
	alarms := w.look(0)
	want(t, alarms, "capped_again")
	says(t, alarms, "kind tab", "3 sweeps in a row since "+clock(now), "git said no")
	if n := len(w.memory.Refusals); n != 0 {
		t.Errorf("%d refusals are remembered of what was capped", n)
	}
	want(t, w.look(time.Hour), "capped_again")
}

func TestWhatEndsACap(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world, ids []string){
		"one was tried":         func(w *world, ids []string) { w.acts("k ", decision.Refused, ids[0]) },
		"nothing is wanted":     func(w *world, ids []string) { clear(w.in) },
		"it is long past":       func(w *world, ids []string) { w.snap.TakenAt = w.snap.TakenAt.Add(169 * time.Hour) },
		"nothing is remembered": func(w *world, ids []string) { w.limits.Remember = 0 },
		"one of them was done": func(w *world, ids []string) {
			w.actsOf("", map[string]string{ids[0]: decision.Capped, ids[1]: decision.Done})
		},
		"one was begun and is open": func(w *world, ids []string) { w.actsOpen(ids[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ids := wanting("process", 5)
			for range 3 {
				w.acts("k ", decision.Capped, ids...)
			}
			want(t, w.look(0), "capped_again")
			change(w, ids)
			for _, a := range w.look(0) {
				if strings.HasPrefix(a.Rule, "capped") {
					t.Error(a.Message)
				}
			}
			if len(w.memory.Capped) != 0 {
				t.Errorf("remembered: %v", w.memory.Capped)
			}
		})
	}
}

// While a source fails nothing is wanted, which says nothing of the cap.
func TestACapIsRememberedWhileASourceFails(t *testing.T) {
	t.Parallel()
	w, ids := wanting("tab", 5)
	for range 3 {
		w.acts("k ", decision.Capped, ids...)
	}
	w.source("proc", snapshot.Failed)
	clear(w.in)
	want(t, w.look(0))
	w.source("proc", snapshot.OK)
	for _, id := range ids {
		w.in[id] = decision.Reap
	}
	want(t, w.look(0), "capped_again")
}
