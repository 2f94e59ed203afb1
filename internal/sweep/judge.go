package sweep

import (
	"context"
	"fmt"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/sources"
)

// judge looks at candidates again and decides again: the same collectors, the same policies, the same memory.
type judge struct {
	looker *look.Looker
	engine *eval.Engine
	last   *snapshot.Snapshot
	memory look.PriorState
	kept   kept
	// asked is what a person asked for this candidate, nil if no person asked for it.
	asked *snapshot.Asked
}

func (s *Sweeper) judgeOn(snap *snapshot.Snapshot, mem look.PriorState) *judge {
	return &judge{looker: &s.Looker, engine: s.Engine, last: snap, memory: mem, kept: s.kept}
}

// Rejudge implements actuators.Judge.
func (j *judge) Rejudge(ctx context.Context, ds []decision.Decision) []actuators.Judgement {
	again, _ := j.rejudge(ctx, ds)
	return again
}

// rejudge is Rejudge with the look that it rests on, which is nil where there was none.
func (j *judge) rejudge(ctx context.Context, ds []decision.Decision) ([]actuators.Judgement, *snapshot.Snapshot) {
	if len(ds) == 0 {
		return nil, nil
	}
	return j.rejudgeScope(ctx, sources.ScopeOf(j.last, ds[0].ID, candidates(ds[1:])...), ds)
}

// rejudgeScope is rejudge by a look of the given scope.
func (j *judge) rejudgeScope(ctx context.Context, sc sources.Scope, ds []decision.Decision) ([]actuators.Judgement, *snapshot.Snapshot) {
	out := make([]actuators.Judgement, len(ds))
	s, err := j.looker.Look(ctx, sc, j.memory)
	var res eval.Result
	if err == nil {
		s.Asked = j.asked
		j.markDone(ctx, s, ds)
		if res, err = j.engine.Decide(ctx, s, &j.looker.Cfg.Rules.Config); err != nil {
			err = fmt.Errorf("decide again: %w", err)
		}
	}
	if err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out, s
	}
	decided, failed := make(map[string]decision.Decision, len(res.Decisions)), make(map[string]error, len(res.Errors))
	for _, d := range res.Decisions {
		decided[d.ID] = d
	}
	for _, f := range res.Errors {
		failed[f.ID] = f.Err
	}
	for i, d := range ds {
		again, known := decided[d.ID]
		_, there := s.Find(d.ID)
		switch {
		case !there:
			out[i].Err = unseen(s, sources.ScopeOf(j.last, d.ID).Source)
		case failed[d.ID] != nil:
			out[i].Err = fmt.Errorf("decide again: %w", failed[d.ID])
		case known:
			out[i].Decision = again
		default:
			out[i].Decision = decision.Decision{
				ID: d.ID, Kind: d.Kind, Verdict: decision.Spare, Label: d.Label,
				Objections: []decision.Reason{{Rule: "scope", Message: "no rule claims it now"}},
			}
		}
	}
	return out, s
}

// unseen says why it is not known whether a candidate of a source is gone that a look did not find; nil where it positively is.
func unseen(s *snapshot.Snapshot, source string) error {
	if src := s.Sources[source]; src.Status == snapshot.Failed || src.Status == "" {
		return fmt.Errorf("look again: %s could not be read: %s", source, src.Error)
	}
	return nil
}
