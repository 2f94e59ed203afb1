package sweep

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/report"
)

// SeenAgain writes down that all that stood was seen once more.
func (s *Sweeper) SeenAgain(ctx context.Context, started time.Time, r *report.Report, host snapshot.Host, b *look.Fingerprint) error {
	sightings, err := s.Ledger.Sightings(ctx)
	if err != nil {
		return err
	}
	for id, x := range sightings {
		x.LastAt, x.Count = r.TakenAt, x.Count+1
		sightings[id] = x
	}
	look := lookOf(&snapshot.Snapshot{TakenAt: r.TakenAt, Host: host})
	sw := s.recordOf(started, r, host, b.Spoke)
	return record(
		recordStep{"sightings", func() error { return s.Ledger.SaveSightings(ctx, sightings) }},
		recordStep{"look", func() error { return s.Ledger.SaveLook(ctx, look) }},
		recordStep{"sweep", func() error { return s.Ledger.SameSweep(ctx, sw, time.Now(), r.Census, r.Code(false)) }})
}

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
