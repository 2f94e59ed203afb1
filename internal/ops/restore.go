package ops

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

// Restore brings back what acts set aside, each by itself, and gives what came back, also beside an error. The acts' ids may be shortened.
func (o *Ops) Restore(ctx context.Context, acts ...string) ([]document.Restored, error) {
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
	return s.Restore(ctx, wanted)
}

// RestoreWhole brings back what the act of this whole id set aside.
func (o *Ops) RestoreWhole(ctx context.Context, act string) ([]document.Restored, error) {
	if _, err := o.lyingAs(ctx, act); err != nil {
		return nil, err
	}
	return o.Restore(ctx, act)
}

// pickActs completes the ids of acts, each once.
func pickActs(kept []ledger.Act, acts []string) (ids []string, wanted []decision.Intent, err error) {
	var known []string
	byID := map[string]decision.Intent{}
	for _, r := range kept {
		known = append(known, r.Intent.ID)
		byID[r.Intent.ID] = r.Intent
	}
	for _, act := range acts {
		id, err := pick(act, known, trashed)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(ids, id) {
			ids, wanted = append(ids, id), append(wanted, byID[id])
		}
	}
	return ids, wanted, nil
}
