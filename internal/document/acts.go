package document

import (
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
)

// Emptied is what trash empty removed and what it left.
type Emptied struct {
	Removed []report.Purged `json:"removed"`
	Left    []Left          `json:"left"`
	// Freed is how many bytes came free.
	Freed int64 `json:"freed_bytes"`
}

// Left is an act whose things were not removed, and why.
type Left struct {
	Act       string `json:"act"`
	Candidate string `json:"candidate"`
	Why       string `json:"why"`
}

// Restored is an act whose thing was brought back.
type Restored struct {
	Restored  string `json:"restored"`
	Candidate string `json:"candidate"`
	Detail    string `json:"detail"`
	// Again says when a folder or a session goes again, and NextCommand what keeps it, or prints the id by which it can be kept.
	Again       string `json:"again,omitempty"`
	NextCommand string `json:"next_command,omitempty"`
}

// SetAside is an act that can be brought back, with what it takes up in the trash; absent where that is not known.
type SetAside struct {
	ledger.Act
	Bytes *int64 `json:"bytes,omitempty"`
}

// Cleaned is what winnow cleanup prints as JSON when it did it.
type Cleaned struct {
	Cleaned string        `json:"cleaned"`
	Worker  string        `json:"worker,omitempty"`
	Act     *decision.Act `json:"act"`
	// Settled are acts of an earlier sweep that was cut short, with how they went in the end.
	Settled []decision.Act `json:"settled,omitempty"`
}
