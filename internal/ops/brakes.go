package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Brakes are the brakes that hold.
func (o *Ops) Brakes(ctx context.Context) ([]brakes.Brake, error) {
	m := brakes.Memory{}
	err := o.ReadLedger(func(l *ledger.Ledger) error { return l.Brakes(ctx, &m) })
	return m.Tripped, err
}

// ReleaseBrakes releases brakes, all of them where none is named, and gives those that held.
func (o *Ops) ReleaseBrakes(ctx context.Context, rules []string) ([]brakes.Brake, error) {
	for _, r := range rules {
		if !slices.Contains(brakes.Rules, r) {
			return nil, config.Mistakef("unknown brake %q%s", r, text.Hint(r, brakes.Rules))
		}
	}
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
