package sweep

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
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
