package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
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
	was, err := a.resume()
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
	p, path, err := ledger.Pause{}, a.acting.PausePath(a.cfg.State), error(nil)
	if stands := a.lastsLonger(long); stands != nil {
		p = *stands
	} else if p, path, err = a.placePause(ctx, long, reason); err != nil {
		return fmt.Errorf("%w; nothing is paused", err)
	}
	until := "until winnow resume"
	if p.Until != nil {
		until = "until " + text.Time(*p.Until)
	}
	return a.say(p, "paused %s, by %s", until, path)
}

// lastsLonger is the pause that holds, where a program asks by the API for one that would end before it: none ends what a person or another program paused for longer.
func (a *stateFolder) lastsLonger(long time.Duration) *ledger.Pause {
	if a.asker.Conn == nil || a.line || long == 0 {
		return nil
	}
	p := a.paused()
	if p == nil || p.Until != nil && !p.Until.After(time.Now().Add(long)) {
		return nil
	}
	return p
}

// placePause writes a pause down, and gives it with its file.
func (a *stateFolder) placePause(ctx context.Context, long time.Duration, reason string) (ledger.Pause, string, error) {
	now := processes.Now()
	p := ledger.Pause{Since: now.At, Reason: reason}
	if long > 0 {
		until := now.At.Add(long)
		p.Until = &until
		if boot, err := proc.BootID(a.cfg.Collect.Processes.Root); err == nil && now.Up != nil {
			p.BootID, p.UntilUp = boot, *now.Up+long.Seconds()
		}
	}
	path, err := a.acting.Pause(ctx, a.cfg.State, p)
	return p, path, err
}

func (a *stateFolder) resume() (bool, error) { return a.acting.Resume(a.cfg.State) }

// paused gives the pause that holds now, nil where there is none.
func (a *stateFolder) paused() *ledger.Pause {
	return a.acting.Paused(a.cfg.State, func() (string, float64) {
		boot, err := proc.BootID(a.cfg.Collect.Processes.Root)
		up := processes.Now().Up
		if err != nil || up == nil {
			return "", 0
		}
		return boot, *up
	})
}

// halted says why nothing may be done now, nil where something may.
func (a *stateFolder) halted() error {
	if p := a.paused(); p != nil {
		return p
	}
	return nil
}
