package alarm_test

import (
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

func TestASourceThatFailsForLong(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.look(0)
	w.source("tmux/default", snapshot.Failed)
	want(t, w.look(time.Hour)) // one look proves little
	want(t, w.look(29*time.Minute))
	alarms := w.look(time.Minute)
	want(t, alarms, "source_failing")
	says(t, alarms, "tmux/default", "since "+clock(now.Add(time.Hour)), "(30m, 3 looks)", "last read "+clock(now), "its sessions and every process are kept", "ask it nicely")
	w.source("tmux/default", snapshot.OK)
	want(t, w.look(time.Hour))
	w.source("tmux/default", snapshot.Failed)
	want(t, w.look(time.Hour))
	want(t, w.look(time.Minute))
}

func TestASourceThatAlwaysFailed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.source("proc", snapshot.Failed)
	want(t, w.look(0))
	says(t, w.look(72*time.Hour), "(3d, 2 looks)", "not read before either", "every candidate, is kept")
}

func TestASourceThatIsForgotten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"no longer asked":   func(w *world) { delete(w.snap.Sources, "tmux/default") },
		"its server ended":  func(w *world) { w.source("tmux/default", snapshot.Absent) },
		"it was read again": func(w *world) { w.source("tmux/default", snapshot.OK) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.source("tmux/default", snapshot.Failed)
			w.look(0)
			want(t, w.look(time.Hour), "source_failing")
			change(w)
			want(t, w.look(time.Hour))
			if x := w.memory.Sources["tmux/default"]; !x.BadSince.IsZero() || x.Looks != 0 {
				t.Errorf("it is remembered: %+v", x)
			}
			w.snap.Sources["tmux/default"] = snapshot.Source{Kind: "tmux", Status: snapshot.Failed}
			want(t, w.look(time.Hour))
		})
	}
}

// A configured record that was there is missed.
func TestARecordThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.look(0)
	w.source("registry/one", snapshot.Absent)
	want(t, w.look(time.Hour))
	alarms := w.look(30 * time.Minute)
	want(t, alarms, "source_gone")
	says(t, alarms, "registry/one (/w/one.json) has not been there since "+clock(now.Add(time.Hour)), "last read "+clock(now), "every candidate, is kept")
	// Failing and being gone are one gap.
	w.source("registry/one", snapshot.Failed)
	want(t, w.look(time.Minute), "source_failing")
	w.source("registry/one", snapshot.OK)
	want(t, w.look(time.Minute))
}

func TestARecordThatNeverWasThere(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.source("registry/one", snapshot.Absent)
	w.look(0)
	want(t, w.look(time.Hour))
	want(t, w.look(time.Hour))
}

func TestOneLookIsNoFailureForLong(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.limits.SourceFailingFor = 0
	w.source("tmux/default", snapshot.Failed)
	want(t, w.look(0))
	want(t, w.look(0), "source_failing")
}

// A server that ended is not a gap, also where it was read before.
func TestAServerThatEnded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.look(0)
	w.source("tmux/default", snapshot.Absent)
	want(t, w.look(time.Hour))
	want(t, w.look(time.Hour))
	want(t, w.look(time.Hour))
}

func TestASourceThatGivesNoReason(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.snap.Sources["dirs//w"] = snapshot.Source{Kind: "dirs", Status: snapshot.Failed}
	w.look(0)
	says(t, w.look(time.Hour), "its folders are kept", "no reason was given")
}
