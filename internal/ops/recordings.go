package ops

import (
	"context"
	"fmt"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/recorded"
)

// Recordings are the ids of recorded sweeps, the latest first: that one, the last so many, or all.
func (o *Ops) Recordings(ctx context.Context, sweep string, last int) (ids []string, err error) {
	var all []ledger.Recording
	if err := o.ReadLedger(func(l *ledger.Ledger) error {
		all, err = l.Recordings(ctx)
		return err
	}); err != nil {
		return nil, err
	}
	for _, r := range all {
		if sweep == "" || r.Sweep == sweep {
			ids = append(ids, r.Sweep)
		}
	}
	switch {
	case len(all) == 0:
		return nil, config.Usagef("no sweep is recorded in %s: write record: 20 into config.yaml, and sweeps are recorded from then on", o.LedgerPath())
	case len(ids) == 0:
		return nil, config.Usagef("--sweep: sweep %s is not recorded; the last one that is is %s", sweep, all[0].Sweep)
	case last > 0:
		ids = ids[:min(last, len(ids))]
	}
	return ids, nil
}

// Recording reads one recorded sweep.
func (o *Ops) Recording(ctx context.Context, id string) (doc *recorded.Document, err error) {
	err = o.ReadLedger(func(l *ledger.Ledger) error {
		_, data, err := l.Recording(ctx, id)
		if err == nil {
			doc, err = recorded.Decode(data)
		}
		return err
	})
	if err == nil && doc == nil {
		err = fmt.Errorf("read recording of sweep %s: the ledger is gone", id)
	}
	return doc, err
}
