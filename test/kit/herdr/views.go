package herdr

import "os"

// object is a JSON object of a reply.
type object map[string]any

// optional adds what may be absent: a string when it is not "", or null when the server writes those.
func (s *Server) optional(o object, key, value string) {
	switch {
	case value != "":
		o[key] = value
	case s.o.Nulls:
		o[key] = nil
	}
}

// seal adds to an object what only a version to come would know.
func (s *Server) seal(o object) object {
	if s.profile == Future {
		o["x_future"] = object{"level": 7, "notes": []string{"unheard of"}}
	}
	return o
}

// status is how clients see one.
func (s *Server) status(status string) string {
	if s.profile == Future && status == "working" {
		return "pondering"
	}
	return status
}

func (s *Server) workspaceInfo(w *workspace) object {
	number := 0
	for i, other := range s.m.shown() {
		if other == w {
			number = i + 1
		}
	}
	o := object{
		"workspace_id": w.id, "number": number, "label": w.label, "focused": s.m.focused == w, "pane_count": len(w.panes()),
		"tab_count": len(w.tabs), "active_tab_id": w.active.id, "agent_status": s.status(rollUp(w.panes())),
	}
	switch {
	case w.worktree != nil:
		o["worktree"] = s.seal(object{
			"repo_key": w.worktree.RepoKey, "repo_name": w.worktree.RepoName, "repo_root": w.worktree.RepoRoot,
			"checkout_path": w.worktree.CheckoutPath, "is_linked_worktree": w.worktree.Linked,
		})
	case s.o.Nulls:
		o["worktree"] = nil
	}
	return s.seal(o)
}

func (s *Server) tabInfo(t *tab) object {
	return s.seal(object{
		"tab_id": t.id, "workspace_id": t.workspace.id, "number": t.number, "label": t.name(), "focused": s.focusedTab() == t,
		"pane_count": len(t.panes), "agent_status": s.status(rollUp(t.panes)),
	})
}

func (s *Server) focusedTab() *tab {
	if s.m.focused == nil {
		return nil
	}
	return s.m.focused.active
}

func (s *Server) focusedPane() *pane {
	if t := s.focusedTab(); t != nil {
		return t.active
	}
	return nil
}

// paneOrAgent is what a pane and an agent have in common.
func (s *Server) paneOrAgent(p *pane) object {
	o := object{
		"pane_id": p.id, "terminal_id": p.terminal, "workspace_id": p.tab.workspace.id, "tab_id": p.tab.id,
		"focused": s.focusedPane() == p, "agent_status": s.status(p.status), "revision": p.revision,
	}
	s.optional(o, "agent", s.agent(p))
	s.optional(o, "title", "")
	s.optional(o, "display_agent", "")
	s.optional(o, "cwd", s.cwd(p))
	s.optional(o, "foreground_cwd", s.cwd(p))
	if s.o.Nulls {
		o["agent_session"] = nil
	}
	if s.atLeast(V074) {
		s.optional(o, "terminal_title", "")
		s.optional(o, "terminal_title_stripped", "")
	}
	return s.seal(o)
}

func (s *Server) cwd(p *pane) string {
	if p.child == nil {
		return p.spec.Dir
	}
	dir, _ := os.Readlink("/proc/" + itoa(p.child.pid()) + "/cwd")
	return dir
}

func (s *Server) paneInfo(p *pane) object {
	o := s.paneOrAgent(p)
	s.optional(o, "label", s.pastLabel(p))
	return o
}

func (s *Server) agentInfo(p *pane) object {
	o := s.paneOrAgent(p)
	s.optional(o, "name", s.pastLabel(p))
	o["interactive_ready"] = true
	return o
}

// pastLabel is what versions up to 0.7.4 gave to panes and agents as well.
func (s *Server) pastLabel(p *pane) string {
	if s.o.Labels {
		return deref(p.tab.label)
	}
	return ""
}

// agent is the kind of the agent in the pane, "" for none.
func (s *Server) agent(p *pane) string {
	switch {
	case p.status == "unknown":
		return ""
	case p.spec.Agent != "":
		return p.spec.Agent
	}
	return "claude"
}

// listed gives the panes that lists show.
func (s *Server) listed() (out []*pane) {
	for _, p := range s.m.panes() {
		if !p.hidden {
			out = append(out, p)
		}
	}
	return out
}

// agents gives the panes that count as agents: up to 0.7.4 also each that was started with a command.
func (s *Server) agents() (out []*pane) {
	for _, p := range s.listed() {
		if s.agent(p) != "" || p.spec.Argv != nil && !s.atLeast(V075) {
			out = append(out, p)
		}
	}
	return out
}

func (s *Server) layout(t *tab) object {
	area := object{"x": 0, "y": 0, "width": 80 * len(t.panes), "height": 24}
	panes, splits := []object{}, []object{}
	for i, p := range t.panes {
		if p.hidden {
			continue
		}
		rect := object{"x": 80 * i, "y": 0, "width": 80, "height": 24}
		panes = append(panes, s.seal(object{"pane_id": p.id, "focused": t.active == p, "rect": rect}))
		if i > 0 {
			splits = append(splits, object{"id": "s" + itoa(i), "direction": "right", "ratio": 0.5, "rect": area})
		}
	}
	return s.seal(object{
		"workspace_id": t.workspace.id, "tab_id": t.id, "zoomed": false, "area": area, "focused_pane_id": t.active.id,
		"panes": panes, "splits": splits,
	})
}

func (s *Server) snapshot() object {
	o := object{"version": s.Version(), "protocol": s.Protocol()}
	if t := s.focusedTab(); t != nil {
		o["focused_workspace_id"], o["focused_tab_id"], o["focused_pane_id"] = t.workspace.id, t.id, t.active.id
	} else if s.o.Nulls {
		o["focused_workspace_id"], o["focused_tab_id"], o["focused_pane_id"] = nil, nil, nil
	}
	layouts := []object{}
	for _, w := range s.m.shown() {
		for _, t := range w.tabs {
			layouts = append(layouts, s.layout(t))
		}
	}
	o["workspaces"], o["tabs"] = each(s.m.shown(), s.workspaceInfo), each(s.allTabs(), s.tabInfo)
	o["panes"], o["agents"], o["layouts"] = each(s.listed(), s.paneInfo), each(s.agents(), s.agentInfo), layouts
	return s.seal(o)
}

func (s *Server) allTabs() (out []*tab) {
	for _, w := range s.m.workspaces {
		out = append(out, w.tabs...)
	}
	return out
}

// each shows a list, an empty one as [].
func each[T any](list []T, show func(T) object) []object {
	out := make([]object, 0, len(list))
	for _, x := range list {
		out = append(out, show(x))
	}
	return out
}
