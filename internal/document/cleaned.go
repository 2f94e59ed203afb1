package document

import (
	"github.com/winnow-reaper/winnow/engine/decision"
)

// Cleaned is what winnow cleanup prints as JSON when it did it.
type Cleaned struct {
	Cleaned string        `json:"cleaned"`
	Worker  string        `json:"worker,omitempty"`
	Act     *decision.Act `json:"act"`
	// Settled are acts of an earlier sweep that was cut short, with how they went in the end.
	Settled []decision.Act `json:"settled,omitempty"`
}
