package alarm_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

const collapsed = "scope_collapsed "

// An upgraded multiplexer no longer says the labels: everything is still there, and no rule claims it any more.
func TestAllLeaveTheScopeAndAreStillThere(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"tab", "session", "dir", "process"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.add(kind, 0, 40, true)
			w.add(kind, 40, 20, false)
			want(t, w.look(0))
			w.leave(kind, 0, 38)
			alarms := w.look(time.Hour)
			want(t, alarms, collapsed+id(kind, 0))
			says(t, alarms, "38 of 40", clock(now.Add(time.Hour)))
			// It stays as long as it is so, and says the same time.
			says(t, w.look(100*time.Hour), "38 of 40", clock(now.Add(time.Hour)))
			// It has ended when it is remembered no longer.
			want(t, w.look(67*time.Hour+59*time.Minute), collapsed+id(kind, 0))
			want(t, w.look(2*time.Hour))
		})
	}
}

func TestScopeThatComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 5, true)
	w.look(0)
	w.leave("tab", 0, 5)
	want(t, w.look(time.Hour), collapsed+id("tab", 0))
	w.add("tab", 0, 5, true)
	want(t, w.look(time.Hour))
	w.leave("tab", 0, 5)
	says(t, w.look(time.Hour), "5 of 5 tabs", clock(now.Add(3*time.Hour)))
}

func TestWhatDoesNotCollapseTheScope(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"it was reaped, ended or closed":              func(w *world) { w.close("tab", 0, 10) },
		"closed, and as many others are there":        func(w *world) { w.close("tab", 0, 10); w.add("tab", 50, 10, false) },
		"too few left":                                func(w *world) { w.close("tab", 0, 8); w.leave("tab", 8, 2) },
		"too small a part left":                       func(w *world) { w.leave("tab", 0, 7) },
		"others came into scope":                      func(w *world) { w.leave("tab", 0, 10); w.add("tab", 50, 3, true) },
		"its source failed and shows nothing":         func(w *world) { w.close("tab", 0, 10); w.source("herdr/default", snapshot.Failed) },
		"its source failed and shows it":              func(w *world) { w.leave("tab", 0, 10); w.source("herdr/default", snapshot.Failed) },
		"its source is no longer asked":               func(w *world) { w.close("tab", 0, 10); delete(w.snap.Sources, "herdr/default") },
		"its server ended":                            func(w *world) { w.close("tab", 0, 10); w.source("herdr/default", snapshot.Absent) },
		"a record that may claim it failed":           func(w *world) { w.leave("tab", 0, 10); w.source("registry/one", snapshot.Failed) },
		"a record that may claim it no longer exists": func(w *world) { w.leave("tab", 0, 10); w.source("registry/one", snapshot.Absent) },
		"nothing is remembered":                       func(w *world) { w.leave("tab", 0, 10); w.limits.Remember = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.add("tab", 0, 10, true)
			want(t, w.look(0))
			change(w)
			want(t, w.look(time.Minute))
			want(t, w.look(time.Minute))
		})
	}
}

func TestFirstLookEver(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 321, false)
	w.add("dir", 0, 5, true)
	w.source("tmux/default", snapshot.Failed)
	w.source("registry/one", snapshot.Absent)
	want(t, w.look(0))
	alarms := func() []alarm.Alarm {
		_, alarms := alarm.Look(alarm.Memory{}, w.snap, nil, "", limits)
		return alarms
	}
	want(t, alarms())
}

// What a failed source hides is neither gone nor left: when it is read again, it shows which.
func TestAFailedSourceKeepsTheMemory(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("session", 0, 4, true)
	w.look(0)
	w.close("session", 0, 4)
	w.source("tmux/default", snapshot.Failed)
	want(t, w.look(time.Minute))
	w.add("session", 0, 4, false)
	w.source("tmux/default", snapshot.OK)
	want(t, w.look(time.Minute), collapsed+id("session", 0))
	// While it fails again nothing is positively there; afterwards it is known since when.
	w.source("tmux/default", snapshot.Failed)
	want(t, w.look(time.Minute))
	w.source("tmux/default", snapshot.OK)
	says(t, w.look(time.Minute), clock(now.Add(2*time.Minute)))
}

// What left the scope before a record failed has left it.
func TestARecordThatFailsLaterDoesNotHideIt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 4, true)
	w.look(0)
	w.leave("tab", 0, 4)
	w.look(time.Minute)
	w.source("registry/one", snapshot.Failed)
	want(t, w.look(time.Minute), collapsed+id("tab", 0))
}

// An absent record that never was there put nothing in scope, so it hides nothing.
func TestARecordThatNeverWasThereHidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.source("registry/one", snapshot.Absent)
	w.add("tab", 0, 4, true)
	w.look(0)
	w.leave("tab", 0, 4)
	want(t, w.look(time.Minute), collapsed+id("tab", 0))
}

