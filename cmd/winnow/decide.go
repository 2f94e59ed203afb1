package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newDecide(a *app) *cobra.Command {
	var f sweep.Listing
	cmd := &cobra.Command{
		Use:         "decide FILE...",
		Annotations: reports,
		Short:       "Decide on saved snapshots; touches nothing else",
		Long: `Decide reads snapshots of winnow snapshot (- is stdin), and prints what a sweep would decide on each: the same
join, the same policies, the same verdicts. It reads and writes nothing else.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error { return a.decide(cmd.Context(), files, f) },
	}
	addShowFlags(cmd, &f)
	return cmd
}

func (a *app) decide(ctx context.Context, files []string, f sweep.Listing) error {
	if err := f.Check(); err != nil {
		return err
	}
	e, p, err := a.Engine(ctx)
	if err != nil {
		return err
	}
	code := exit.Done
	for _, file := range files {
		s, err := a.ReadSnapshot(ctx, file)
		if err != nil {
			return err
		}
		res, err := e.Decide(ctx, s, &a.Cfg.Rules.Config)
		if err != nil {
			return fmt.Errorf("decide on %s: %w", file, err)
		}
		r := report.New(report.Decide, "", s, p, a.Ruled(s), res, &a.Cfg.Rules.Config, f.Kinds)
		a.SayBundles(r)
		r.Select(f.Select)
		r.Held(a.Cfg.Act.Caps.Floor().Plan(a.Touched(f.Kinds), res.Decisions, actuators.Past{}))
		if f.Explain {
			if err := a.FindCounterfactuals(ctx, e, s, r, f.All || a.json()); err != nil {
				return err
			}
		}
		if a.flags.format == "text" && len(files) > 1 {
			fmt.Fprintf(a.out, "== %s\n", text.Clean(file))
		}
		if err := r.Write(a.out, a.paint.Paint, a.flags.format, f.All); err != nil {
			return err
		}
		code = max(code, r.Code(f.ExitCode))
	}
	return exit.CodeError(code)
}
