package sweep

import (
	"github.com/winnow-reaper/winnow/engine/worker"
)

// Keeper is the worker that its own registry marks as retained.
func (t Target) Keeper() *worker.Seen {
	for i := range t.Records {
		if t.Records[i].Retained {
			return &t.Records[i]
		}
	}
	return nil
}
