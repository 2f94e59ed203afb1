package herdr

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// The members of herdr's answers that are read. Every other is passed over, and one that is null is one that is not there.
// Texts that are not there are empty; no herdr version gives an empty one but for a label.

// World is the server's whole state. An answer to a list has one of its three lists.
type World struct {
	// Server is the pid of the process that answered, 0 for one outside of this pid namespace.
	Server int `json:"-"`
	// Version and Protocol are missing where the server has no session.snapshot.
	Version     string      `json:"version"`
	Protocol    *int        `json:"protocol"`
	FocusedTab  string      `json:"focused_tab_id"`
	FocusedPane string      `json:"focused_pane_id"`
	Workspaces  []Workspace `json:"workspaces"`
	Tabs        []Tab       `json:"tabs"`
	Panes       []Pane      `json:"panes"`
}

// Workspace is a list of tabs.
type Workspace struct {
	ID       string `json:"workspace_id"`
	TabCount *int   `json:"tab_count"`
	// Worktree is absent where the workspace is not a checkout of a repository that has others.
	Worktree *Worktree `json:"worktree"`
}

// Worktree says of which repository a workspace is a checkout, and whether it is the main one.
type Worktree struct {
	Repository string `json:"repo_key"`
	Linked     *bool  `json:"is_linked_worktree"`
}

// Tab is a list of panes.
type Tab struct {
	ID        string  `json:"tab_id"`
	Workspace string  `json:"workspace_id"`
	Label     *string `json:"label"`
	Focused   *bool   `json:"focused"`
	PaneCount *int    `json:"pane_count"`
}

// Pane shows a terminal, whose id is given once only.
type Pane struct {
	ID       string `json:"pane_id"`
	Terminal string `json:"terminal_id"`
	Tab      string `json:"tab_id"`
	Status   string `json:"agent_status"`
}

// Running is what runs in a pane, as herdr sees it.
type Running struct {
	Pane  string `json:"pane_id"`
	Shell *int   `json:"shell_pid"`
	// Group is the process group in front, nil where herdr does not know it.
	Group *int `json:"foreground_process_group_id"`
	// Foreground is left out where herdr does not know it, and never empty.
	Foreground []Process `json:"foreground_processes"`
}

// Process is one in front of a pane.
type Process struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}

// herdr reads ids leniently: "w1:2" and "t_1_2" are a tab by its place, "1-1" and "p_75" a pane, so that a malformed id closes a
// real tab, and a wrong one. Only ids that look exactly as herdr writes them (bijective base 32) are believed, and sent.
const digits = "[1-9A-HJKMNP-TV-Z0]+"

var (
	workspaceID = regexp.MustCompile(`\Aw` + digits + `\z`)
	tabID       = regexp.MustCompile(`\Aw` + digits + `:t` + digits + `\z`)
	paneID      = regexp.MustCompile(`\Aw` + digits + `:p` + digits + `\z`)
)

// WorkspaceID reports whether id is exactly a workspace's, such as w1.
func WorkspaceID(id string) bool { return workspaceID.MatchString(id) }

// TabID reports whether id is exactly a tab's, such as w1:t3.
func TabID(id string) bool { return tabID.MatchString(id) }

// PaneID reports whether id is exactly a pane's, such as w1:p4.
func PaneID(id string) bool { return paneID.MatchString(id) }

// check says whether w holds together. One app loop gives it in one turn, so that it always does; a tab or pane that is odd makes
// all the others doubtful, where a count of tabs or panes decides what closing one takes along.
func (w *World) check() error {
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
		if !TabID(t.ID) || !first(tabs, t.ID) {
			return fmt.Errorf("tab %.40q is listed twice, or its id is of a shape that winnow does not know", t.ID)
		}
	}
	for _, p := range w.Panes {
		switch {
		case !PaneID(p.ID) || !first(panes, p.ID):
			return fmt.Errorf("pane %.40q is listed twice, or its id is of a shape that winnow does not know", p.ID)
		case !tabs[p.Tab]:
			return fmt.Errorf("pane %s is in tab %.40q, which is not listed", p.ID, p.Tab)
		case p.Terminal != "" && !first(terminals, p.Terminal):
			return fmt.Errorf("pane %s has a terminal that another one has", p.ID)
		}
	}
	return nil
}

