package herdr

// closeTab closes it as tab.close does. With the last of a workspace that goes too, or herdr refuses, by its version.
func (s *Server) closeTab(t *tab) *refusal {
	w := t.workspace
	if len(w.tabs) == 1 {
		if !s.atLeast(V080) {
			return &refusal{"tab_close_failed", "cannot close the last tab in a workspace"}
		}
		if refused := s.confirm(w); refused != nil {
			return refused
		}
	}
	s.takeTab(t)
	return nil
}

// takeTab ends the tab, and its workspace or worktree group when it was the last, in every version.
func (s *Server) takeTab(t *tab) {
	s.endPanes(t.panes)
	s.closed(t)
	if len(t.workspace.tabs) == 1 {
		s.closeGroup(t.workspace)
	} else {
		s.m.dropTab(t)
	}
}

// confirm refuses the closing of a tab that would close other workspaces as well, and has the user's terminal ask, unless that
// is configured off.
func (s *Server) confirm(w *workspace) *refusal {
	if s.o.ConfirmCloseOff || len(s.m.group(w)) < 2 {
		return nil
	}
	s.rec.Lock()
	defer s.rec.Unlock()
	s.rec.dialogs++
	return &refusal{"confirmation_required", "closing this tab would close a worktree group"}
}

// closeGroup closes the workspace and all that go with it, without asking.
func (s *Server) closeGroup(w *workspace) {
	for _, one := range s.m.group(w) {
		s.endPanes(one.panes())
		one.tabs, one.active = nil, nil
		s.m.dropWorkspace(one)
	}
}

// endPanes ends the panes' sessions one after the other, as herdr does on its only thread.
func (s *Server) endPanes(panes []*pane) {
	for _, p := range panes {
		if c := p.child; c != nil {
			p.child = nil
			c.end()
		}
	}
}

// CloseTab closes the tab as the user at the terminal does, who is not asked and not recorded.
func (s *Server) CloseTab(tabID string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.takeTab(s.mustTab(tabID))
}
