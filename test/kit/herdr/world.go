package herdr

import (
	"fmt"
	"os"
)

// Worktree is the git checkout that a workspace is for.
type Worktree struct {
	RepoKey, RepoName, RepoRoot, CheckoutPath string
	Linked                                    bool // a worktree beside the main checkout
}

// Pane is what to open in a tab.
type Pane struct {
	// Argv is the command in the pane. None is an idle interactive `sh`: quiet, with no start-up file, its comm "sh", job control on. It
	// leads its session and is alone in front of its terminal.
	Argv []string
	// Dir is where it runs; the server's own empty home if "".
	Dir string
	// Env is set on top of what herdr sets.
	Env []string
	// AgentStatus is idle, working, blocked, done or unknown, which "" means as well: no agent.
	AgentStatus string
	// Agent is the agent's kind; "claude" if there is a status other than unknown.
	Agent string
	// Fake is a pane without any process, with these facts. It makes worlds of hundreds of tabs cheap.
	Fake *Info
}

// PaneState is a pane as it is now. PID is 0 and TTY "" for one without a process.
type PaneState struct {
	ID, Terminal string
	PID          int
	TTY          string
}

// Workspace makes one and gives its id. Herdr has no workspace without a tab: clients see it from its first tab on.
func (s *Server) Workspace(label string, tree ...Worktree) string {
	s.turn.Lock()
	defer s.turn.Unlock()
	var t *Worktree
	if len(tree) > 0 {
		t = &tree[0]
	}
	return s.m.addWorkspace(label, t).id
}

// Tab opens a tab in the workspace and gives its id; without panes it gets one idle shell. Label "" is the tab's position.
func (s *Server) Tab(workspaceID, label string, panes ...Pane) string {
	s.turn.Lock()
	defer s.turn.Unlock()
	for _, w := range s.m.workspaces {
		if w.id == workspaceID {
			if label == "" {
				return s.openTab(w, nil, panes...).id
			}
			return s.openTab(w, &label, panes...).id
		}
	}
	panic(fmt.Sprintf("open a tab: there is no workspace %q", workspaceID))
}

func (s *Server) openTab(w *workspace, label *string, panes ...Pane) *tab {
	if len(panes) == 0 {
		panes = []Pane{{}}
	}
	t := s.m.addTab(w, label)
	for _, spec := range panes {
		s.openPane(t, spec)
	}
	s.opened(t)
	return t
}

// Split opens one more pane in the tab and gives its id.
func (s *Server) Split(tabID string, spec Pane) string {
	s.turn.Lock()
	defer s.turn.Unlock()
	p := s.openPane(s.mustTab(tabID), spec)
	s.happens("pane.created", object{"pane": s.paneInfo(p)})
	return p.id
}

func (s *Server) openPane(t *tab, spec Pane) *pane {
	p := s.m.addPane(t, spec)
	s.launch(p)
	return p
}

// launch starts the pane's process, in place of one that it may have had.
func (s *Server) launch(p *pane) {
	if p.spec.Fake != nil {
		return
	}
	argv := p.spec.Argv
	if argv == nil {
		argv = []string{"sh", "-i"}
	}
	dir := p.spec.Dir
	if dir == "" {
		dir = s.home
	}
	c, err := spawn(argv, dir, append(s.environ(p), p.spec.Env...))
	if err != nil {
		panic(fmt.Sprintf("open pane %s: %v", p.id, err))
	}
	p.child = c
	go s.watch(p, c)
}

func (s *Server) environ(p *pane) []string {
	path := os.Getenv("PATH")
	return []string{
		"PATH=" + path, "HOME=" + s.home, "TERM=dumb", "PWD=" + s.home, s.mark,
		"HERDR_ENV=1", "HERDR_SOCKET_PATH=" + s.o.Socket,
		"HERDR_WORKSPACE_ID=" + p.tab.workspace.id, "HERDR_TAB_ID=" + p.tab.id, "HERDR_PANE_ID=" + p.id,
	}
}

// watch takes the pane away when its process has ended by itself.
func (s *Server) watch(p *pane, c *child) {
	<-c.done
	s.turn.Lock()
	defer s.turn.Unlock()
	if p.child != c {
		return
	}
	p.child = nil
	c.master.Close()
	s.exited(p)
	s.m.drop(p)
}

func (s *Server) mustTab(id string) *tab {
	if t := s.m.tabs()[id]; t != nil {
		return t
	}
	panic(fmt.Sprintf("there is no tab %q", id))
}