// first reports whether id is new to seen, and adds it.
func first(seen map[string]bool, id string) bool {
	old := seen[id]
	seen[id] = true
	return !old
}

// check says what an answer about a pane leaves out. Half of it would be misread.
func (r *Running) check(pane string) error {
	switch {
	case r == nil:
		return fmt.Errorf("%w what runs in the pane", ErrUntold)
	case r.Pane != pane:
		return fmt.Errorf("%w what runs in this pane: it answers about another one", ErrUntold)
	case r.Shell == nil || *r.Shell <= 0:
		return fmt.Errorf("%w which process is the pane's shell", ErrUntold)
	case len(r.Foreground) == 0:
		return fmt.Errorf("%w what is in the foreground", ErrUntold)
	case slices.ContainsFunc(r.Foreground, func(p Process) bool { return p.PID <= 0 }):
		return fmt.Errorf("%w the pid of a process in the foreground", ErrUntold)
	}
	return nil
}

// Tab is the listed tab with that id, or nil.
func (w *World) Tab(id string) *Tab {
	return find(w.Tabs, func(t *Tab) bool { return t.ID == id })
}

// Workspace is the listed workspace with that id, or nil.
func (w *World) Workspace(id string) *Workspace {
	return find(w.Workspaces, func(x *Workspace) bool { return x.ID == id })
}

// Terminal is the pane that shows the terminal, or nil.
func (w *World) Terminal(id string) *Pane {
	return find(w.Panes, func(p *Pane) bool { return p.Terminal == id })
}

// PanesOf lists a tab's panes by their ids: herdr gives them as they lie on the screen.
func (w *World) PanesOf(tab string) []Pane {
	out := slices.DeleteFunc(slices.Clone(w.Panes), func(p Pane) bool { return p.Tab != tab })
	slices.SortFunc(out, func(a, b Pane) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func find[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// alike reports whether a and b are the same state but for what agents do, which changes all the time.
func alike(a, b *World) bool {
	same := func(p, q Pane) bool {
		p.Status, q.Status = "", ""
		return p == q
	}
	return reflect.DeepEqual(a.Workspaces, b.Workspaces) && reflect.DeepEqual(a.Tabs, b.Tabs) && slices.EqualFunc(a.Panes, b.Panes, same)
}

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
			p.ID, p.Terminal, p.Status, termsafe.OrUnknown("%v", r.Shell), termsafe.OrUnknown("%v", r.Group), r.foreground()))
	}
	return strings.Join(append([]string{
		fmt.Sprintf("herdr %q protocol %s", w.Version, termsafe.OrUnknown("%v", w.Protocol)),
		w.workspace(t.Workspace),
		fmt.Sprintf("tab %s label %s pane_count %s", t.ID, termsafe.OrUnknown("%q", t.Label), termsafe.OrUnknown("%v", t.PaneCount)),
		fmt.Sprintf("focus %s tab %t pane %t", termsafe.OrUnknown("%v", t.Focused), w.FocusedTab == t.ID, focusedPane),
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
		repository, linked = fmt.Sprintf("%q", x.Worktree.Repository), termsafe.OrUnknown("%v", x.Worktree.Linked)
	}
	return fmt.Sprintf("workspace %q tab_count %s listed %d repository %s linked %s shared by %d, unclear %d",
		id, termsafe.OrUnknown("%v", x.TabCount), listed, repository, linked, sharing, unclear)
}

func (r *Running) foreground() string {
	var out strings.Builder
	for _, p := range slices.SortedFunc(slices.Values(r.Foreground), func(a, b Process) int { return cmp.Compare(a.PID, b.PID) }) {
		fmt.Fprintf(&out, " %d %q", p.PID, p.Name)
	}
	return out.String()
}
