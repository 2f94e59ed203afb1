package herdr

import (
	"github.com/winnow-reaper/winnow/actuators/panes"
)

// plan is every name and place that an act uses. It stands in the intent, and as manifest.json beside the saved text.
type plan struct {
	Act       string    `json:"act"`
	Socket    string    `json:"socket"`
	ServerPID int       `json:"server_pid"`
	Tab       string    `json:"tab"`
	Workspace string    `json:"workspace"`
	Label     string    `json:"label"`
	Folder    string    `json:"folder"`
	Panes     []planned `json:"panes"`
}

// planned is a pane: where its text is saved, in which folder it was, and the processes that are held.
type planned struct {
	ID       string         `json:"id"`
	Terminal string         `json:"terminal"`
	File     string         `json:"file"`
	Cwd      string         `json:"cwd,omitempty"`
	Members  []panes.Member `json:"members,omitempty"`
}

// keptText is where the text of the held tab's panes is, or will be.
func (h *held) keptText() panes.Kept {
	return panes.Kept{Trash: h.Trash, Act: h.plan.Act, Panes: len(h.plan.Panes)}
}
