package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

// Trash lists what can be brought back. Where the ledger cannot be read it gives what the manifests say, and the error.
func (o *Ops) Trash(ctx context.Context) ([]document.SetAside, error) {
	kept, err := o.Restorable(ctx)
	return o.Sized(ctx, kept), err
}

// EmptyTrash removes what was set aside at least so long ago for good, after consent was given to what there is. It gives how much younger there is.
func (o *Ops) EmptyTrash(ctx context.Context, least time.Duration, consent func([]document.SetAside) error) (out document.Emptied, younger int, err error) {
	if err := o.Halted(); err != nil {
		return out, 0, fmt.Errorf("%w; nothing was removed", err)
	}
	kept, err := o.Restorable(ctx)
	if err != nil {
		o.Note("%v; what lies in the trash is what its manifests say", err)
	}
	younger = len(kept)
	kept = slices.DeleteFunc(kept, func(x ledger.Act) bool { return time.Since(x.Intent.At) < least })
	younger -= len(kept)
	all := o.Sized(ctx, kept)
	if err := consent(all); err != nil {
		return out, younger, err
	}
	out, err = o.empty(ctx, all)
	return out, younger, err
}

// Purge removes for good what the acts of these whole ids set aside.
func (o *Ops) Purge(ctx context.Context, acts ...string) (out document.Emptied, err error) {
	if err := o.Halted(); err != nil {
		return out, fmt.Errorf("%w; nothing was removed", err)
	}
	kept, err := o.lyingAs(ctx, acts...)
	if err != nil {
		return out, err
	}
	return o.empty(ctx, o.Sized(ctx, kept))
}

// lyingAs are the acts of these whole ids that can be brought back, all of them or an error.
func (o *Ops) lyingAs(ctx context.Context, ids ...string) ([]ledger.Act, error) {
	kept, err := o.Restorable(ctx)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(kept, func(x ledger.Act) bool { return !slices.Contains(ids, x.Intent.ID) })
	if len(out) < len(ids) {
		return nil, errors.New("this does not lie in the trash any more; nothing was done")
	}
	return out, nil
}

// empty removes what lies in the trash, under the lock of sweeps.
func (o *Ops) empty(ctx context.Context, all []document.SetAside) (document.Emptied, error) {
	s := &sweep.Sweeper{Machine: &o.Machine}
	defer s.Close()
	if len(all) > 0 {
		if err := s.Lock(ctx, true, sweep.AskedWait); err != nil {
			return document.Emptied{}, err
		}
	}
	return s.Empty(ctx, all)
}
