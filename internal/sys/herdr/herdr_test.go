package herdr

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

func TestAlike(t *testing.T) {
	t.Parallel()
	state := func() *World {
		return &World{
			Workspaces: []Workspace{{ID: "w1", TabCount: new(1)}}, Panes: []Pane{{ID: "w1:p1", Tab: "w1:t1", Terminal: "x", Status: "idle"}},
			Tabs: []Tab{{ID: "w1:t1", Workspace: "w1", Label: new("l"), Focused: new(false), PaneCount: new(1)}},
		}
	}
	for name, c := range map[string]struct {
		change func(*World)
		want   bool
	}{
		"nothing":           {func(*World) {}, true},
		"a status":          {func(w *World) { w.Panes[0].Status = "working" }, true},
		"a terminal":        {func(w *World) { w.Panes[0].Terminal = "y" }, false},
		"a pane's tab":      {func(w *World) { w.Panes[0].Tab = "w1:t2" }, false},
		"a pane":            {func(w *World) { w.Panes[0].ID = "w1:p2" }, false},
		"a count of tabs":   {func(w *World) { w.Workspaces[0].TabCount = new(2) }, false},
		"a count unknown":   {func(w *World) { w.Workspaces[0].TabCount = nil }, false},
		"a workspace":       {func(w *World) { w.Workspaces[0].ID = "w2" }, false},
		"a label":           {func(w *World) { w.Tabs[0].Label = new("m") }, false},
		"the focus":         {func(w *World) { w.Tabs[0].Focused = new(true) }, false},
		"a count of panes":  {func(w *World) { w.Tabs[0].PaneCount = new(2) }, false},
		"a tab's workspace": {func(w *World) { w.Tabs[0].Workspace = "w2" }, false},
		"a tab":             {func(w *World) { w.Tabs[0].ID = "w1:t2" }, false},
		"one tab less":      {func(w *World) { w.Tabs = w.Tabs[:0] }, false},
	} {
		changed := state()
		c.change(changed)
		if got := alike(state(), changed); got != c.want {
			t.Errorf("%s changes: alike %v, want %v", name, got, c.want)
		}
	}
}

func tabOfTwo() (*World, map[string]*Running) {
	return &World{
			Version: "0.8.0", Protocol: new(19), FocusedTab: "w1:t1", FocusedPane: "w1:p1",
			Workspaces: []Workspace{{ID: "w1", TabCount: new(1)}, {ID: "w2", TabCount: new(2), Worktree: &Worktree{"k", new(true)}}},
			Tabs: []Tab{{ID: "w1:t1", Workspace: "w1"}, {ID: "w2:t1", Workspace: "w2", Label: new("l"), Focused: new(false), PaneCount: new(2)},
				{ID: "w2:t2", Workspace: "w2"}},
			Panes: []Pane{{ID: "w1:p1", Tab: "w1:t1", Terminal: "a", Status: "idle"}, {ID: "w2:p1", Tab: "w2:t1", Terminal: "b", Status: "unknown"},
				{ID: "w2:p2", Tab: "w2:t1", Terminal: "c", Status: "unknown"}},
		}, map[string]*Running{
			"w2:p1": {Pane: "w2:p1", Shell: new(10), Group: new(10), Foreground: []Process{{10, "sh"}}},
			"w2:p2": {Pane: "w2:p2", Shell: new(20), Group: new(20), Foreground: []Process{{20, "sh"}, {21, "vi"}}},
		}
}

