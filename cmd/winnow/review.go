package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/review"
	"github.com/winnow-reaper/winnow/internal/screen"
	"github.com/winnow-reaper/winnow/internal/story"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newReview(a *app) *cobra.Command {
	var f sweep.Listing
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Choose in a list what goes, what is kept, what is protected",
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.review(cmd.Context(), f) },
	}
	cmd.Flags().StringSliceVar(&f.Kinds, "kind", nil, "only these `kinds`: tab, session, terminal, dir, process")
	return cmd
}

func (a *app) review(ctx context.Context, f sweep.Listing) error {
	if err := f.Check(); err != nil {
		return err
	}
	in, out, err := a.terminal("review")
	if err != nil {
		return err
	}
	e, p, err := a.EngineBy(ctx, bundles.Look{Ask: true})
	if err != nil {
		return err
	}
	r, snap, err := a.LookOnce(ctx, e, p, f)
	if err != nil {
		return err
	}
	if a.json() {
		doc := review.Document{Schema: review.Schema, Sweep: r.Sweep, Policy: r.Policy, Stories: append([]story.Story{}, story.Build(snap, r, "")...)}
		return a.show(doc, nil, "  ", nil)
	}
	looking, stop := context.WithCancel(ctx)
	var explaining sync.WaitGroup
	list := review.New(review.Options{
		Stories: story.Build(snap, r, story.Stay), Counts: report.Stays(r.Decisions), Paint: a.paint.Paint, File: a.OwnConfig(), Glob: review.Glob,
		Explain: func(id string) (short, rules screen.Text) {
			explaining.Add(1)
			defer explaining.Done()
			return a.explanation(looking, snap, id)
		},
	})
	err = screen.Run(ctx, in, out, list)
	stop()
	explaining.Wait()
	if err != nil {
		return fmt.Errorf("%w; nothing was done", err)
	}
	choice := list.Choice()
	if !choice.Confirmed {
		a.Note("nothing was done")
		return nil
	}
	return a.carryOut(ctx, e, choice, f)
}

// carryOut does what was chosen: protections and holds first, so that they count for what follows.
func (a *app) carryOut(ctx context.Context, e *eval.Engine, c review.Choice, f sweep.Listing) error {
	if err := a.protect(ctx, c.Protect); err != nil {
		return err
	}
	for _, d := range c.Hold {
		h, err := a.Retain(ctx, d.ID, true, "kept in winnow review", 0)
		if err != nil {
			return fmt.Errorf("%w; nothing was taken away", err)
		}
		fmt.Fprintln(a.out, render.Held(h))
	}
	var take, ask []string
	for _, d := range c.Take {
		if story.StateOf(d) == story.Ask {
			ask = append(ask, d.ID)
		} else {
			take = append(take, d.ID)
		}
	}
	code := exit.Done
	if len(take) > 0 {
		s, err := a.OpenSweeper(ctx, e, a.Policy, true, sweep.AskedWait)
		if err != nil {
			return err
		}
		r, err := s.Sweep(ctx, sweep.Options{Apply: true, Only: take, Show: f})
		s.Close()
		if err != nil {
			return err
		}
		a.saidOf(r, take)
		code = r.Code(false)
	}
	var failed []error
	for _, id := range ask {
		var coded exit.Error
		out, err := a.Cleanup(ctx, id, false)
		if err == nil {
			a.paint.Cleaned(a.out, out)
			continue
		}
		switch err := a.declined(err); {
		case errors.As(err, &coded):
			code = max(code, coded.Code)
			if coded.Err != nil {
				a.Note("%v", coded.Err)
			}
		default:
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return exit.CodeError(code)
}

// saidOf says what came of the acts on what was taken, and of what was not tried because it may no longer go.
func (a *app) saidOf(r *report.Report, take []string) {
	report.Acts(a.out, a.paint.Paint, "acts", r.Acts, true)
	var rows []text.Row
	for _, id := range take {
		if slices.ContainsFunc(r.Acts, func(x decision.Act) bool { return x.Candidate == id }) {
			continue
		}
		row := text.Row{Lead: "kept", Color: a.paint.Yellow, Label: id, Text: "it was not there any more"}
		if i := slices.IndexFunc(r.Decisions, func(d decision.Decision) bool { return d.ID == id }); i >= 0 {
			row.Label, row.Text = report.Label(r.Decisions[i]), r.Decisions[i].Main.Message
		}
		rows = append(rows, row)
	}
	a.paint.Rows(a.out, rows...)
}

// protect writes globs into rules.protected. The rest of the file stays as it is.
func (a *app) protect(ctx context.Context, ds []decision.Decision) error {
	if len(ds) == 0 {
		return nil
	}
	globs := text.Map(ds, review.Glob)
	file := a.OwnConfig()
	if err := config.Protect(ctx, file, globs, atomicfile.Write); err != nil {
		return fmt.Errorf("protect %s in %s: %w. Nothing was done", strings.Join(globs, ", "), file, err)
	}
	a.Cfg.Rules.Protected = append(a.Cfg.Rules.Protected, globs...)
	fmt.Fprintf(a.out, "%s: rules.protected has %s now\n", text.Clean(text.Home(file)), text.Clean(strings.Join(globs, ", ")))
	return nil
}
