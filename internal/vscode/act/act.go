// Package act has the calls that change something in a window of an editor. Only actuators may import it.
package act

import (
	"context"
	"errors"

	"winnow/internal/vscode"
)

// The codes by which a window refuses to close a tab.
const (
	NotFound = "not_found"
	Changed  = "changed" // it is not what the request says
)

// dispose is a tab that is to be closed with what it must be. What is nil must not be there.
type dispose struct {
	N            int     `json:"n"`
	Name         string  `json:"name"`
	Shape        string  `json:"shape"`
	CreationName *string `json:"creation_name,omitempty"`
	PID          *int    `json:"pid,omitempty"`
	StartTicks   *uint64 `json:"start_ticks,omitempty"`
}

// CloseTab has a window close one terminal tab, if that is in everything what t says. Its errors are those of Window.Open and Conn.Ask. Whether the tab
// is gone has to be looked for.
func CloseTab(ctx context.Context, w vscode.Window, t vscode.Terminal) error {
	c, err := w.Open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Ask(ctx, "terminal.dispose", dispose{t.N, t.Name, t.Shape, t.CreationName, t.PID, t.StartTicks}, &struct{}{})
}

// OpenTab opens a terminal tab with a new shell in a folder, and gives its number. Its errors are those of Window.Open and Conn.Ask.
func OpenTab(ctx context.Context, w vscode.Window, name, cwd string) (int, error) {
	c, err := w.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	params := map[string]string{"name": name}
	if cwd != "" {
		params["cwd"] = cwd
	}
	var out struct {
		N int `json:"n"`
	}
	if err := c.Ask(ctx, "terminal.open", params, &out); err != nil {
		return 0, err
	}
	if out.N <= 0 {
		return 0, errors.New("terminal.open: the answer does not say which tab was opened")
	}
	return out.N, nil
}