// A server that starts again reuses its ids for other sessions.
func TestAnotherThingOfTheSameID(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("session", 0, 4, true)
	w.add("dir", 0, 4, true)
	w.look(0)
	w.leave("session", 0, 4)
	w.leave("dir", 0, 4)
	for i := range 4 {
		s, d := w.snap.Sessions[id("session", i)], w.snap.Dirs[id("dir", i)]
		s.CreatedAt, d.BornAt = new(now.Add(time.Second)), new(now.Add(time.Second))
		w.snap.Sessions[id("session", i)], w.snap.Dirs[id("dir", i)] = s, d
	}
	want(t, w.look(time.Minute))
	if n := len(w.memory.Scope); n != 0 {
		t.Errorf("%d are still remembered", n)
	}
}

func TestAFolderThatCouldNotBeReadHasNotLeft(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("dir", 0, 4, true)
	w.look(0)
	w.leave("dir", 0, 4)
	for i := range 4 {
		d := w.snap.Dirs[id("dir", i)]
		d.Error = "open .git: permission denied"
		w.snap.Dirs[id("dir", i)] = d
	}
	want(t, w.look(time.Minute))
	w.add("dir", 0, 4, false)
	want(t, w.look(time.Minute), collapsed+id("dir", 0))
}

// After a change of the rules the report says once what that did.
func TestRulesThatAreChangedOnPurpose(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 12, true)
	w.look(0)
	w.leave("tab", 0, 12)
	w.rules = "others"
	alarms := w.look(time.Minute)
	want(t, alarms, collapsed+id("tab", 0))
	says(t, alarms, "12 of 12 tabs", "changed", "once")
	want(t, w.look(time.Minute))
	w.add("tab", 12, 100, false)
	want(t, w.look(48*time.Hour))
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	for _, status := range []string{snapshot.OK, snapshot.Absent} {
		w := newWorld()
		w.add("tab", 0, 5, true)
		w.look(0)
		w.close("tab", 0, 5)
		w.source("herdr/default", status)
		w.look(time.Minute)
		if n := len(w.memory.Scope); n != 0 {
			t.Errorf("its source is %s: %d are still remembered", status, n)
		}
	}
}

func TestTheFirstToLeaveSaysSinceWhen(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 30, true)
	w.look(0)
	for from := range 3 {
		w.leave("tab", 20-10*from, 10)
		w.look(time.Hour)
	}
	says(t, w.look(time.Hour), "30 of 30", clock(now.Add(time.Hour)))
}

// What was hidden for a while and is there again is not hidden any more, also where it is not known whether it is in scope.
func TestWhatIsSeenAgainIsRememberedOn(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 5, true)
	w.look(0)
	w.source("herdr/default", snapshot.Failed)
	w.source("registry/one", snapshot.Failed)
	w.leave("tab", 0, 5)
	w.look(time.Hour)
	w.source("herdr/default", snapshot.OK)
	w.look(time.Hour)
	want(t, w.look(200*time.Hour), "source_failing")
	w.source("registry/one", snapshot.OK)
	want(t, w.look(time.Hour), collapsed+id("tab", 0))
}

func TestWithoutTimeToRememberNothingIsKept(t *testing.T) {
	t.Parallel()
	for _, looks := range [][]time.Duration{{0}, {time.Hour, 0}} {
		w := newWorld()
		w.add("tab", 0, 20, true)
		w.add("tab", 20, 5, false)
		for _, w.limits.Remember = range looks {
			w.look(time.Minute)
		}
		if len(w.memory.Scope)+len(w.memory.Peaks) != 0 {
			t.Errorf("kept: %v, %v", w.memory.Scope, w.memory.Peaks)
		}
	}
}

func TestMemoryOfTheScopeIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 5, true)
	w.look(0)
	// A source that is no longer asked.
	w.close("tab", 0, 5)
	delete(w.snap.Sources, "herdr/default")
	w.look(time.Hour)
	w.look(168 * time.Hour)
	if len(w.memory.Scope) != 5 {
		t.Errorf("%d are remembered; want 5 until the time has passed", len(w.memory.Scope))
	}
	w.look(time.Second)
	if n := len(w.memory.Scope); n != 0 {
		t.Errorf("%d are still remembered", n)
	}
}

// Nothing is written where nothing changed.
func TestTheSameLookAgainChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 20, true)
	w.add("process", 0, 5, true)
	w.look(0)
	w.leave("process", 0, 5)
	w.look(time.Minute)
	var ds []decision.Decision
	for i := range 20 {
		ds = append(ds, decision.Decision{ID: id("tab", i), Kind: "tab", InScope: true})
	}
	w.snap.TakenAt = w.snap.TakenAt.Add(time.Minute)
	next, _ := alarm.Look(w.memory, w.snap, ds, w.rules, limits)
	if d := cmp.Diff(w.memory.Scope, next.Scope); d != "" {
		t.Errorf("scope (-before +after):\n%s", d)
	}
}

