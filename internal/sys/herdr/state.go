package herdr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// State is all that a server says of one tab which an act on it rests on, in lines: what the tab and its panes are, who looks at
// them, what runs in them, and what its workspace has beside it. The same state gives the same text to every caller. Nothing that
// changes by itself is in it.
//
// It is "" where the tab is not listed, or running lacks one of its panes: then it is not known.
func (w *World) State(tab string, running map[string]*Running) string {
	t := w.Tab(tab)
	if t == nil {
		return ""
	}
	var lines []string
	focusedPane := false
	for _, p := range w.PanesOf(tab) {
		r := running[p.ID]
		if r == nil {
			return ""
		}
		focusedPane = focusedPane || p.ID == w.FocusedPane
		lines = append(lines, fmt.Sprintf("pane %s terminal %q agent_status %q shell %s group %s foreground%s",
			p.ID, p.Terminal, p.Status, orUnknown(r.Shell), orUnknown(r.Group), r.foreground()))
	}
	label := "unknown"
	if t.Label != nil {
		label = fmt.Sprintf("%q", *t.Label)
	}
	return strings.Join(append([]string{
		fmt.Sprintf("herdr %q protocol %s", w.Version, orUnknown(w.Protocol)),
		w.workspace(t.Workspace),
		fmt.Sprintf("tab %s label %s pane_count %s", t.ID, label, orUnknown(t.PaneCount)),
		fmt.Sprintf("focus %s tab %t pane %t", orUnknown(t.Focused), w.FocusedTab == t.ID, focusedPane),
	}, lines...), "\n")
}

// workspace is the line about a tab's workspace: what decides whether the workspace, or a group of them, goes with the tab.
func (w *World) workspace(id string) string {
	x := w.Workspace(id)
	if x == nil {
		return fmt.Sprintf("workspace %q is not listed", id)
	}
	listed, sharing, unclear := 0, 0, 0
	for _, t := range w.Tabs {
		if t.Workspace == id {
			listed++
		}
	}
	for _, y := range w.Workspaces {
		switch {
		case y.Worktree == nil:
		case y.Worktree.Repository == "":
			unclear++
		case x.Worktree != nil && x.Worktree.Repository == y.Worktree.Repository:
			sharing++
		}
	}
	repository, linked := "none", "none"
	if x.Worktree != nil {
		repository, linked = fmt.Sprintf("%q", x.Worktree.Repository), orUnknown(x.Worktree.Linked)
	}
	return fmt.Sprintf("workspace %q tab_count %s listed %d repository %s linked %s shared by %d, unclear %d",
		id, orUnknown(x.TabCount), listed, repository, linked, sharing, unclear)
}

func (r *Running) foreground() string {
	var out strings.Builder
	for _, p := range slices.SortedFunc(slices.Values(r.Foreground), func(a, b Process) int { return cmp.Compare(a.PID, b.PID) }) {
		fmt.Fprintf(&out, " %d %q", p.PID, p.Name)
	}
	return out.String()
}

func orUnknown[T any](v *T) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(*v)
}
