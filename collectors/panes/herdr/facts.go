package herdr

import (
	"cmp"
	"slices"

	"winnow/engine/snapshot"
)

// place says in which tab of the server the looking process was started.
type place struct {
	// tab is empty for none.
	tab string
	// known is false where another tab could be it too.
	known bool
}

func (p place) own(tab string) *bool {
	switch {
	case tab == p.tab:
		return new(true)
	case p.known:
		return new(false)
	}
	return nil
}

// tabs turns a server's state into the tabs of source, by their native ids.
func tabs(w *world, source string, own place) map[string]*snapshot.Tab {
	out := map[string]*snapshot.Tab{}
	spaces := spaces(w)
	for _, t := range w.Tabs {
		x := &snapshot.Tab{
			Source: source, ID: t.ID, Workspace: t.Workspace, PaneCount: t.PaneCount,
			Focused: focused(w, t), Own: own.own(t.ID),
			LastInWorkspace: spaces[t.Workspace].last, GroupParent: spaces[t.Workspace].parent,
		}
		if t.Label != nil {
			x.Label = *t.Label
		}
		out[t.ID] = x
	}
	for _, p := range w.Panes {
		t := out[p.Tab]
		t.Panes = append(t.Panes, snapshot.Pane{ID: p.ID, Terminal: p.Terminal, AgentStatus: p.Status})
	}
	for _, t := range out { // herdr gives them as they lie on the screen
		slices.SortFunc(t.Panes, func(a, b snapshot.Pane) int { return cmp.Compare(a.ID, b.ID) })
	}
	return out
}

// focused is true when anything says so.
func focused(w *world, t tab) *bool {
	switch {
	case w.FocusedTab == t.ID || t.Focused != nil && *t.Focused:
		return new(true)
	case w.FocusedTab != "" || t.Focused != nil:
		return new(false)
	}
	return nil
}

// space is what closing a workspace's last tab depends on; nil is not known.
type space struct{ last, parent *bool }

// spaces leaves out workspaces that tabs name and the server does not list.
func spaces(w *world) map[string]space {
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
		last := count[x.ID] < 2 || x.TabCount != nil && *x.TabCount < 2 // whoever says that there is but one is believed
		out[x.ID] = space{&last, parent(x, sharing, whole)}
	}
	return out
}

// parent reports whether closing the workspace would close the group of workspaces that share its repository.
func parent(x workspace, sharing map[string]int, whole bool) *bool {
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

// into tells p what runs in it, or why that is not known: then it tells nothing, for one half of it would be misread.
func (r *running) into(p *snapshot.Pane) {
	switch {
	case r == nil:
		p.Error = "process_info: herdr gives none"
	case r.Pane != p.ID:
		p.Error = "process_info: herdr answers about another pane"
	case r.Shell == nil || *r.Shell <= 0:
		p.Error = "process_info: herdr does not know the pane's shell"
	case len(r.Foreground) == 0:
		p.Error = "process_info: herdr does not know what is in the foreground"
	}
	if p.Error != "" {
		return
	}
	var foreground []snapshot.PaneProc
	for _, x := range r.Foreground {
		if x.PID <= 0 {
			p.Error = "process_info: herdr lists a process without a pid"
			return
		}
		foreground = append(foreground, snapshot.PaneProc{PID: x.PID, Name: x.Name})
	}
	p.ShellPID, p.Foreground = r.Shell, foreground
	if r.Group != nil && *r.Group > 0 {
		p.ForegroundPGID = r.Group
	}
}