func (s *Server) mustPane(id string) *pane {
	for _, p := range s.m.panes() {
		if p.id == id {
			return p
		}
	}
	panic(fmt.Sprintf("there is no pane %q", id))
}

// Panes gives the tab's panes in layout order, none when the tab is gone.
func (s *Server) Panes(tabID string) (out []PaneState) {
	s.turn.Lock()
	defer s.turn.Unlock()
	t := s.m.tabs()[tabID]
	if t == nil {
		return nil
	}
	for _, p := range t.panes {
		state := PaneState{ID: p.id, Terminal: p.terminal}
		if p.child != nil {
			state.PID, state.TTY = p.child.pid(), p.child.tty
		}
		out = append(out, state)
	}
	return out
}

// Tabs gives the ids of all tabs, in the order of lists.
func (s *Server) Tabs() (out []string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	for _, w := range s.m.workspaces {
		for _, t := range w.tabs {
			out = append(out, t.id)
		}
	}
	return out
}

// HasTab says whether the tab is there.
func (s *Server) HasTab(id string) bool {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.m.tabs()[id] != nil
}

// Type types into the pane; a line ends with "\n". It returns before anything reads that.
func (s *Server) Type(paneID, text string) {
	s.turn.Lock()
	c := s.mustPane(paneID).child
	s.turn.Unlock()
	if c == nil {
		panic(fmt.Sprintf("type into pane %s: it has no process", paneID))
	}
	if _, err := c.master.WriteString(text); err != nil {
		panic(fmt.Sprintf("type into pane %s: %v", paneID, err))
	}
}

// Output gives the end of what the pane printed.
func (s *Server) Output(paneID string) string {
	s.turn.Lock()
	c := s.mustPane(paneID).child
	s.turn.Unlock()
	if c == nil {
		return ""
	}
	text, _ := c.out.Text()
	return text
}

// Rename gives the tab a label; "" is one too, and stays.
func (s *Server) Rename(tabID, label string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	t := s.mustTab(tabID)
	t.label = &label
	s.happens("tab.renamed", object{"tab_id": t.id, "workspace_id": t.workspace.id, "label": label})
}

// Focus moves the user's eyes to the tab; what was done there is seen.
func (s *Server) Focus(tabID string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.focus(s.mustTab(tabID))
}

func (s *Server) focus(t *tab) {
	t.workspace.active, s.m.focused = t, t.workspace
	for _, p := range t.panes {
		if p.status == "done" {
			p.status = "idle"
		}
	}
	s.happens("tab.focused", object{"tab_id": t.id, "workspace_id": t.workspace.id})
}

// SetStatus sets the pane's agent status; any but unknown makes it an agent.
func (s *Server) SetStatus(paneID, status string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	p := s.mustPane(paneID)
	was := s.agent(p)
	p.status = status
	p.revision++
	if is := s.agent(p); is != was {
		data := object{"pane_id": p.id, "workspace_id": p.tab.workspace.id}
		s.optional(data, "agent", is)
		s.happens("pane.agent_detected", data)
	}
}

// Hide leaves the pane out of every list of panes, while its tab goes on counting it.
func (s *Server) Hide(paneID string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mustPane(paneID).hidden = true
}

// LaunchAgain puts a new shell into the pane without a word to any client: another process, the same terminal id.
func (s *Server) LaunchAgain(paneID string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	p := s.mustPane(paneID)
	if c := p.child; c != nil {
		p.child = nil
		c.end()
	}
	p.spec = Pane{Dir: p.spec.Dir, Env: p.spec.Env}
	s.launch(p)
	p.tab.active = p
}

// MovePane moves the pane to another tab and gives its id there, which is another one in another workspace; the old one stays its alias.
func (s *Server) MovePane(paneID, tabID string) string {
	s.turn.Lock()
	defer s.turn.Unlock()
	p, to := s.mustPane(paneID), s.mustTab(tabID)
	from := p.tab
	if from == to {
		return p.id
	}
	data := object{"previous_pane_id": p.id, "previous_tab_id": from.id, "previous_workspace_id": from.workspace.id}
	if len(from.panes) == 1 {
		s.closed(from)
		data["closed_tab_id"] = from.id
		if len(from.workspace.tabs) == 1 {
			data["closed_workspace_id"] = from.workspace.id
		}
	}
	s.m.drop(p)
	p.tab = to
	to.panes = append(to.panes, p)
	if from.workspace != to.workspace {
		p.aliases = append(p.aliases, p.id)
		s.m.number(p)
	}
	data["pane"] = s.paneInfo(p)
	s.happens("pane.moved", data)
	return p.id
}
