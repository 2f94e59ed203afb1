package tmux

import (
	"time"

	"github.com/winnow-reaper/winnow/actuators/panes"
)

// plan is every name and place that an act uses. It stands in the intent, and as manifest.json beside the saved scrollback.
type plan struct {
	Act       string    `json:"act"`
	Socket    string    `json:"socket"`
	ServerPID int       `json:"server_pid"`
	Session   string    `json:"session"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	Folder    string    `json:"folder"`
	Panes     []planned `json:"panes"`
}

// planned is a pane: where its scrollback is saved, what is needed to make one like it, and the processes that are held.
type planned struct {
	ID         string         `json:"id"`
	File       string         `json:"file"`
	Cwd        string         `json:"cwd,omitempty"`
	Window     string         `json:"window"`
	WindowName string         `json:"window_name"`
	Layout     string         `json:"layout"`
	Width      int            `json:"width"`
	Height     int            `json:"height"`
	Members    []panes.Member `json:"members,omitempty"`
}

// keptText is where the scrollback of the held session's panes is, or will be.
func (g *handle) keptText() panes.Kept {
	return panes.Kept{Trash: g.Trash, Act: g.plan.Act, Panes: len(g.plan.Panes)}
}
