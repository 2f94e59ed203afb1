package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

// Retain holds a candidate, for so long or, with 0, until it is released. A whole id is not completed to another one's. An error may be a *document.Declined.
func (o *Ops) Retain(ctx context.Context, id string, whole bool, reason string, long time.Duration) (h snapshot.Hold, err error) {
	s, err := o.Look(ctx, sources.Scope{}, o.LoadPriorReadOnly(ctx))
	if err != nil {
		return h, err
	}
	if _, there := s.Find(id); whole && !there {
		return h, errNotThere
	}
	t, err := o.FindTarget(ctx, s, id)
	if err != nil {
		return h, err
	}
	if other := ThingDiffers(o.Asker, t.ID); other != "" {
		return h, config.Usagef("candidate %q: %s; nothing was held", t.ID, other)
	}
	if no := t.Keepable(s); no != nil {
		return h, decline(no)
	}
	if err := o.TrustState(); err != nil {
		return h, err
	}
	l, err := ledger.Open(o.LedgerPath())
	if err != nil {
		return h, fmt.Errorf("%w; nothing was held", err)
	}
	defer l.Close()
	h = snapshot.Hold{ID: t.ID, Owner: o.AskerName(), Reason: reason, Since: time.Now().UTC()}
	if owner := t.Owner(); owner != nil {
		h.Reason += mark(owner.Source, owner.ID)
	}
	if long > 0 {
		h.Until = new(h.Since.Add(long))
	}
	err = o.Place(ctx, h.ID, func() (err error) {
		if o.Asker.Conn != nil && !o.CommandLine { // all programs of this user's hold in the user's name, and none of them ends what a person or another program holds for longer
			h, err = l.HoldLonger(ctx, h)
			return err
		}
		return l.Hold(ctx, h)
	})
	if begun := (*ledger.Begun)(nil); errors.As(err, &begun) {
		return h, decline(t.Declined(t.Worker, sweep.BeingTaken, sweep.NothingHeld, "winnow history", "%v", begun))
	}
	if err != nil {
		return h, fmt.Errorf("hold %s: %w; nothing was held", t.ID, err)
	}
	return h, nil
}

// mark is what stands behind the reason of a hold on a worker's session, so that the hold is found by the worker's id even when
// the session is closed.
func mark(source, id string) string { return " (worker " + id + " of " + source + ")" }
