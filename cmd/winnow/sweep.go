package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/report"
)

type sweepFlags struct {
	apply, confirm bool
	fetch          bool
	// only are the ids of what may be acted on, nil for everything that the decisions reap.
	only []string
	show showFlags
	capFlags
}

// chosen are all decisions, of which only the chosen ones reap: the caps take their shares of everything that was seen.
func (f sweepFlags) chosen(ds []decision.Decision) []decision.Decision {
	if f.only == nil {
		return ds
	}
	out := slices.Clone(ds)
	for i := range out {
		if !slices.Contains(f.only, out[i].ID) {
			out[i].Verdict = decision.Spare
		}
	}
	return out
}

// among leaves of decisions those that were chosen.
func (f sweepFlags) among(ds []decision.Decision) []decision.Decision {
	if f.only == nil {
		return ds
	}
	return slices.DeleteFunc(ds, func(d decision.Decision) bool { return !slices.Contains(f.only, d.ID) })
}

// showFlags are what sweep and decide share.
type showFlags struct {
	kinds    []string
	all      bool
	exitCode bool
	explain  bool
}

func (f *showFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.kinds, "kind", nil, "only these `kinds`: tab, session, terminal, dir, process")
	cmd.Flags().BoolVar(&f.all, "all", false, "also list what is spared, each with its main reason")
	cmd.Flags().BoolVar(&f.explain, "explain", false, "say of each that is listed what would have to be otherwise for the other verdict; takes 10s at most")
	cmd.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with 4 when something would be reaped")
}

func (f *showFlags) check() error {
	if err := checkKinds("--kind", f.kinds); err != nil {
		return err
	}
	if len(f.kinds) == 0 {
		f.kinds = snapshot.KindNames()
	}
	return nil
}

func newSweep(a *app) *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "See, decide and print; with --apply also act",
		Long: `Sweep looks at everything, decides for each candidate and prints what would go and why. It changes nothing without
--apply. What it saw is remembered all the same, and a later --apply may count it as the first look.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.sweepCommand(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.apply, "apply", false, "carry the decisions out")
	cmd.Flags().BoolVar(&f.confirm, "confirm", false, "with --apply: wait rules.confirm_after and sweep a second time, for sessions, tabs and terminals; processes wait for longer")
	cmd.Flags().IntVar(&f.max, "max", 0, "let `N` acts through at once, in all and for an owner, in place of act.caps.per_sweep and per_owner")
	cmd.Flags().StringSliceVar(&f.allOf, "all-of", nil, "let these `kinds` through although it looks like an accident (act.caps.share): you have looked at what is to go")
	cmd.Flags().BoolVar(&f.fetch, "fetch", false, "first fetch the remote's default branch of each repository that has worktrees here")
	f.show.add(cmd)
	return cmd
}

func (a *app) sweepCommand(ctx context.Context, f sweepFlags) error {
	if err := errors.Join(f.show.check(), f.capFlags.check()); err != nil {
		return err
	}
	if f.confirm && !f.apply {
		return config.Mistakef("--confirm needs --apply: without it nothing would be done at the second look")
	}
	e, p, err := a.EngineBy(ctx, bundles.Look{Ask: true})
	if err != nil {
		return err
	}
	s, err := a.openSweeper(ctx, e, p, f.apply, sweepWait)
	if err != nil {
		return err
	}
	defer s.close()
	r, err := s.sweep(ctx, f)
	if err != nil {
		return err
	}
	if f.confirm && a.waits(r) {
		if err := s.explain(ctx, r, f.show, a.json()); err != nil {
			return err
		}
		if err := r.Write(a.out, a.paint.Paint, a.flags.format, f.show.all); err != nil {
			return err
		}
		if err := a.wait(ctx, config.Seconds(a.Cfg.Rules.ConfirmAfter)); err != nil {
			return err
		}
		if r, err = s.sweep(ctx, f); err != nil {
			return err
		}
	}
	if err := s.explain(ctx, r, f.show, a.json()); err != nil {
		return err
	}
	if err := r.Write(a.out, a.paint.Paint, a.flags.format, f.show.all); err != nil {
		return err
	}
	if code := r.Code(f.show.exitCode); code != exit.Done {
		return exit.Error{Code: code}
	}
	return nil
}

// explain adds what would turn it to what the last sweep listed, or to every decision, where that was asked for.
func (s *sweeper) explain(ctx context.Context, r *report.Report, f showFlags, every bool) error {
	if !f.explain {
		return nil
	}
	return s.otherwise(ctx, s.engine, s.seen, r, every || f.all)
}

// waits reports whether a second look, rules.confirm_after from now, could reap something that this one could not.
func (a *machineCore) waits(r *report.Report) bool {
	next := r.TakenAt.Add(config.Seconds(a.Cfg.Rules.ConfirmAfter))
	return slices.ContainsFunc(r.Decisions, func(d decision.Decision) bool {
		at, known := report.Due(d, r.TakenAt)
		return d.Verdict == decision.Spare && d.Waits() && (!known || !at.After(next))
	})
}

// wait pauses for d, saying so to a person.
func (a *app) wait(ctx context.Context, d time.Duration) error {
	if a.flags.format == "text" {
		a.Note("waiting %s for the second look", d)
	}
	select {
	case <-ctx.Done():
		return exit.Error{Code: exit.Part, Err: errors.New("interrupted between two looks; what the first one saw is remembered, nothing more was done")}
	case <-time.After(d):
		return nil
	}
}
