package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/policycmp"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
)

// ReplaySchema names the shape of what winnow policy replay prints as JSON.
const ReplaySchema = "winnow.replay/v1"

type replayFlags struct {
	sweep      string
	last       int
	configured bool
}

func newPolicyReplay(a *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Decide recorded sweeps again, and say whether the decisions are the same",
		Long: `Replay decides the sweeps that the ledger has recorded (record in config.yaml) again, by the policies that are configured now or that --policy
names, with the parameters that were in force then. It says which candidates are decided otherwise, and touches nothing.

A recording is redacted, so the ids that it shows are stand-ins. It exits with 1 when a decision differs.`,
		Example: "  winnow policy replay --last 5",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.policyReplay(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.sweep, "sweep", "", "only the sweep with this `id` (winnow history lists them)")
	cmd.Flags().IntVar(&f.last, "last", 0, "only the last `N` recorded sweeps")
	cmd.Flags().BoolVar(&f.configured, "configured", false, "with the parameters and levels of the configuration now, in place of the recorded ones")
	a.forms(cmd, "text", "json")
	return cmd
}

func (f replayFlags) check() error {
	switch {
	case f.last < 0:
		return config.Mistakef("--last: %d is no number of sweeps", f.last)
	case f.last > 0 && f.sweep != "":
		return config.Mistakef("--sweep and --last contradict each other; choose one")
	}
	return nil
}

func (a *app) policyReplay(ctx context.Context, f replayFlags) (err error) {
	sweeps, err := policycmp.Recordings(ctx, &a.Ops, f.sweep, f.last)
	if err != nil {
		return err
	}
	e, p, err := a.Engine(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	excepted := len(p.Exceptions()) > 0
	out := render.Replay{Schema: ReplaySchema, Policy: report.PolicyRef{Revision: p.Revision, Digest: p.Digest}, Same: true, Sweeps: []render.ReplayedSweep{}}
	for _, id := range sweeps {
		doc, err := policycmp.Recording(ctx, &a.Ops, id)
		if err != nil {
			return err
		}
		if excepted && doc.Policy.Digest != p.Digest {
			a.Note(policycmp.RedactedNames, "the recording of sweep "+id)
			excepted = false
		}
		rules := &doc.Rules
		if f.configured {
			rules = &a.Cfg.Rules.Config
		}
		again, err := decideAgain(ctx, e, doc, rules)
		if err != nil {
			return fmt.Errorf("policy replay: sweep %s: %w", id, err)
		}
		one := render.ReplayedSweep{Sweep: id, Policy: doc.Policy, Decisions: len(doc.Decisions), Differ: differ(doc.Decisions, again)}
		out.Same = out.Same && len(one.Differ) == 0
		out.Sweeps = append(out.Sweeps, one)
	}
	if err := a.show(out, "  ", func(w io.Writer) { a.paint.ReplayText(w, out, p) }); err != nil {
		return err
	}
	if !out.Same {
		return exit.Error{Code: exit.Failed, Err: errors.New("policy replay: not every recorded sweep is decided as it was then; nothing was changed")}
	}
	return nil
}

// decideAgain decides a recording by those rules, as a recording has decisions.
func decideAgain(ctx context.Context, e *eval.Engine, doc *recorded.Document, rules *subject.Config) ([]recorded.Decided, error) {
	res, err := e.Decide(ctx, doc.Snapshot, rules)
	if err != nil {
		return nil, err
	}
	return recorded.Decisions(res.Decisions, func(id string) string { return id }), nil
}

// differ are the candidates that two lists of decisions, both sorted by id, do not agree on.
func differ(was, now []recorded.Decided) []render.ChangedDecision {
	out := []render.ChangedDecision{}
	byID := func(d recorded.Decided, id string) int { return strings.Compare(d.ID, id) }
	for i, d := range was {
		at, there := slices.BinarySearchFunc(now, d.ID, byID)
		switch {
		case !there:
			out = append(out, render.ChangedDecision{ID: d.ID, Was: &was[i]})
		case !reflect.DeepEqual(d, now[at]):
			out = append(out, render.ChangedDecision{ID: d.ID, Was: &was[i], Now: &now[at]})
		}
	}
	for i, d := range now {
		if _, there := slices.BinarySearchFunc(was, d.ID, byID); !there {
			out = append(out, render.ChangedDecision{ID: d.ID, Now: &now[i]})
		}
	}
	slices.SortFunc(out, func(a, b render.ChangedDecision) int { return strings.Compare(a.ID, b.ID) })
	return out
}
