package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

func newRelease(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "release ID",
		Short: "Lift a hold; ends nothing by itself",
		Long: `Release lifts the hold on ID, which is as winnow holds prints it, a part of that, or the id of a worker. It ends nothing.
What a registry itself marks as retained stays so: only its own program can let go of that.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.through(cmd.Context(), http.MethodDelete, "/v1/holds", url.Values{"candidate": ids}, nil, func() error { return a.release(cmd.Context(), ids[0]) })
		},
	}
}

// Released is what winnow release prints as JSON.
type Released struct {
	Released string `json:"released"`
	// Also are other holds of the same worker, on sessions that it had before.
	Also []string `json:"also,omitempty"`
	// Retained is the registry that still keeps it, and NextCommand the command that lets go of it there.
	Retained    string `json:"retained,omitempty"`
	NextCommand string `json:"next_command,omitempty"`
}

func (a *app) release(ctx context.Context, arg string) error {
	if err := a.TrustState(); err != nil {
		return err
	}
	l, err := ledger.Open(a.LedgerPath())
	if err != nil {
		return fmt.Errorf("%w; nothing was released", err)
	}
	defer l.Close()
	holds, err := a.Holds(ctx, l)
	if err != nil {
		return fmt.Errorf("read holds: %w; nothing was released", err)
	}
	s, err := a.Look(ctx, sources.Scope{}, a.LoadPrior(ctx, l))
	if err != nil {
		return err
	}
	t, _, notFound := a.FindTarget(ctx, s, arg)
	held, err := heldBy(holds, t, arg)
	keeper := t.Keeper()
	switch {
	case err != nil && notFound == nil && keeper != nil:
		return a.refuse(*t.Refused(keeper, sweep.KeptThere, sweep.NothingFreed, keeper.Release,
			"Winnow holds nothing of it: %s itself marks it as retained, and only its own program can let go of that", called(keeper)))
	case err != nil:
		return err
	}
	for _, id := range held {
		if other := ops.SameThing(a.Asker, id); other != "" {
			return config.Mistakef("candidate %q: %s; nothing was released", id, other)
		}
	}
	for _, id := range held {
		if _, err := a.Lift(ctx, l, id); err != nil {
			return fmt.Errorf("release %s: %w", id, err)
		}
	}
	out, then := Released{Released: held[0], Also: held[1:]}, "the next sweep decides about it again"
	if keeper != nil {
		out.Retained, out.NextCommand = keeper.Source, keeper.Release
		then = strings.TrimSuffix("its registry still marks it as retained: "+out.NextCommand, ": ")
	}
	return a.say(out, "%s is no longer held; %s", strings.Join(held, ", "), then)
}

// heldBy are the candidates that are held by what was asked for: the one of that id or name, those held for that worker, or the one
// that a part of an id fits.
func heldBy(holds []snapshot.Hold, t sweep.Asked, arg string) ([]string, error) {
	var known, own []string
	for _, h := range holds {
		known = append(known, h.ID)
		if w := t.Worker; w != nil && (h.ID == t.Id || strings.HasSuffix(h.Reason, mark(w.Source, w.ID))) {
			own = append(own, h.ID)
		}
	}
	if slices.Contains(known, arg) {
		return []string{arg}, nil
	}
	if t.Worker == nil && slices.Contains(known, t.Id) {
		return []string{t.Id}, nil
	}
	if t.Worker != nil {
		if own = slices.Compact(slices.Sorted(slices.Values(own))); len(own) == 0 {
			return nil, config.Mistakef("nothing of %s is held by Winnow; winnow holds lists what is", called(t.Worker))
		}
		return own, nil
	}
	id, err := ops.Pick(arg, known, ops.HeldThing)
	return []string{id}, err
}
