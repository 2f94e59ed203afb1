package tmux

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"winnow/actuators"
	"winnow/engine/decision"
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
	ID         string   `json:"id"`
	File       string   `json:"file"`
	Cwd        string   `json:"cwd,omitempty"`
	Window     string   `json:"window"`
	WindowName string   `json:"window_name"`
	Layout     string   `json:"layout"`
	Width      int      `json:"width"`
	Height     int      `json:"height"`
	Members    []member `json:"members,omitempty"`
}

type member struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
}

const manifest = "manifest.json"

// file is where the scrollback of a plan's i-th pane is saved.
func file(i int) string { return fmt.Sprintf("pane-%d.txt", i) }

// actID is what an act's id must look like to be a folder's name.
var actID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// planOf reads an intent's plan. Its names are checked: what is in it decides which files are read and removed.
func planOf(in decision.Intent) (*plan, error) {
	var p plan
	if err := json.Unmarshal(in.Plan, &p); err != nil {
		return nil, fmt.Errorf("read the plan of act %s: %w", in.ID, err)
	}
	if p.Act != in.ID || !actID.MatchString(p.Act) || p.Socket == "" || len(p.Panes) == 0 {
		return nil, actuators.Refused("the plan of act %s is not one of its own; nothing was touched", in.ID)
	}
	for i, pane := range p.Panes {
		if pane.File != file(i) {
			return nil, actuators.Refused("the plan of act %s names the file %q, which is not one of its own; nothing was touched", in.ID, pane.File)
		}
	}
	return &p, nil
}
