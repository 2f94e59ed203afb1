package herdr

import (
	"context"
	"slices"

	"github.com/winnow-reaper/winnow/internal/sys/herdr/internal/rpc"
)

// Newest is the newest protocol whose methods and shapes are known here. A server of a newer one is asked which methods it has.
const Newest = 22

// used are the methods without which no tab can be judged, closed and had again.
var used = []string{"session.snapshot", "pane.current", "pane.process_info", "pane.read", "tab.close", "tab.create"}

// Lacks lists what is used of a server and is missing from it: methods, by the server's own list, and members of w, which it gave. It is empty where nothing is
// missing, and nil where the server does not list its methods.
func (c *Client) Lacks(ctx context.Context, w *World) ([]string, error) {
	has, err := (*rpc.Conn)(c).Methods(ctx)
	if err != nil || has == nil {
		return nil, err
	}
	out := w.lacks()
	for _, method := range used {
		if !slices.Contains(has, method) {
			out = append(out, method)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// lacks lists members that every version gives of each workspace, tab and pane, and that some lack. It is never nil.
func (w *World) lacks() []string {
	out := []string{}
	lack := func(what string, missing bool) {
		if missing {
			out = append(out, what)
		}
	}
	for _, x := range w.Workspaces {
		lack("workspace.tab_count", x.TabCount == nil)
	}
	for _, t := range w.Tabs {
		lack("tab.workspace_id", t.Workspace == "")
		lack("tab.label", t.Label == nil)
		lack("tab.focused", t.Focused == nil)
		lack("tab.pane_count", t.PaneCount == nil)
	}
	for _, p := range w.Panes {
		lack("pane.terminal_id", p.Terminal == "")
		lack("pane.agent_status", p.Status == "")
	}
	return out
}
