package state

import (
	"context"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// ReadHolds reads the holds and the leases.
func (f *Folder) ReadHolds(ctx context.Context) (holds []snapshot.Hold, err error) {
	none := true
	err = f.ReadLedger(func(l *ledger.Ledger) (err error) {
		none = false
		holds, err = f.Holds(ctx, l)
		return err
	})
	if err == nil && none {
		holds, err = f.Holds(ctx, nil)
	}
	return holds, err
}
