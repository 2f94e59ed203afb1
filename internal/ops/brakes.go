package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// Brakes are the brakes that hold.
func (o *Ops) Brakes(ctx context.Context) ([]brakes.Brake, error) {
	m := brakes.Memory{}
	err := o.ReadLedger(func(l *ledger.Ledger) error { return l.Brakes(ctx, &m) })
	return m.Tripped, err
}

// ReleaseBrakes releases brakes, and gives those that held.
func (o *Ops) ReleaseBrakes(ctx context.Context, rules []string) ([]brakes.Brake, error) {
	if err := o.TrustState(); err != nil {
		return nil, err
	}
	l, err := ledger.Open(o.LedgerPath())
	if err != nil {
		return nil, fmt.Errorf("%w; nothing was released", err)
	}
	m := brakes.Memory{}
	err = l.Brakes(ctx, &m)
	next, released := m.Releases(rules...)
	if err == nil && len(released) > 0 {
		err = l.SaveBrakes(ctx, next)
	}
	return released, errors.Join(err, l.Close())
}
