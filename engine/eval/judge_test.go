package eval_test

import (
	"context"
	"errors"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// twice is a judge that keeps everything, and then says that all of it may go.
type twice struct{ eval.Judge }

func (twice) AskAll(_ context.Context, r *eval.Round) error {
	for _, i := range r.Unanswered() {
		r.Answer(i, nil, errors.New("it was not evaluated"))
		r.Answer(i, &eval.Reasons{Findings: []decision.Reason{{Rule: "reap.dirs.disposable", Message: "it may go"}}}, nil)
	}
	return nil
}

// TestTheFirstAnswerCounts: a judge that answers again changes nothing.
func TestTheFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	e := eval.NewFor(rules.Shipped(t), eval.Limits{}, []string{"dir"}, twice{})
	r, err := e.Decide(t.Context(), worlds.Three(), worlds.Config())
	if err != nil || len(r.Decisions) != 3 || len(r.Errors) != 3 {
		t.Fatalf("%d decisions, %d errors, %v", len(r.Decisions), len(r.Errors), err)
	}
	for _, d := range r.Decisions {
		if d.Verdict != decision.Spare {
			t.Errorf("%s: %s", d.ID, d.Verdict)
		}
	}
}
