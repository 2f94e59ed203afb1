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

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// ReplaySchema names the shape of what winnow policy replay prints as JSON.
const ReplaySchema = "winnow.replay/v1"

// Replay is what winnow policy replay prints as JSON.
type Replay struct {
	Schema string           `json:"schema"`
	Policy report.PolicyRef `json:"policy"`
	// Same is true when every recorded sweep was decided as it was then.
	Same   bool            `json:"same"`
	Sweeps []ReplayedSweep `json:"sweeps"`
}

// ReplayedSweep is a recorded sweep that was decided again. Ids are stand-ins, as in the recording.
type ReplayedSweep struct {
	Sweep string `json:"sweep"`
	// Policy is what decided then, and Decisions counts what it decided.
	Policy    report.PolicyRef `json:"policy"`
	Decisions int              `json:"decisions"`
	// Differ are the candidates that are decided otherwise now.
	Differ []Otherwise `json:"differ"`
}

// Otherwise is a candidate that was decided one way and is decided in another. Either is absent where the candidate was not in scope.
type Otherwise struct {
	ID  string            `json:"id"`
	Was *recorded.Decided `json:"was,omitempty"`
	Now *recorded.Decided `json:"now,omitempty"`
}

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
	sweeps, err := a.recordings(ctx, f.sweep, f.last)
	if err != nil {
		return err
	}
	e, p, err := a.Engine(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	excepted := len(p.Exceptions()) > 0
	out := Replay{Schema: ReplaySchema, Policy: report.PolicyRef{Revision: p.Revision, Digest: p.Digest}, Same: true, Sweeps: []ReplayedSweep{}}
	for _, id := range sweeps {
		doc, err := a.recording(ctx, id)
		if err != nil {
			return err
		}
		if excepted && doc.Policy.Digest != p.Digest {
			a.Note(redactedNames, "the recording of sweep "+id)
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
		one := ReplayedSweep{Sweep: id, Policy: doc.Policy, Decisions: len(doc.Decisions), Differ: differ(doc.Decisions, again)}
		out.Same = out.Same && len(one.Differ) == 0
		out.Sweeps = append(out.Sweeps, one)
	}
	if err := a.show(out, "  ", func(w io.Writer) { a.paint.replayText(w, out, p) }); err != nil {
		return err
	}
	if !out.Same {
		return exit.Error{Code: exit.Failed, Err: errors.New("policy replay: not every recorded sweep is decided as it was then; nothing was changed")}
	}
	return nil
}

// recordings are the ids of recorded sweeps, the latest first: that one, the last so many, or all.
func (a *app) recordings(ctx context.Context, sweep string, last int) (ids []string, err error) {
	var all []ledger.Recording
	if err := a.ReadLedger(func(l *ledger.Ledger) error {
		all, err = l.Recordings(ctx)
		return err
	}); err != nil {
		return nil, err
	}
	for _, r := range all {
		if sweep == "" || r.Sweep == sweep {
			ids = append(ids, r.Sweep)
		}
	}
	switch {
	case len(all) == 0:
		return nil, config.Mistakef("no sweep is recorded in %s: write record: 20 into config.yaml, and sweeps are recorded from then on", a.LedgerPath())
	case len(ids) == 0:
		return nil, config.Mistakef("--sweep: sweep %s is not recorded; the last one that is is %s", sweep, all[0].Sweep)
	case last > 0:
		ids = ids[:min(last, len(ids))]
	}
	return ids, nil
}

// recording reads one recorded sweep.
func (a *app) recording(ctx context.Context, id string) (doc *recorded.Document, err error) {
	err = a.ReadLedger(func(l *ledger.Ledger) error {
		_, data, err := l.Recording(ctx, id)
		if err == nil {
			doc, err = recorded.Decode(data)
		}
		return err
	})
	if err == nil && doc == nil {
		err = fmt.Errorf("read recording of sweep %s: the ledger is gone", id)
	}
	return doc, err
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
func differ(was, now []recorded.Decided) []Otherwise {
	out := []Otherwise{}
	byID := func(d recorded.Decided, id string) int { return strings.Compare(d.ID, id) }
	for i, d := range was {
		at, there := slices.BinarySearchFunc(now, d.ID, byID)
		switch {
		case !there:
			out = append(out, Otherwise{ID: d.ID, Was: &was[i]})
		case !reflect.DeepEqual(d, now[at]):
			out = append(out, Otherwise{ID: d.ID, Was: &was[i], Now: &now[at]})
		}
	}
	for i, d := range now {
		if _, there := slices.BinarySearchFunc(was, d.ID, byID); !there {
			out = append(out, Otherwise{ID: d.ID, Now: &now[i]})
		}
	}
	slices.SortFunc(out, func(a, b Otherwise) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (p paint) replayText(w io.Writer, r Replay, by *policy.Policy) {
	decisions, other := 0, 0
	for _, s := range r.Sweeps {
		decisions += s.Decisions
		if s.Policy.Digest != by.Digest {
			other++
		}
	}
	what := fmt.Sprintf("%s with %s decided again", text.Plural(len(r.Sweeps), "recorded sweep"), text.Plural(decisions, "decision"))
	if r.Same {
		p.Sentence(w, what+": "+p.Green("all are the same")+".")
	} else {
		p.Sentence(w, what+": "+p.Yellow("not all are the same")+".")
	}
	if other > 0 {
		p.Sentence(w, fmt.Sprintf("Other policies than now decided %s of them then.", text.Plural(other, "sweep")))
	}
	for _, s := range r.Sweeps {
		if len(s.Differ) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s  %s\n", p.Bold(text.Clean(s.Sweep)), p.Dim(text.Clean(s.Policy.Revision)))
		var rows []text.Row
		for _, d := range s.Differ {
			rows = append(rows, text.Row{Lead: verdictOf(d.Was) + " -> " + verdictOf(d.Now), Label: d.ID, Text: "was: " + spokenBy(d.Was) + "; now: " + spokenBy(d.Now)})
		}
		p.Rows(w, rows...)
	}
}

func verdictOf(d *recorded.Decided) string {
	switch {
	case d == nil:
		return "-"
	case d.Verdict == decision.Reap:
		return "reap"
	}
	return "keep"
}

// spokenBy are the rules that spoke.
func spokenBy(d *recorded.Decided) string {
	if d == nil {
		return "no rule claimed it"
	}
	all := slices.Concat(d.Findings, d.Objections)
	if len(all) == 0 {
		return "no reason"
	}
	return strings.Join(all, ", ")
}

// recordedSnapshots are the recorded sweeps as snapshots to compare.
func (a *app) recordedSnapshots(ctx context.Context) ([]foundSnapshot, error) {
	ids, err := a.recordings(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	var out []foundSnapshot
	for _, id := range ids {
		out = append(out, foundSnapshot{"sweep " + id, func(ctx context.Context) (*snapshot.Snapshot, []string, error) {
			doc, err := a.recording(ctx, id)
			if err != nil {
				return nil, nil, err
			}
			return doc.Snapshot, nil, nil
		}})
	}
	return out, nil
}
