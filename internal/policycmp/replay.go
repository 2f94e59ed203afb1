package policycmp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/report"
)

// Replay decides recorded sweeps again: the one of that id, or the last so many, or all. The parameters are those that were in force then, or with
// configured those of now.
func Replay(ctx context.Context, o *ops.Ops, sweep string, last int, configured bool) (out *document.Replay, err error) {
	sweeps, err := o.Recordings(ctx, sweep, last)
	if err != nil {
		return nil, err
	}
	e, p, err := o.Engine(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	excepted := len(p.Exceptions()) > 0
	out = &document.Replay{
		Schema: document.ReplaySchema, Policy: report.PolicyRef{Revision: p.Revision, Digest: p.Digest}, Same: true, Sweeps: []document.ReplayedSweep{},
	}
	for _, id := range sweeps {
		doc, err := o.Recording(ctx, id)
		if err != nil {
			return nil, err
		}
		if excepted && doc.Policy.Digest != p.Digest {
			o.Note(RedactedNames, "the recording of sweep "+id)
			excepted = false
		}
		rules := &doc.Rules
		if configured {
			rules = &o.Cfg.Rules.Config
		}
		now, err := e.Decide(ctx, doc.Snapshot, rules)
		if err != nil {
			return nil, fmt.Errorf("policy replay: sweep %s: %w", id, err)
		}
		again := recorded.Decisions(now.Decisions, func(id string) string { return id })
		one := document.ReplayedSweep{Sweep: id, Policy: doc.Policy, Decisions: len(doc.Decisions), Differ: differ(doc.Decisions, again)}
		out.Same = out.Same && len(one.Differ) == 0
		out.Sweeps = append(out.Sweeps, one)
	}
	return out, nil
}

// differ are the candidates that two lists of decisions do not agree on, sorted by id.
func differ(was, now []recorded.Decided) []document.ChangedDecision {
	out := []document.ChangedDecision{}
	pairs := compare.Pairs(was, now, func(d *recorded.Decided) string { return d.ID })
	for _, id := range slices.Sorted(maps.Keys(pairs)) {
		if p := pairs[id]; !reflect.DeepEqual(p[0], p[1]) {
			out = append(out, document.ChangedDecision{ID: id, Was: p[0], Now: p[1]})
		}
	}
	return out
}
