package herdr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// The members of herdr's answers that are read. Every other is passed over, and one that is null is one that is not there.
// Texts that are not there are empty; no herdr version gives an empty one but for a label.

// result is what an answer of any type holds.
type result struct {
	Type string `json:"type"`
	world
	Snapshot *world   `json:"snapshot"`
	Pane     *pane    `json:"pane"`
	Running  *running `json:"process_info"`
}

// world is the server's whole state. An answer to a list has one of its three lists.
type world struct {
	Version    string      `json:"version"`
	Protocol   *int        `json:"protocol"`
	FocusedTab string      `json:"focused_tab_id"`
	Workspaces []workspace `json:"workspaces"`
	Tabs       []tab       `json:"tabs"`
	Panes      []pane      `json:"panes"`
}

type workspace struct {
	ID       string `json:"workspace_id"`
	TabCount *int   `json:"tab_count"`
	// Worktree is absent where the workspace is no checkout of a repository that has others.
	Worktree *struct {
		Repository string `json:"repo_key"`
		Linked     *bool  `json:"is_linked_worktree"`
	} `json:"worktree"`
}

type tab struct {
	ID        string  `json:"tab_id"`
	Workspace string  `json:"workspace_id"`
	Label     *string `json:"label"`
	Focused   *bool   `json:"focused"`
	PaneCount *int    `json:"pane_count"`
}

type pane struct {
	ID       string `json:"pane_id"`
	Terminal string `json:"terminal_id"`
	Tab      string `json:"tab_id"`
	Status   string `json:"agent_status"`
}

// running is what runs in a pane, as herdr sees it.
type running struct {
	Pane  string `json:"pane_id"`
	Shell *int   `json:"shell_pid"`
	Group *int   `json:"foreground_process_group_id"`
	// Foreground is left out where herdr does not know it, and never empty.
	Foreground []struct {
		PID  int    `json:"pid"`
		Name string `json:"name"`
	} `json:"foreground_processes"`
}

// The only ids that are believed, and sent: herdr takes others for positions, and would answer about another tab.
var (
	tabID  = regexp.MustCompile(`^w[1-9A-HJKMNP-TV-Z0]+:t[1-9A-HJKMNP-TV-Z0]+$`)
	paneID = regexp.MustCompile(`^w[1-9A-HJKMNP-TV-Z0]+:p[1-9A-HJKMNP-TV-Z0]+$`)
)

// check says whether w holds together. One app loop gives it in one turn, so that it always does; a tab or pane that is odd makes
// all the others doubtful, where a count of tabs or panes decides what closing one takes along.
func (w *world) check() error {
	if w.Workspaces == nil || w.Tabs == nil || w.Panes == nil {
		return errors.New("the answer leaves out its workspaces, tabs or panes")
	}
	workspaces, tabs, panes, terminals := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, x := range w.Workspaces {
		if x.ID == "" || !first(workspaces, x.ID) {
			return fmt.Errorf("workspace %.40q has no id, or is listed twice", x.ID)
		}
	}
	for _, t := range w.Tabs {
		if !tabID.MatchString(t.ID) || !first(tabs, t.ID) {
			return fmt.Errorf("tab %.40q is listed twice, or its id is of a shape that winnow does not know", t.ID)
		}
	}
	for _, p := range w.Panes {
		switch {
		case !paneID.MatchString(p.ID) || !first(panes, p.ID):
			return fmt.Errorf("pane %.40q is listed twice, or its id is of a shape that winnow does not know", p.ID)
		case !tabs[p.Tab]:
			return fmt.Errorf("pane %s is in tab %.40q, which is not listed", p.ID, p.Tab)
		case p.Terminal != "" && !first(terminals, p.Terminal):
			return fmt.Errorf("pane %s has a terminal that another one has", p.ID)
		}
	}
	return nil
}

func (w *world) has(id string) bool {
	return slices.ContainsFunc(w.Tabs, func(t tab) bool { return t.ID == id })
}

// first reports whether id is new to seen, and adds it.
func first(seen map[string]bool, id string) bool {
	old := seen[id]
	seen[id] = true
	return !old
}

// alike reports whether a and b are the same state but for what agents do, which changes all the time.
func alike(a, b *world) bool {
	return slices.EqualFunc(a.Workspaces, b.Workspaces, workspace.same) && slices.EqualFunc(a.Tabs, b.Tabs, tab.same) &&
		slices.EqualFunc(a.Panes, b.Panes, pane.same)
}

func (x workspace) same(y workspace) bool {
	return x.ID == y.ID && equal(x.TabCount, y.TabCount) && (x.Worktree == nil) == (y.Worktree == nil) &&
		(x.Worktree == nil || x.Worktree.Repository == y.Worktree.Repository && equal(x.Worktree.Linked, y.Worktree.Linked))
}

func (t tab) same(u tab) bool {
	return t.ID == u.ID && t.Workspace == u.Workspace && equal(t.Label, u.Label) && equal(t.Focused, u.Focused) && equal(t.PaneCount, u.PaneCount)
}

func (p pane) same(q pane) bool { return p.ID == q.ID && p.Terminal == q.Terminal && p.Tab == q.Tab }

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
