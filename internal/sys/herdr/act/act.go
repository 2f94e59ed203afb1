// Package act has the calls that change something on a herdr server. Only actuators may import it.
package act

import (
	"context"
	"errors"
	"fmt"

	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/internal/sys/herdr/internal/rpc"
)

// The codes by which a server refuses to close a tab.
const (
	TabNotFound          = "tab_not_found"
	TabCloseFailed       = "tab_close_failed"      // the last one of its workspace, up to 0.7.5
	ConfirmationRequired = "confirmation_required" // the user is asked in a dialog
)

// CloseTab closes a tab with all that runs in it. Its errors are those of rpc.Conn.Call.
func CloseTab(ctx context.Context, c *herdr.Client, tab string) error {
	if !herdr.TabID(tab) {
		return fmt.Errorf("%w: %.40q is no id of a tab", herdr.ErrNotSent, tab)
	}
	_, err := (*rpc.Conn)(c).Call(ctx, "tab.close", map[string]string{"tab_id": tab}, "ok", &rpc.Type{})
	return err
}

// NewTab is a tab that is to be opened. An empty Workspace or Cwd leaves that to the server.
type NewTab struct {
	Label     string `json:"label"`
	Workspace string `json:"workspace_id,omitempty"`
	Cwd       string `json:"cwd,omitempty"`
	// Focus says whether it takes the focus.
	Focus bool `json:"focus"`
}

// OpenTab opens a tab with one shell. Its errors are those of rpc.Conn.Call.
func OpenTab(ctx context.Context, c *herdr.Client, n NewTab) (herdr.Tab, error) {
	if n.Workspace != "" && !herdr.WorkspaceID(n.Workspace) {
		return herdr.Tab{}, fmt.Errorf("%w: %.40q is no id of a workspace", herdr.ErrNotSent, n.Workspace)
	}
	var out struct {
		rpc.Type
		Tab *herdr.Tab `json:"tab"`
	}
	_, err := (*rpc.Conn)(c).Call(ctx, "tab.create", n, "tab_created", &out)
	if err == nil && out.Tab == nil {
		err = errors.New("the answer does not say which tab was opened")
	}
	if err != nil {
		return herdr.Tab{}, err
	}
	return *out.Tab, nil
}
