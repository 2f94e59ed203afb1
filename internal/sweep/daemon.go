package sweep

import (
	"context"
	"maps"
	"slices"

	"github.com/winnow-reaper/winnow/internal/brakes"
)

// Braked is what is remembered for the brakes, without what a person brought back since.
func (s *Sweeper) Braked(ctx context.Context) (m brakes.Memory, err error) {
	if err := s.Ledger.Brakes(ctx, &m); err != nil || len(m.Ended) == 0 {
		return m, err
	}
	first := slices.MinFunc(slices.Collect(maps.Values(m.Ended)), func(x, y brakes.Ended) int { return x.At.Compare(y.At) })
	acts, err := s.Ledger.Acts(ctx, first.At)
	if err != nil {
		return m, err
	}
	var restored []string
	for _, a := range acts {
		if a.RestoredAt != nil {
			restored = append(restored, a.Intent.ID)
		}
	}
	return m.Without(restored), nil
}
