package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/text"
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
			source := sources.ScopeOf(j.last, d.ID).Source
			if src := s.Sources[source]; src.Status == snapshot.Failed || src.Status == "" { // else it is positively gone
				out[i].Err = fmt.Errorf("look again: %s could not be read: %s", source, src.Error)
			}
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

// The bounds of a report's explanations: how long all of them may take together, and one of them. Tests on slow machines raise them.
var ExplainAll, ExplainOne = 10 * time.Second, 3 * time.Second

const (
	// ExplainNext is how long one may take where two with the same reasons came to nothing.
	ExplainNext = 200 * time.Millisecond
	// explainDecisions is after how many decisions a search seldom finds something yet.
	explainDecisions = 1500
)

// firstWays is how many ways of candidates with the same reasons are tried first.
const firstWays = 4

// FindCounterfactuals says of every decision that the report lists what would turn it. What was not looked at when the time was up is counted.
func (m *Machine) FindCounterfactuals(ctx context.Context, e *eval.Engine, s *snapshot.Snapshot, r *report.Report, all bool) error {
	j := subject.Join(s, &m.Cfg.Rules.Config)
	end := time.Now().Add(ExplainAll)
	err := ExplainEach(r, func(d decision.Decision, known *Reasons) (*decision.Counterfactual, error) {
		sub, ok := j.Subject(d.ID)
		if !ok || !report.Listed(d, all) {
			return nil, nil
		}
		left := time.Until(end)
		if left <= 0 {
			return nil, ErrLate
		}
		o, err := e.Counterfactual(ctx, sub, eval.Search{Within: min(left, known.TimeLeft()), Decisions: explainDecisions, First: known.Ways})
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w: %w", ErrStopped, ctx.Err())
		case err != nil:
			m.Log.Warn("what would change the decision was not found out", "candidate", d.ID, "error", err)
		}
		return o, err
	})
	if err != nil {
		return err
	}
	if r.Unexplained > 0 {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: "unexplained", Message: fmt.Sprintf(
			"what would change the decision was not found for %d in %s. winnow explain ID finds it for one of them", r.Unexplained, ExplainAll)})
	}
	return nil
}

var (
	ErrLate    = errors.New("there was no time left")
	ErrStopped = errors.New("the decisions stand, and were not printed")
)

// ExplainEach asks of every decision of a report, with what was found for those that were decided for the same reasons. One that could not be
// asked about is counted, and the next one is asked about.
func ExplainEach(r *report.Report, ask func(decision.Decision, *Reasons) (*decision.Counterfactual, error)) error {
	known := map[string]*Reasons{}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if d.Follows() {
			continue
		}
		same := known[because(*d)]
		if same == nil {
			same = &Reasons{}
			known[because(*d)] = same
		}
		o, err := ask(*d, same)
		switch {
		case errors.Is(err, ErrStopped):
			return err
		case err != nil:
			r.Unexplained++
		}
		d.WouldChange = o
		same.Learn(o)
	}
	return nil
}

// Reasons is what was found for candidates that stay, or go, for the same reasons.
type Reasons struct {
	Ways   []decision.Way
	misses int
}

// TimeLeft is how long the next search for the same reasons may take.
func (s *Reasons) TimeLeft() time.Duration {
	if s.misses >= 2 && len(s.Ways) == 0 {
		return ExplainNext
	}
	return ExplainOne
}

// Learn takes note of what a search came to.
func (s *Reasons) Learn(o *decision.Counterfactual) {
	switch {
	case o == nil:
	case len(o.Ways) == 0:
		s.misses++
	case o.Verdict == decision.Reap && len(s.Ways) < firstWays && !slices.ContainsFunc(s.Ways, func(w decision.Way) bool { return facts(w) == facts(o.Ways[0]) }):
		s.Ways = append(s.Ways, o.Ways[0])
	}
}

// facts names what a way changes.
func facts(w decision.Way) string {
	return text.Join(w, " ", func(c decision.Change) string { return fmt.Sprint(c.Fact, "=", c.To) })
}

// because is by which rules a candidate was decided.
func because(d decision.Decision) string {
	out := []string{d.Kind, d.Verdict}
	for _, rs := range [][]decision.Reason{d.Findings, d.Objections} {
		for _, r := range rs {
			out = append(out, r.Rule)
		}
		out = append(out, "")
	}
	return strings.Join(slices.Compact(out), " ")
}