// The clock was put back: what was written in its future begins now, and does not stay until it comes by again.
func TestAClockThatIsPutBack(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 5, true)
	w.look(0)
	w.leave("tab", 0, 5)
	w.source("tmux/default", snapshot.Failed)
	w.look(1000 * time.Hour)
	back := now.Add(time.Hour)
	w.snap.TakenAt = back
	alarms := w.look(0)
	want(t, alarms, collapsed+id("tab", 0))
	says(t, alarms, clock(back))
	want(t, w.look(30*time.Minute), collapsed+id("tab", 0), "source_failing")
	want(t, w.look(168*time.Hour), "source_failing")
}

// What the memory by id cannot see: the helpers of before are reaped one by one, and those of the upgraded orchestrator never come
// into scope.
func TestHelpersThatNoLongerComeIntoScope(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("tab", 0, 40, true)
	w.add("tab", 100, 20, false)
	want(t, w.look(0))
	for hour := range 8 {
		w.close("tab", hour*5, 5)
		w.add("tab", 200+hour*5, 5, false)
		want(t, w.look(time.Hour))
	}
	// 32 of 40 were gone after the seventh hour.
	want(t, w.look(22*time.Hour))
	alarms := w.look(time.Hour)
	want(t, alarms, "scope_collapsed")
	says(t, alarms, "60 tabs are there and 0 of them in scope", "40 of 60", clock(now.Add(7*time.Hour)), clock(now))
	want(t, w.look(100*time.Hour), "scope_collapsed")
	want(t, w.look(100*time.Hour)) // that look is remembered no longer
}

func TestWhatTheCountDoesNotTakeForACollapse(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"less is there": func(w *world) { w.close("tab", 0, 40); w.add("tab", 200, 39, false) },
		"it was never the most of all": func(w *world) {
			w.add("tab", 300, 21, false)
			w.look(0)
			w.close("tab", 0, 40)
			w.add("tab", 400, 60, false)
		},
		"more than a few are in scope": func(w *world) { w.close("tab", 0, 31); w.add("tab", 200, 31, false) },
		"it was not read whole": func(w *world) {
			w.close("tab", 0, 40)
			w.add("tab", 200, 80, false)
			w.source("herdr/default", snapshot.Failed)
		},
		"a record that may claim it failed": func(w *world) {
			w.close("tab", 0, 40)
			w.add("tab", 200, 80, false)
			w.source("registry/one", snapshot.Failed)
		},
		"nothing is remembered": func(w *world) { w.close("tab", 0, 40); w.add("tab", 200, 80, false); w.limits.Remember = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.add("tab", 0, 40, true)
			w.add("tab", 100, 20, false)
			w.look(0)
			change(w)
			w.look(time.Hour)
			for _, a := range w.look(25 * time.Hour) {
				if a.Rule == alarm.ScopeCollapsed {
					t.Error(a.Message)
				}
			}
		})
	}
	t.Run("a day on which some came", func(t *testing.T) {
		t.Parallel()
		w := newWorld()
		w.add("tab", 0, 40, true)
		w.look(0)
		w.close("tab", 0, 40)
		w.add("tab", 200, 60, false)
		for day := range 5 {
			want(t, w.look(12*time.Hour))
			w.add("tab", 300+day*10, 10, true)
			want(t, w.look(11*time.Hour))
			w.close("tab", 300+day*10, 10)
		}
	})
	t.Run("few were in scope", func(t *testing.T) {
		t.Parallel()
		w := newWorld()
		w.add("tab", 0, 9, true)
		w.look(0)
		w.close("tab", 0, 9)
		w.add("tab", 200, 60, false)
		want(t, w.look(time.Hour))
		want(t, w.look(25*time.Hour))
	})
}

func ExampleLook() {
	s := &snapshot.Snapshot{
		TakenAt: now, Sources: map[string]snapshot.Source{"herdr/default": {Kind: "herdr", Status: snapshot.OK}},
		Tabs: map[string]snapshot.Tab{},
	}
	m := alarm.Memory{Rules: "mine", Scope: map[string]alarm.Scoped{}}
	for i := range 38 {
		s.Tabs[id("tab", i)] = snapshot.Tab{Source: "herdr/default"}
		m.Scope[id("tab", i)] = alarm.Scoped{Source: "herdr/default"}
	}
	_, alarms := alarm.Look(m, s, nil, "mine", limits)
	fmt.Println(alarms[0].Rule, alarms[0].Candidate)
	// Output: scope_collapsed tab:herdr/default/w1:t000
}
