package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newRetain(a *app) *cobra.Command {
	var reason string
	var long span
	cmd := &cobra.Command{
		Use:   "retain ID --reason TEXT",
		Short: "Hold a candidate, so that nothing may reap it",
		Long: `Retain places a hold on a tab, a session, a process or a folder. Nothing reaps it until the hold is released or its time has passed.
ID is as sweep --all prints it, such as session:tmux/default/$4 or dir:/home/me/wt/a; it may be shortened while it is unambiguous. It may
also be a worker's id in its registry. A session that a registry records is only held when its worker has ended and the session lives.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if strings.TrimSpace(reason) == "" {
				return config.Mistakef("--reason is missing: say why it must stay, for the reader of winnow holds")
			}
			if long < 0 || cmd.Flags().Changed("for") && long == 0 {
				return config.Mistakef("--for %s holds nothing: give a time from now on such as 2d, or leave it out for a hold without an end", time.Duration(long))
			}
			w := wish{Candidate: ids[0], Reason: reason, For: forWish(long)}
			return a.through(cmd.Context(), http.MethodPost, "/v1/holds", nil, w, func() error { return a.retain(cmd.Context(), ids[0], reason, time.Duration(long)) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it must stay")
	cmd.Flags().Var(&long, "for", "how long, such as 90m or 2d; without it until it is released")
	return cmd
}

func (a *app) retain(ctx context.Context, id, reason string, span time.Duration) error {
	s, err := a.Look(ctx, sources.Scope{}, a.LoadPriorReadOnly(ctx))
	if err != nil {
		return err
	}
	return a.retainIn(ctx, s, id, reason, span)
}

// retainIn holds what a look saw.
func (a *app) retainIn(ctx context.Context, s *snapshot.Snapshot, id, reason string, span time.Duration) error {
	t, no, err := a.FindTarget(ctx, s, id)
	if err != nil {
		return err
	}
	if other := ops.SameThing(a.Asker, t.Id); no == nil && other != "" {
		return config.Mistakef("candidate %q: %s; nothing was held", t.Id, other)
	}
	if no == nil {
		no = t.Keepable(s)
	}
	if no != nil {
		return a.refuse(*no)
	}
	if err := a.TrustState(); err != nil {
		return err
	}
	l, err := ledger.Open(a.LedgerPath())
	if err != nil {
		return fmt.Errorf("%w; nothing was held", err)
	}
	defer l.Close()
	h := snapshot.Hold{ID: t.Id, Owner: a.AskerName(), Reason: reason, Since: time.Now().UTC()}
	if own := t.Own(); own != nil {
		h.Reason += mark(own.Source, own.ID)
	}
	if span > 0 {
		t := h.Since.Add(span)
		h.Until = &t
	}
	err = a.Place(ctx, h.ID, func() (err error) {
		if a.Asker.Conn != nil && !a.CommandLine { // all programs of this user's hold in the user's name, and none of them ends what a person or another program holds for longer
			h, err = l.HoldLonger(ctx, h)
			return err
		}
		return l.Hold(ctx, h)
	})
	if begun := (*ledger.Begun)(nil); errors.As(err, &begun) {
		return a.refuse(*t.Refused(t.Worker, sweep.BeingTaken, sweep.NothingHeld, "winnow history", "%v", begun))
	}
	if err != nil {
		return fmt.Errorf("hold %s: %w; nothing was held", t.Id, err)
	}
	until := "until it is released"
	if h.Until != nil {
		until = "until " + text.Time(*h.Until)
	}
	return a.say(h, "%s is held %s", h.ID, until)
}

// mark is what stands behind the reason of a hold on a worker's session, so that the hold is found by the worker's id even when
// the session is closed.
func mark(source, id string) string { return " (worker " + id + " of " + source + ")" }

// forWish is a time as the API takes it, "" for none.
func forWish(long span) string {
	if long == 0 {
		return ""
	}
	return time.Duration(long).String()
}
