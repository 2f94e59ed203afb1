package sweep

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/ledger"
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
	for _, step := range []func() error{
		func() error { return s.Ledger.SaveSightings(ctx, sightings) },
		func() error {
			return s.Ledger.SaveLook(ctx, lookOf(&snapshot.Snapshot{TakenAt: r.TakenAt, Host: host}))
		},
		func() error {
			return s.Ledger.SameSweep(ctx, ledger.Sweep{ID: r.Sweep, Started: started, Mode: r.Mode, Revision: r.Policy.Revision, Digest: r.Policy.Digest,
				Rules: s.RulesName(os.Environ()), BootID: host.BootID, Sources: b.Spoke}, time.Now(), r.Census, r.Code(false))
		},
	} {
		if err := step(); err != nil {
			return fmt.Errorf("%w; nothing was done", err)
		}
	}
	return nil
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
