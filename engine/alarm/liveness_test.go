package alarm_test

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

func TestNobodyKnowsWhoUsesTheFolders(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]*bool{"unknown": nil, "not all processes were read": new(false)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.add("dir", 0, 4, true)
			for i := range 4 {
				w.folder(i, func(d *snapshot.Dir) { d.HoldersKnown = known })
			}
			alarms := w.look(0) // nothing needs to be remembered for it
			want(t, alarms, "liveness_unknown "+id("dir", 0))
			says(t, alarms, "any of the 4 folders of dirs//w", "does not show what it uses")
			w.folder(2, func(d *snapshot.Dir) { d.HoldersKnown = new(true) })
			want(t, w.look(0))
		})
	}
}

func TestWhyNobodyKnows(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add("dir", 0, 2, true)
	w.add("tab", 0, 2, true)
	for i := range 2 {
		w.folder(i, func(d *snapshot.Dir) { d.HoldersKnown = nil })
		w.snap.Tabs[id("tab", i)] = snapshot.Tab{Source: "herdr/default", Panes: []snapshot.Pane{{ID: "p", ShellPID: new(1)}}}
	}
	alarms := w.look(0)
	want(t, alarms, "liveness_unknown "+id("dir", 0), "liveness_unknown "+id("tab", 0))
	says(t, alarms[1:], "2 tabs of herdr/default", "processes in its panes could not be read")
	w.source("proc", snapshot.Failed)
	says(t, w.look(0)[:1], "ask it nicely")
	w.folder(1, func(d *snapshot.Dir) { d.Error = "look for holders: no" })
	says(t, w.look(0)[:1], "look for holders: no")
}

func TestPanesThatNobodyRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		panes []snapshot.Pane
		alarm bool
	}{
		"an error":                   {[]snapshot.Pane{{ID: "p", Error: new("herdr gives none"), Foreground: []snapshot.PaneProc{{PID: 1}}}}, true},
		"no process":                 {[]snapshot.Pane{{ID: "p"}, {ID: "q"}}, true},
		"no pane":                    {nil, true},
		"one of two":                 {[]snapshot.Pane{{ID: "p"}, {ID: "q", SessionPIDs: []int{4}}}, false},
		"a pane whose process ended": {[]snapshot.Pane{{ID: "p", Dead: new(true)}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.add("session", 0, 1, true)
			w.add("session", 1, 1, false) // one that is out of scope and known proves nothing for the others
			s := w.snap.Sessions[id("session", 0)]
			s.Panes = c.panes
			w.snap.Sessions[id("session", 0)] = s
			alarms := w.look(0)
			if (len(alarms) == 1) != c.alarm {
				t.Errorf("got %v", alarms)
			}
		})
	}
}

func TestWhereLivenessIsNoQuestion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"a link":                         func(w *world) { w.folder(0, func(d *snapshot.Dir) { d.Symlink = new(true) }) },
		"a source that was not read":     func(w *world) { w.source("dirs//w", snapshot.Failed) },
		"nothing of the source in scope": func(w *world) { w.leave("dir", 0, 1) },
		"a process":                      func(w *world) { w.leave("dir", 0, 1); w.add("process", 0, 3, true) },
		"a terminal": func(w *world) {
			w.leave("dir", 0, 1)
			w.add("terminal", 0, 3, true)
			w.snap.Sources["codev/one"] = snapshot.Source{Kind: "codev", Status: snapshot.OK}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.add("dir", 0, 1, true)
			w.folder(0, func(d *snapshot.Dir) { d.HoldersKnown = nil })
			change(w)
			want(t, w.look(0))
		})
	}
}

func (w *world) folder(i int, change func(d *snapshot.Dir)) {
	d := w.snap.Dirs[id("dir", i)]
	change(&d)
	w.snap.Dirs[id("dir", i)] = d
}
