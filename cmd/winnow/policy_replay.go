package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/policycmp"
)

func newPolicyReplay(a *app) *cobra.Command {
	var sweep string
	var last int
	var configured bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Decide recorded sweeps again; are the decisions the same?",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case last < 0:
				return config.Usagef("--last: %d is no number of sweeps", last)
			case last > 0 && sweep != "":
				return config.Usagef("--sweep and --last contradict each other; choose one")
			}
			return a.policyReplay(cmd.Context(), sweep, last, configured)
		},
	}
	cmd.Flags().StringVar(&sweep, "sweep", "", "only the sweep with this `id` (winnow history lists them)")
	cmd.Flags().IntVar(&last, "last", 0, "only the last `N` recorded sweeps")
	cmd.Flags().BoolVar(&configured, "configured", false, "with the parameters and levels of the configuration now, in place of the recorded ones")
	a.forms(cmd, "text", "json", "ndjson")
	return cmd
}

func (a *app) policyReplay(ctx context.Context, sweep string, last int, configured bool) error {
	out, err := policycmp.Replay(ctx, &a.Ops, sweep, last, configured)
	if err = a.show(out, err, "  ", func(w io.Writer) { a.paint.Replay(w, *out) }); err != nil {
		return err
	}
	if !out.Same {
		return exit.Error{Code: exit.Failed, Err: errors.New("policy replay: not every recorded sweep is decided as it was then; nothing was changed")}
	}
	return nil
}
