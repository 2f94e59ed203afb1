package herdr

import (
	"cmp"
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
)

// place says in which tab of the server the looking process was started.
type place struct {
	// tab is empty for none.
	tab string
	// known is false where another tab could be it too.
	known bool
}

func (p place) isTab(tab string) *bool {
	switch {
	case tab == p.tab:
		return new(true)
	case p.known:
		return new(false)
	}
	return nil
}

// tabs turns a server's state into the tabs of source, by their native ids.
func tabs(w *herdr.World, source string, own place) map[string]*snapshot.Tab {
	out := map[string]*snapshot.Tab{}
	spaces := spaces(w)
	at := ""
	for _, p := range w.Panes {
		if p.ID == w.FocusedPane {
			at = p.Tab
		}
	}
	for _, t := range w.Tabs {
		x := &snapshot.Tab{
			Source: source, ID: t.ID, Workspace: t.Workspace, PaneCount: t.PaneCount,
			Focused: focused(w, at, t), Own: own.isTab(t.ID),
			LastInWorkspace: spaces[t.Workspace].last, GroupParent: spaces[t.Workspace].parent,
		}
		if t.Label != nil {
			x.Label = *t.Label
		}
		out[t.ID] = x
	}
	for _, p := range w.Panes {
		t := out[p.Tab]
		t.Panes = append(t.Panes, snapshot.Pane{ID: p.ID, Terminal: p.Terminal, AgentStatus: p.Status, Error: new("")})
	}
	for _, t := range out { // herdr gives them as they lie on the screen
		slices.SortFunc(t.Panes, func(a, b snapshot.Pane) int { return cmp.Compare(a.ID, b.ID) })
	}
	return out
}

// focused is true when anything says so, and false only where the tab itself says that it is not. at is the tab of the pane that has
// the focus.
func focused(w *herdr.World, at string, t herdr.Tab) *bool {
	if w.FocusedTab == t.ID || at == t.ID {
		return new(true)
	}
	return t.Focused
}

// space is what closing a workspace's last tab depends on; nil is not known.
type space struct{ last, parent *bool }

// spaces leaves out workspaces that tabs name and the server does not list.
func spaces(w *herdr.World) map[string]space {
	count := map[string]int{} // tabs by workspace
	for _, t := range w.Tabs {
		count[t.Workspace]++
	}
	sharing := map[string]int{} // workspaces by repository
	whole := true               // of every workspace it is known whose checkout it is
	for _, x := range w.Workspaces {
		if x.Worktree != nil {
			sharing[x.Worktree.Repository]++
			whole = whole && x.Worktree.Repository != ""
		}
	}
	out := map[string]space{}
	for _, x := range w.Workspaces {
		out[x.ID] = space{last(x, count[x.ID]), parent(x, sharing, whole)}
	}
	return out
}

// last reports whether a tab of the workspace is its only one. A server that says so is believed. That there
// are more is believed only when the server lists as many as it counts.
func last(x herdr.Workspace, listed int) *bool {
	switch {
	case listed < 2 || x.TabCount != nil && *x.TabCount < 2:
		return new(true)
	case x.TabCount == nil || *x.TabCount != listed:
		return nil
	}
	return new(false)
}

// parent reports whether closing the workspace would close the group of workspaces that share its repository.
func parent(x herdr.Workspace, sharing map[string]int, whole bool) *bool {
	switch t := x.Worktree; {
	case t == nil || t.Linked != nil && *t.Linked:
		return new(false)
	case t.Linked == nil || t.Repository == "":
		return nil
	case sharing[t.Repository] >= 2:
		return new(true)
	case whole:
		return new(false)
	}
	return nil
}

// running tells p what runs in it.
func running(r *herdr.Running, p *snapshot.Pane) {
	p.ShellPID = r.Shell
	for _, x := range r.Foreground {
		p.Foreground = append(p.Foreground, snapshot.PaneProc{PID: x.PID, Name: x.Name})
	}
	if r.Group != nil && *r.Group > 0 {
		p.ForegroundPGID = r.Group
	}
}
