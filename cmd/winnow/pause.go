package main

import (
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/render"
)

func newPause(a *app) *cobra.Command {
	var reason string
	var long span
	cmd := &cobra.Command{
		Use:   "pause [--for 2h] [--reason TEXT]",
		Short: "Stop all acts of this user, until winnow resume",
		Long: `Pause stops every winnow of this user before its next act: the daemon, and every sweep --apply and cleanup, whatever their state folder. An act that
has begun is brought to its end. Looking, deciding and bringing back (winnow restore) go on. A second pause takes the place of the first.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if long < 0 || cmd.Flags().Changed("for") && long == 0 {
				return config.Usagef("--for %s pauses nothing: give a time from now on such as 2h, or leave it out for a pause without an end", time.Duration(long))
			}
			how := client.Params{For: long.wire(), Reason: reason}
			p, err := viaDaemon(cmd.Context(), a, http.MethodPost, "/v1/pause", how, func() (lock.Pause, error) {
				return a.Pause(cmd.Context(), time.Duration(long), reason)
			})
			return a.say(p, err, render.Paused(p, a.PausePath()))
		},
	}
	cmd.Flags().Var(&long, "for", "how long, such as 2h; without it until winnow resume")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the reader of what is not done meanwhile")
	return cmd
}

func newResume(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "End a pause",
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := viaDaemon(cmd.Context(), a, http.MethodDelete, "/v1/pause", client.Params{}, func() (document.Resumed, error) { return a.EndPause() })
			return a.say(out, err, render.Resumed(out))
		},
	}
}
