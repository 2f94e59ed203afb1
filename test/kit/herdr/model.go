package herdr

import (
	"fmt"
	"strconv"
	"time"
)

// model is what the server holds: workspaces of tabs of panes, and the counters that make ids unique for its life. It is only touched
// under Server.turn, as herdr's is only touched by its app loop.
type model struct {
	workspaces []*workspace
	focused    *workspace

	lastWorkspace, lastPane, lastTerminal int

	// events are the latest, the last of told in this life.
	events []event
	told   int
}

// workspace is one; without tabs it is not shown, for herdr has none such.
type workspace struct {
	id, label      string
	worktree       *Worktree
	tabs           []*tab
	active         *tab
	lastTab, lastP int
}

type tab struct {
	id string
	// label is what it was called, which may be nothing; nil is its position.
	label     *string
	number    int
	workspace *workspace
	panes     []*pane
	active    *pane
}

type pane struct {
	id, terminal string
	aliases      []string
	number, raw  int
	revision     int
	tab          *tab
	spec         Pane
	status       string
	hidden       bool
	child        *child
	mode         Mode
	asked        int
}

// shown gives the workspaces that there are: those with a tab.
func (m *model) shown() (out []*workspace) {
	for _, w := range m.workspaces {
		if len(w.tabs) > 0 {
			out = append(out, w)
		}
	}
	return out
}

func (m *model) tabs() map[string]*tab {
	out := map[string]*tab{}
	for _, w := range m.workspaces {
		for _, t := range w.tabs {
			out[t.id] = t
		}
	}
	return out
}

// panes gives all of them, also those that no list shows, in the order of lists: workspace, tab, layout.
func (m *model) panes() (out []*pane) {
	for _, w := range m.workspaces {
		for _, t := range w.tabs {
			out = append(out, t.panes...)
		}
	}
	return out
}

func (m *model) addWorkspace(label string, tree *Worktree) *workspace {
	m.lastWorkspace++
	w := &workspace{id: "w" + base32(m.lastWorkspace), label: label, worktree: tree}
	m.workspaces = append(m.workspaces, w)
	return w
}

func (m *model) addTab(w *workspace, label *string) *tab {
	w.lastTab++
	t := &tab{id: w.id + ":t" + base32(w.lastTab), label: label, number: w.lastTab, workspace: w}
	w.tabs = append(w.tabs, t)
	if w.active == nil {
		w.active = t
	}
	if m.focused == nil {
		m.focused = w
	}
	return t
}

func (m *model) addPane(t *tab, spec Pane) *pane {
	m.lastPane++
	p := &pane{raw: m.lastPane, terminal: m.newTerminal(), tab: t, spec: spec, status: spec.AgentStatus, mode: Real}
	if p.status == "" {
		p.status = "unknown"
	}
	m.number(p)
	t.panes = append(t.panes, p)
	if t.active == nil {
		t.active = p
	}
	return p
}

// number gives the pane the next id of its workspace.
func (m *model) number(p *pane) {
	w := p.tab.workspace
	w.lastP++
	p.number, p.id = w.lastP, w.id+":p"+base32(w.lastP)
}

// newTerminal gives an id that no terminal had before, in this life of the server or another.
func (m *model) newTerminal() string {
	m.lastTerminal++
	return fmt.Sprintf("term_%x%x", time.Now().UnixMicro(), m.lastTerminal)
}

// drop takes the pane out. Its tab goes with its last pane and its workspace with its last tab, without another word.
func (m *model) drop(p *pane) {
	t := p.tab
	t.panes = without(t.panes, p)
	if t.active == p {
		t.active = first(t.panes)
	}
	if len(t.panes) == 0 {
		m.dropTab(t)
	}
}

func (m *model) dropTab(t *tab) {
	w := t.workspace
	w.tabs = without(w.tabs, t)
	if w.active == t {
		w.active = first(w.tabs)
	}
	if len(w.tabs) == 0 {
		m.dropWorkspace(w)
	}
}

func (m *model) dropWorkspace(w *workspace) {
	m.workspaces = without(m.workspaces, w)
	if m.focused == w {
		m.focused = first(m.shown())
	}
}

// group gives the workspaces that closing this one would take with it: all of its repository when it is the repository's main checkout
// and not alone, else nothing but itself.
func (m *model) group(w *workspace) []*workspace {
	if w.worktree == nil || w.worktree.Linked {
		return []*workspace{w}
	}
	var out []*workspace
	for _, other := range m.shown() {
		if other.worktree != nil && other.worktree.RepoKey == w.worktree.RepoKey {
			out = append(out, other)
		}
	}
	return out
}

// name is the tab's label as clients see it: its own, or else its position now.
func (t *tab) name() string {
	if t.label != nil {
		return *t.label
	}
	for i, other := range t.workspace.tabs {
		if other == t {
			return strconv.Itoa(i + 1)
		}
	}
	return ""
}

// attention lists statuses by how much they want a person, the most first. A status that herdr does not know does not count.
var attention = []string{"blocked", "done", "working", "idle"}

func rollUp(panes []*pane) string {
	for _, status := range attention {
		for _, p := range panes {
			if p.status == status {
				return status
			}
		}
	}
	return "unknown"
}

func (w *workspace) panes() (out []*pane) {
	for _, t := range w.tabs {
		out = append(out, t.panes...)
	}
	return out
}

func without[T comparable](list []T, gone T) []T {
	var out []T
	for _, x := range list {
		if x != gone {
			out = append(out, x)
		}
	}
	return out
}

func first[T any](list []*T) *T {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
