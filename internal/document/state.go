package document

import "github.com/winnow-reaper/winnow/internal/report"

// StateSchema names the shape of State and of NotRunning.
const StateSchema = "winnow.state/v1"

// State is what winnow status prints as JSON: how the daemon stands, and what its latest sweep says in short.
type State struct {
	Schema  string `json:"schema" jsonschema:"enum=winnow.state/v1"`
	Version string `json:"version"`
	Status
	// StateFolder is where it keeps what it remembers.
	StateFolder string           `json:"state"`
	Policy      report.PolicyRef `json:"policy"`
	// Alarms are those of the latest sweep.
	Alarms []report.Alarm `json:"alarms"`
	// NotRead are the sources that it could not read.
	NotRead []string `json:"not_read"`
}

// NotRunning is what winnow status prints as JSON where no daemon answers.
type NotRunning struct {
	Schema  string `json:"schema"`
	Running bool   `json:"running"`
	// State is the state folder; Process is the daemon that has it and does not answer, absent when it is missing.
	State   string `json:"state"`
	Process int    `json:"pid,omitempty"`
}