// TestState holds that every fact that an act on a tab rests on changes the tab's state, and that changes elsewhere do not.
func TestState(t *testing.T) {
	t.Parallel()
	w, running := tabOfTwo()
	was := w.State("w2:t1", running)
	for name, c := range map[string]struct {
		do   func(*World, map[string]*Running)
		word string // in the line that differs; "" where none does
	}{
		"nothing":                  {func(*World, map[string]*Running) {}, ""},
		"the order of panes":       {func(w *World, _ map[string]*Running) { w.Panes[1], w.Panes[2] = w.Panes[2], w.Panes[1] }, ""},
		"the order of processes":   {func(_ *World, r map[string]*Running) { f := r["w2:p2"].Foreground; f[0], f[1] = f[1], f[0] }, ""},
		"another tab's label":      {func(w *World, _ map[string]*Running) { w.Tabs[0].Label = new("x") }, ""},
		"another tab's status":     {func(w *World, _ map[string]*Running) { w.Panes[0].Status = "working" }, ""},
		"the focus, elsewhere":     {func(w *World, _ map[string]*Running) { w.FocusedTab, w.FocusedPane = "w2:t2", "w2:p9" }, ""},
		"a tab of another":         {func(w *World, _ map[string]*Running) { w.Workspaces[0].TabCount = new(5) }, ""},
		"the version":              {func(w *World, _ map[string]*Running) { w.Version = "0.9.0" }, "0.9.0"},
		"the protocol":             {func(w *World, _ map[string]*Running) { w.Protocol = nil }, "protocol unknown"},
		"the label":                {func(w *World, _ map[string]*Running) { w.Tabs[1].Label = new("mine") }, "mine"},
		"no label":                 {func(w *World, _ map[string]*Running) { w.Tabs[1].Label = nil }, "label unknown"},
		"the workspace":            {func(w *World, _ map[string]*Running) { w.Tabs[1].Workspace = "w1" }, "workspace"},
		"the focus":                {func(w *World, _ map[string]*Running) { w.Tabs[1].Focused = new(true) }, "focus true"},
		"whether it has the focus": {func(w *World, _ map[string]*Running) { w.Tabs[1].Focused = nil }, "focus unknown"},
		"the focused tab":          {func(w *World, _ map[string]*Running) { w.FocusedTab = "w2:t1" }, "tab true"},
		"the focused pane":         {func(w *World, _ map[string]*Running) { w.FocusedPane = "w2:p2" }, "pane true"},
		"the count of panes":       {func(w *World, _ map[string]*Running) { w.Tabs[1].PaneCount = new(3) }, "pane_count 3"},
		"no count of panes":        {func(w *World, _ map[string]*Running) { w.Tabs[1].PaneCount = nil }, "pane_count unknown"},
		"the count of tabs":        {func(w *World, _ map[string]*Running) { w.Workspaces[1].TabCount = new(1) }, "tab_count 1"},
		"no count of tabs":         {func(w *World, _ map[string]*Running) { w.Workspaces[1].TabCount = nil }, "tab_count unknown"},
		"a tab beside it":          {func(w *World, _ map[string]*Running) { w.Tabs = w.Tabs[:2] }, "listed 1"},
		"no workspace":             {func(w *World, _ map[string]*Running) { w.Workspaces = w.Workspaces[:1] }, "not listed"},
		"its repository":           {func(w *World, _ map[string]*Running) { w.Workspaces[1].Worktree.Repository = "x" }, `repository "x"`},
		"which checkout":           {func(w *World, _ map[string]*Running) { w.Workspaces[1].Worktree.Linked = new(false) }, "linked false"},
		"no checkout":              {func(w *World, _ map[string]*Running) { w.Workspaces[1].Worktree = nil }, "repository none"},
		"another of the group":     {func(w *World, _ map[string]*Running) { w.Workspaces[0].Worktree = &Worktree{"k", new(false)} }, "shared by 2"},
		"one that may be":          {func(w *World, _ map[string]*Running) { w.Workspaces[0].Worktree = &Worktree{} }, "unclear 1"},
		"an agent":                 {func(w *World, _ map[string]*Running) { w.Panes[2].Status = "working" }, "working"},
		"a terminal":               {func(w *World, _ map[string]*Running) { w.Panes[2].Terminal = "d" }, `"d"`},
		"a pane that left":         {func(w *World, _ map[string]*Running) { w.Panes[2].Tab = "w1:t1" }, "nothing"},
		"a pane's shell":           {func(_ *World, r map[string]*Running) { r["w2:p2"].Shell = new(99) }, "shell 99"},
		"a pane's group":           {func(_ *World, r map[string]*Running) { r["w2:p2"].Group = nil }, "group unknown"},
		"a pane's process":         {func(_ *World, r map[string]*Running) { r["w2:p2"].Foreground = r["w2:p2"].Foreground[:1] }, "foreground 20"},
		"a pane's process's name":  {func(_ *World, r map[string]*Running) { r["w2:p1"].Foreground[0].Name = "codex" }, "codex"},
	} {
		w, running := tabOfTwo()
		c.do(w, running)
		before, now := termsafe.Differ(was, w.State("w2:t1", running))
		if (before != now) != (c.word != "") || !strings.Contains(now, c.word) {
			t.Errorf("%s: %q became %q, want %q in it", name, before, now, c.word)
		}
	}
	for name, do := range map[string]func(*World, map[string]*Running){
		"a pane whose program is not known": func(_ *World, r map[string]*Running) { delete(r, "w2:p1") },
		"a pane that is new":                func(w *World, _ map[string]*Running) { w.Panes[0].Tab = "w2:t1" },
		"a tab that is gone":                func(w *World, _ map[string]*Running) { w.Tabs = w.Tabs[:1] },
	} {
		w, running := tabOfTwo()
		if do(w, running); w.State("w2:t1", running) != "" {
			t.Errorf("%s: its state is known", name)
		}
	}
}

// FuzzAnswers holds that for every answer, what is believed holds together: each id can be sent, and every pane has a tab.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"workspaces":[{"workspace_id":"w1","tab_count":1}],"tabs":[{"tab_id":"w1:t1","workspace_id":"w1","label":"x"}],"panes":[{"pane_id":"w1:p1","tab_id":"w1:t1","terminal_id":"a"}]}`)
	f.Add(`{"pane_id":"w1:p1","shell_pid":7,"foreground_process_group_id":7,"foreground_processes":[{"pid":7,"name":"sh"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var r *Running
		if json.Unmarshal([]byte(text), &r) == nil && r.check("w1:p1") == nil && (r.Shell == nil || *r.Shell <= 0 || len(r.Foreground) == 0) {
			t.Errorf("half of it was reported: %+v", r)
		}
		var w World
		if json.Unmarshal([]byte(text), &w) != nil || w.check() != nil {
			return
		}
		panes := 0
		for _, x := range w.Tabs {
			of := w.PanesOf(x.ID)
			if panes += len(of); !TabID(x.ID) || (w.State(x.ID, nil) == "") != (len(of) > 0) {
				t.Errorf("tab %q with %d panes has the state %q", x.ID, len(of), w.State(x.ID, nil))
			}
		}
		if panes != len(w.Panes) {
			t.Errorf("%d panes out of %d", panes, len(w.Panes))
		}
	})
}
