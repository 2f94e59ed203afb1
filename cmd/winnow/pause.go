package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newPause(a *app) *cobra.Command {
	var reason string
	var long span
	cmd := &cobra.Command{
		Use:   "pause [--for 2h] [--reason TEXT]",
		Short: "Stop all acts of this user, until winnow resume",
		Long: `Pause stops every winnow of this user before its next act: the daemon, and every sweep --apply and cleanup, whatever their state folder. An act that
has begun is brought to its end. Looking, deciding and bringing back (winnow restore) go on. A second pause takes the place of the first.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if long < 0 || cmd.Flags().Changed("for") && long == 0 {
				return config.Mistakef("--for %s pauses nothing: give a time from now on such as 2h, or leave it out for a pause without an end", time.Duration(long))
			}
			w := wish{For: forWish(long), Reason: reason}
			return a.through(cmd.Context(), http.MethodPost, "/v1/pause", nil, w, func() error { return a.pause(cmd.Context(), time.Duration(long), reason) })
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
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.through(cmd.Context(), http.MethodDelete, "/v1/pause", nil, nil, a.resumeCommand)
		},
	}
}

func (a *app) resumeCommand() error {
	was, err := a.Resume()
	if err != nil {
		return err
	}
	doc := map[string]bool{"resumed": was}
	if !was {
		return a.say(doc, "nothing was paused")
	}
	return a.say(doc, "resumed: sweeps may act again")
}

func (a *app) pause(ctx context.Context, long time.Duration, reason string) error {
	p, path, err := ledger.Pause{}, a.Acting.PausePath(a.Cfg.State), error(nil)
	if stands := a.LastsLonger(long); stands != nil {
		p = *stands
	} else if p, path, err = a.PlacePause(ctx, long, reason); err != nil {
		return fmt.Errorf("%w; nothing is paused", err)
	}
	until := "until winnow resume"
	if p.Until != nil {
		until = "until " + text.Time(*p.Until)
	}
	return a.say(p, "paused %s, by %s", until, path)
}
