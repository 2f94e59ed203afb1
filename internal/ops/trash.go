package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
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

// Restore brings back what acts set aside, each by itself, and gives what came back, also beside an error. The acts' ids may be shortened. What
// came back is held for so long, unless that is 0.
func (o *Ops) Restore(ctx context.Context, long time.Duration, acts ...string) ([]document.Restored, error) {
	s := &sweep.Sweeper{Machine: &o.Machine}
	defer s.Close()
	if err := s.Lock(ctx, true, sweep.AskedWait); err != nil {
		return nil, err
	}
	kept, lost := s.OpenTrash(ctx)
	ids, wanted, err := pickActs(kept, acts)
	if err != nil { // before anything is brought back
		return nil, errors.Join(lost, err)
	}
	if lost != nil {
		o.Note("%v; the manifests in the trash say how to bring %s back, and that it was is not recorded", lost, strings.Join(ids, ", "))
	}
	if long <= 0 {
		return s.Restore(ctx, wanted, nil)
	}
	return s.Restore(ctx, wanted, func(ctx context.Context, id string) (snapshot.Hold, error) { // under the lock of acts: none can take it meanwhile
		now := time.Now().UTC()
		return s.Ledger.HoldLonger(ctx, snapshot.Hold{ID: id, Owner: o.AskerName(), Reason: "restored", Since: now, Until: new(now.Add(long))})
	})
}

// RestoreWhole brings back what the act of this whole id set aside.
func (o *Ops) RestoreWhole(ctx context.Context, act string) ([]document.Restored, error) {
	if _, err := o.lyingAs(ctx, act); err != nil {
		return nil, err
	}
	return o.Restore(ctx, o.Cfg.Act.RestoreHold, act)
}

// pickActs completes the ids of acts, each once. The name of a thing is its newest act.
func pickActs(kept []ledger.Act, acts []string) (ids []string, wanted []decision.Intent, err error) {
	var known []string
	byID := map[string]decision.Intent{}
	for _, r := range kept {
		known = append(known, r.Intent.ID)
		byID[r.Intent.ID] = r.Intent
	}
	for _, act := range acts {
		newest, named := "", map[string]bool{}
		for _, in := range byID {
			if slices.Contains([]string{in.Candidate, filepath.Base(in.Candidate), in.Label}, act) {
				newest, named[in.Label] = max(newest, in.ID), true
			}
		}
		if len(named) > 1 {
			return nil, nil, config.Usagef("%q is ambiguous: it is the name of %s; give the id of the act, as winnow trash lists it", act, strings.Join(slices.Sorted(maps.Keys(named)), ", "))
		}
		id, err := pick(cmp.Or(newest, act), known, trashed)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(ids, id) {
			ids, wanted = append(ids, id), append(wanted, byID[id])
		}
	}
	return ids, wanted, nil
}
