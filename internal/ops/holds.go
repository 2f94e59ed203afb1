package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

// Release lifts the holds on what arg names: a candidate, a part of an id, or a worker. An error may be a *document.Declined.
func (o *Ops) Release(ctx context.Context, arg string) (out document.Released, err error) {
	l, err := o.openLedger("nothing was released")
	if err != nil {
		return out, err
	}
	defer l.Close()
	holds, err := o.Holds(ctx, l)
	if err != nil {
		return out, fmt.Errorf("read holds: %w; nothing was released", err)
	}
	s, err := o.Look(ctx, sources.Scope{}, o.LoadPrior(ctx, l))
	if err != nil {
		return out, err
	}
	t, notFound := o.FindTarget(ctx, s, arg)
	held, err := heldBy(holds, t, arg)
	keeper := t.Keeper()
	switch {
	case err != nil && notFound == nil && keeper != nil:
		return out, decline(t.Declined(keeper, sweep.KeptThere, sweep.NothingFreed, keeper.Release,
			"Winnow holds nothing of it: %s itself marks it as retained, and only its own program can let go of that", workerName(keeper)))
	case err != nil:
		return out, err
	}
	for _, id := range held {
		if other := ThingDiffers(o.Asker, id); other != "" {
			return out, config.Usagef("candidate %q: %s; nothing was released", id, other)
		}
	}
	for _, id := range held {
		if _, err := o.Lift(ctx, l, id); err != nil {
			return out, fmt.Errorf("release %s: %w", id, err)
		}
	}
	out = document.Released{Released: held[0], Also: held[1:]}
	if keeper != nil {
		out.Retained, out.NextCommand = keeper.Source, keeper.Release
	}
	return out, nil
}

// ReleaseHold lifts the holds on the candidate of this whole id, without a look.
func (o *Ops) ReleaseHold(ctx context.Context, id string) (document.Released, error) {
	if other := ThingDiffers(o.Asker, id); other != "" {
		return document.Released{}, config.Usagef("candidate %q: %s; nothing was released", id, other)
	}
	l, err := o.openLedger("nothing was released")
	if err != nil {
		return document.Released{}, err
	}
	defer l.Close()
	n, err := o.Lift(ctx, l, id)
	switch {
	case err != nil:
		return document.Released{}, fmt.Errorf("release %s: %w", id, err)
	case n == 0:
		return document.Released{}, config.Usagef("%q was not held any more", id)
	}
	return document.Released{Released: id}, nil
}

// openLedger opens the ledger for writing; without it that is what became of what was asked for.
func (o *Ops) openLedger(without string) (*ledger.Ledger, error) {
	if err := o.TrustState(); err != nil {
		return nil, err
	}
	l, err := ledger.Open(o.LedgerPath())
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, without)
	}
	return l, nil
}

// heldBy are the candidates that are held by what was asked for: the one of that id or name, those held for that worker, or the one
// that a part of an id fits.
func heldBy(holds []snapshot.Hold, t sweep.Target, arg string) ([]string, error) {
	var known, own []string
	for _, h := range holds {
		known = append(known, h.ID)
		if w := t.Worker; w != nil && (h.ID == t.ID || strings.HasSuffix(h.Reason, mark(w.Source, w.ID))) {
			own = append(own, h.ID)
		}
	}
	if slices.Contains(known, arg) {
		return []string{arg}, nil
	}
	if t.Worker == nil && slices.Contains(known, t.ID) {
		return []string{t.ID}, nil
	}
	if t.Worker != nil {
		if own = slices.Compact(slices.Sorted(slices.Values(own))); len(own) == 0 {
			return nil, config.Usagef("nothing of %s is held by Winnow; winnow holds lists what is", workerName(t.Worker))
		}
		return own, nil
	}
	id, err := pick(arg, known, heldThing)
	return []string{id}, err
}

// workerName names a worker in a sentence.
func workerName(w *worker.Seen) string { return "worker " + w.ID + " of " + w.Source }

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
	l, err := o.openLedger("nothing was held")
	if err != nil {
		return h, err
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
