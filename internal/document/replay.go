package document

import (
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/report"
)

// ReplaySchema names the shape of a Replay.
const ReplaySchema = "winnow.replay/v1"

// Replay is what winnow policy replay prints as JSON.
type Replay struct {
	Schema string           `json:"schema"`
	Policy report.PolicyRef `json:"policy"`
	// Same is true when every recorded sweep was decided as it was then.
	Same   bool            `json:"same"`
	Sweeps []ReplayedSweep `json:"sweeps"`
}

// ReplayedSweep is a recorded sweep that was decided again. Ids are stand-ins, as in the recording.
type ReplayedSweep struct {
	Sweep string `json:"sweep"`
	// Policy is what decided then, and Decisions counts what it decided.
	Policy    report.PolicyRef `json:"policy"`
	Decisions int              `json:"decisions"`
	// Differ are the candidates that are decided otherwise now.
	Differ []ChangedDecision `json:"differ"`
}

// ChangedDecision is a candidate that was decided one way and is decided in another. Either is absent where the candidate was not in scope.
type ChangedDecision struct {
	ID  string            `json:"id"`
	Was *recorded.Decided `json:"was,omitempty"`
	Now *recorded.Decided `json:"now,omitempty"`
}
