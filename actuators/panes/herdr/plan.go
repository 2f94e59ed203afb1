package herdr

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"

	"winnow/actuators"
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
	ID       string   `json:"id"`
	Terminal string   `json:"terminal"`
	File     string   `json:"file"`
	Cwd      string   `json:"cwd,omitempty"`
	Members  []member `json:"members,omitempty"`
}

type member struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
}

const manifest = "manifest.json"

// file is where the text of a plan's i-th pane is saved.
func file(i int) string { return fmt.Sprintf("pane-%d.txt", i) }

// actID is what an act's id must look like to be a folder's name.
var actID = regexp.MustCompile(`\A[0-9A-Za-z][0-9A-Za-z._-]*\z`)

// planOf reads an intent's plan. Its names are checked: what is in it decides which files are read and removed.
func planOf(in decision.Intent) (*plan, error) {
	var p plan
	if err := json.Unmarshal(in.Plan, &p); err != nil {
		return nil, fmt.Errorf("read the plan of act %s: %w", in.ID, err)
	}
	if p.Act != in.ID || !actID.MatchString(p.Act) || !filepath.IsAbs(p.Socket) || len(p.Panes) == 0 {
		return nil, actuators.Refused("the plan of act %s is not one of its own; nothing was touched", in.ID)
	}
	for i, pane := range p.Panes {
		if pane.File != file(i) {
			return nil, actuators.Refused("the plan of act %s names the file %q, which is not one of its own; nothing was touched", in.ID, pane.File)
		}
	}
	return &p, nil
}
