package sweep

import (
	"context"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// SetAside is an act that can be brought back, with what it takes up in the trash; absent where that is not known.
type SetAside struct {
	ledger.Act
	Bytes *int64 `json:"bytes,omitempty"`
}

// Sized adds to acts what they take up in the trash.
func (m *Machine) Sized(ctx context.Context, kept []ledger.Act) []SetAside {
	var all []SetAside
	for i, l := range m.AddTrashSize(ctx, kept) {
		one := SetAside{Act: kept[i]}
		if l.Known {
			one.Bytes = new(l.Bytes)
		}
		all = append(all, one)
	}
	return all
}

// RemoveOne removes for good what one act set aside, and gives how many bytes came free.
func (s *Sweeper) RemoveOne(ctx context.Context, actuator actuators.Actuator, in decision.Intent) (int64, error) {
	restorer, ok := actuator.(actuators.Restorer)
	if !ok {
		return 0, fmt.Errorf("nothing here can remove what an act on a %s set aside", in.Kind)
	}
	if ctx.Err() != nil {
		return 0, fmt.Errorf("%w; it was not removed", context.Cause(ctx))
	}
	ctx = context.WithoutCancel(ctx)
	freed, err := restorer.Purge(ctx, in)
	if err != nil {
		return 0, err
	}
	if s.Ledger != nil {
		if err := s.Ledger.MarkPurged(ctx, in.ID, time.Now()); err != nil {
			return freed, fmt.Errorf("record that it was removed, which was done: %w", err)
		}
	}
	return freed, nil
}
