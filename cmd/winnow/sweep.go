package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

func newSweep(a *app) *cobra.Command {
	var f sweep.Options
	cmd := &cobra.Command{
		Use:         "sweep",
		Annotations: reports,
		Short:       "See, decide and print; with --apply also act",
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.sweepCommand(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.Apply, "apply", false, "carry the decisions out")
	cmd.Flags().BoolVar(&f.Confirm, "confirm", false, "with --apply: wait rules.confirm_after and sweep again, for sessions, tabs and terminals. Processes wait for longer")
	cmd.Flags().IntVar(&f.Max, "max", 0, "let `N` acts through at once, in all and for an owner, in place of act.caps.per_sweep and per_owner")
	cmd.Flags().StringSliceVar(&f.AllOf, "all-of", nil, "let these `kinds` through although it looks like an accident (act.caps.share): you have looked at what is to go")
	cmd.Flags().BoolVar(&f.Fetch, "fetch", false, "first fetch the remote's default branch of each repository that has worktrees here")
	addShowFlags(cmd, &f.Show)
	return cmd
}

func (a *app) sweepCommand(ctx context.Context, f sweep.Options) error {
	if err := errors.Join(f.Show.Check(), f.CapOptions.Check()); err != nil {
		return err
	}
	if f.Confirm && !f.Apply {
		return config.Usagef("--confirm needs --apply: without it nothing would be done at the second look")
	}
	e, p, err := a.EngineBy(ctx, bundles.Look{Ask: true})
	if err != nil {
		return err
	}
	s, err := a.OpenSweeper(ctx, e, p, f.Apply, sweep.SweepWait)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.Sweep(ctx, f)
	if err != nil {
		return err
	}
	show := func() error {
		if err := s.Explain(ctx, r, f.Show, a.json()); err != nil {
			return err
		}
		return r.Write(a.out, a.paint.Paint, a.flags.format, f.Show.All)
	}
	if f.Confirm && a.Waits(r) {
		if err := show(); err != nil {
			return err
		}
		if err := a.wait(ctx, config.Seconds(a.Cfg.Rules.ConfirmAfter)); err != nil {
			return err
		}
		if r, err = s.Sweep(ctx, f); err != nil {
			return err
		}
	}
	return cmp.Or(show(), exit.CodeError(r.Code(f.Show.ExitCode)))
}

func newDf(a *app) *cobra.Command {
	var f sweep.Listing
	cmd := &cobra.Command{
		Use:   "df",
		Short: "What would come free, by repository, kind and reason",
		Long: `Df looks and decides as winnow sweep does, and sums up what would come free: by repository or folder, by kind
and by reason, the largest first. It changes nothing. What it saw is remembered, as by winnow sweep, which lists the
things themselves. Where a source could not be read, it says so and exits with 3.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.Check(); err != nil {
				return err
			}
			e, p, err := a.Engine(cmd.Context())
			if err != nil {
				return err
			}
			defer a.Close(e)
			r, _, err := a.LookOnce(cmd.Context(), e, p, f)
			if err != nil {
				return err
			}
			u := r.Usage()
			err = a.show(u, nil, "  ", func(w io.Writer) { u.Write(w, a.paint.Paint) })
			return cmp.Or(err, exit.CodeError(r.Code(false)))
		},
	}
	cmd.Flags().StringSliceVar(&f.Kinds, "kind", nil, "only these `kinds`: tab, session, terminal, dir, process")
	addSelection(cmd, &f.Select)
	return cmd
}
