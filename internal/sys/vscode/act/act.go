// Package act has the calls that change something in a window of an editor. Only actuators may import it.
package act

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf16"

	"github.com/winnow-reaper/winnow/internal/sys/vscode"
	"github.com/winnow-reaper/winnow/internal/sys/vscode/internal/line"
)

// The codes by which a window refuses to close a tab.
const (
	NotFound = "not_found"
	Changed  = "changed" // it is not what the request says
	Failed   = "failed"  // it tried, and what came of it is not known
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

// CloseTab has a window close the tab of that number. It reads the window's tabs, asks may whether the one that is read, nil where it is not
// listed, may go, and sends the one request in the same conversation right after that. The window compares the tab once more with all that
// was read.
//
// An error of may is given as it is, and nothing was sent. Other errors are those of line.Window.Open, line.Conn.Ask, and of
// vscode.Terminals with ErrNotSent. Whether the tab is gone has to be looked for.
func CloseTab(ctx context.Context, w vscode.Window, n int, may func(vscode.Hello, *vscode.Terminal) error) error {
	c, err := line.Window(w).Open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := vscode.Terminals(c, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", vscode.ErrNotSent, err)
	}
	t := vscode.Find(all, n)
	switch err := may(c.Hello, t); {
	case err != nil:
		return err
	case t == nil:
		return fmt.Errorf("%w: the window lists no tab %d", vscode.ErrNotSent, n)
	}
	return c.Ask("terminal.dispose", dispose{t.N, t.Name, t.Shape, t.CreationName, t.PID, t.StartTicks}, &struct{}{})
}

// maxName is the longest name of a new tab, in UTF-16 units, as an editor counts.
const maxName = 256

// OpenTab opens a tab with a new shell in a folder, the window's own choice where cwd is "", and gives the tab's number. A name that is too
// long is cut. Its errors are those of line.Window.Open and line.Conn.Ask.
func OpenTab(ctx context.Context, w vscode.Window, name, cwd string) (int, error) {
	c, err := line.Window(w).Open(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	params := map[string]string{"name": cut(name)}
	if cwd != "" {
		params["cwd"] = cwd
	}
	var out struct {
		N int `json:"n"`
	}
	if err := c.Ask("terminal.open", params, &out); err != nil {
		return 0, err
	}
	if out.N <= 0 {
		return 0, errors.New("terminal.open: the answer does not say which tab was opened")
	}
	return out.N, nil
}

func cut(name string) string {
	units := 0
	for i, r := range name {
		if units += max(1, utf16.RuneLen(r)); units > maxName {
			return name[:i]
		}
	}
	return name
}
