package herdr

import (
	"encoding/json"
	"fmt"

	"winnow/actuators/panes"
	"winnow/engine/decision"
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

// planOf reads an intent's plan. Its names are checked: what is in it decides which files are read and removed.
func planOf(in decision.Intent) (*plan, error) {
	var p plan
	if err := json.Unmarshal(in.Plan, &p); err != nil {
		return nil, fmt.Errorf("read the plan of act %s: %w", in.ID, err)
	}
	files := make([]string, len(p.Panes))
	for i, pane := range p.Panes {
		files[i] = pane.File
	}
	if err := panes.Own(in.ID, p.Act, p.Socket, files); err != nil {
		return nil, err
	}
	return &p, nil
}
