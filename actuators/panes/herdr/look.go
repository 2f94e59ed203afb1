package herdr

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// view is what a server says of itself at one moment; from a server without session.snapshot at three.
type view struct {
	// peer is the pid of the process that answered.
	peer int
	// Protocol is nil where the server has no session.snapshot.
	Protocol    *int        `json:"protocol"`
	FocusedTab  string      `json:"focused_tab_id"`
	FocusedPane string      `json:"focused_pane_id"`
	Workspaces  []workspace `json:"workspaces"`
	Tabs        []tab       `json:"tabs"`
	Panes       []pane      `json:"panes"`
}

// In what a server says, nil and the empty text are what it left out, and unknown.
type workspace struct {
	ID       string    `json:"workspace_id"`
	TabCount *int      `json:"tab_count"`
	Worktree *worktree `json:"worktree"`
}

type worktree struct {
	RepoKey string `json:"repo_key"`
	Linked  *bool  `json:"is_linked_worktree"`
}

type tab struct {
	ID        string  `json:"tab_id"`
	Workspace string  `json:"workspace_id"`
	Label     *string `json:"label"`
	Focused   *bool   `json:"focused"`
	PaneCount *int    `json:"pane_count"`
}

type pane struct {
	ID          string `json:"pane_id"`
	Terminal    string `json:"terminal_id"`
	Tab         string `json:"tab_id"`
	AgentStatus string `json:"agent_status"`
	Cwd         string `json:"cwd"`
}

// none are the parameters of a method that takes none: they must be there all the same.
var none = struct{}{}

// look asks for everything. Servers before 0.7.2 do not know session.snapshot, and say so by invalid_request.
func (c client) look(ctx context.Context) (*view, error) {
	var whole struct {
		Snapshot *view `json:"snapshot"`
	}
	peer, err := c.call(ctx, "session.snapshot", none, "session_snapshot", &whole)
	v := whole.Snapshot
	switch {
	case code(err) == "invalid_request":
		if v, peer, err = c.lists(ctx); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case v == nil:
		return nil, errors.New("session.snapshot: the server's answer has no snapshot")
	}
	v.peer = peer
	return v, v.whole()
}

// lists asks for panes first and workspaces last: whether a tab is the last of its workspace is then known most freshly.
func (c client) lists(ctx context.Context) (v *view, peer int, err error) {
	v = &view{}
	for _, l := range []struct{ method, kind string }{{"pane.list", "pane_list"}, {"tab.list", "tab_list"}, {"workspace.list", "workspace_list"}} {
		if peer, err = c.call(ctx, l.method, none, l.kind, v); err != nil {
			return nil, 0, err
		}
	}
	return v, peer, nil
}

// whole refuses an answer that lacks what everything else is told apart by.
func (v *view) whole() error {
	if v.Workspaces == nil || v.Tabs == nil || v.Panes == nil {
		return errors.New("the server's answer lacks a list of workspaces, tabs or panes")
	}
	seen := map[string]bool{}
	once := func(kind string, ids ...string) error {
		if slices.Contains(ids, "") {
			return fmt.Errorf("the server lists a %s without an id", kind)
		}
		if seen[kind+ids[0]] {
			return fmt.Errorf("the server lists %s %q twice", kind, ids[0])
		}
		seen[kind+ids[0]] = true
		return nil
	}
	var err error
	for _, w := range v.Workspaces {
		err = errors.Join(err, once("workspace", w.ID))
	}
	for _, t := range v.Tabs {
		err = errors.Join(err, once("tab", t.ID, t.Workspace))
	}
	for _, p := range v.Panes {
		err = errors.Join(err, once("pane", p.ID, p.Terminal, p.Tab), once("terminal", p.Terminal))
	}
	return err
}

func (v *view) tab(id string) *tab {
	for i := range v.Tabs {
		if v.Tabs[i].ID == id {
			return &v.Tabs[i]
		}
	}
	return nil
}

func (v *view) workspace(id string) *workspace {
	for i := range v.Workspaces {
		if v.Workspaces[i].ID == id {
			return &v.Workspaces[i]
		}
	}
	return nil
}

// terminal is the pane in which the terminal is shown.
func (v *view) terminal(id string) *pane {
	for i := range v.Panes {
		if v.Panes[i].Terminal == id {
			return &v.Panes[i]
		}
	}
	return nil
}

// panesOf lists a tab's panes in the server's order.
func (v *view) panesOf(tab string) []pane {
	return slices.DeleteFunc(slices.Clone(v.Panes), func(p pane) bool { return p.Tab != tab })
}

// siblings lists the other tabs of a tab's workspace.
func (v *view) siblings(workspace, tab string) []string {
	var out []string
	for _, t := range v.Tabs {
		if t.Workspace == workspace && t.ID != tab {
			out = append(out, t.ID)
		}
	}
	return out
}

// processInfo is what a server says of what runs in a pane's foreground.
type processInfo struct {
	Pane       string `json:"pane_id"`
	Shell      *int   `json:"shell_pid"`
	Foreground *int   `json:"foreground_process_group_id"`
	Processes  []struct {
		PID  *int   `json:"pid"`
		Name string `json:"name"`
	} `json:"foreground_processes"`
}

// info asks for one pane by its id: a request without one would be about whichever pane is focused.
func (c client) info(ctx context.Context, pane string) (*processInfo, error) {
	var out struct {
		Info *processInfo `json:"process_info"`
	}
	_, err := c.call(ctx, "pane.process_info", map[string]string{"pane_id": pane}, "pane_process_info", &out)
	switch {
	case err != nil:
		return nil, err
	case out.Info == nil || out.Info.Pane != pane:
		return nil, fmt.Errorf("pane.process_info: the server answered for another pane than %s", pane)
	}
	return out.Info, nil
}
