package main

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
)

func newHolds(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "holds",
		Short: "List the holds",
		RunE: func(cmd *cobra.Command, _ []string) error {
			holds, err := viaDaemon(cmd.Context(), a, http.MethodGet, "/v1/holds", client.Params{}, func() ([]snapshot.Hold, error) { return a.ReadHolds(cmd.Context()) })
			return list(a, "holds", holds, err, func(w io.Writer) { a.paint.Holds(w, holds) })
		},
	}
}

func newRetain(a *app) *cobra.Command {
	var reason string
	var long span
	cmd := &cobra.Command{
		Use:   "retain ID --reason TEXT",
		Short: "Hold a candidate, so that nothing may reap it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if strings.TrimSpace(reason) == "" {
				return config.Usagef("--reason is missing: say why it must stay, for the reader of winnow holds")
			}
			if long < 0 || cmd.Flags().Changed("for") && long == 0 {
				return config.Usagef("--for %s holds nothing: give a time from now on such as 2d, or leave it out for a hold without an end", time.Duration(long))
			}
			id := ops.AbsoluteID(ids[0])
			hold := client.Params{Candidate: id, Reason: reason, For: long.wire()}
			h, err := viaDaemon(cmd.Context(), a, http.MethodPost, "/v1/holds", hold, func() (snapshot.Hold, error) {
				return a.Retain(cmd.Context(), id, false, reason, time.Duration(long))
			})
			return a.declined(a.say(h, err, render.Held(h)))
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it must stay")
	cmd.Flags().Var(&long, "for", "how long, such as 90m or 2d; without it until it is released")
	return cmd
}

func newRelease(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "release ID",
		Short: "Lift a hold; ends nothing by itself",
		Long: `Release lifts the hold on ID. ID is as winnow holds prints it, a part of that, or the id of a worker. It ends nothing.
What a registry itself marks as retained stays so: only its own program can let go of that.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			id := ops.AbsoluteID(ids[0])
			out, err := viaDaemon(cmd.Context(), a, http.MethodDelete, "/v1/holds", client.Params{Candidate: id}, func() (document.Released, error) {
				return a.Release(cmd.Context(), id)
			})
			return a.declined(a.say(out, err, render.Released(out)))
		},
	}
}
