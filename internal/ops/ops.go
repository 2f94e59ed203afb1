// Package ops has the operations that commands and the API share: each returns a document and prints nothing.
package ops

import (
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

// Ops is what looking, judging and acting need of one run of the program. It prints nothing.
type Ops struct{ sweep.Machine }

// New gives the operations on a state folder.
func New(f state.Folder) Ops {
	return Ops{sweep.Machine{Looker: look.Looker{Loader: ruleset.Loader{Folder: f}}}}
}
