package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sweep"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

// TestExplainEach: candidates with the same reasons try the same ways, one that was not explained is counted, and an interruption ends it.
func TestExplainEach(t *testing.T) {
	t.Parallel()
	stays := func(id, rule string) decision.Decision {
		return decision.Decision{ID: id, Kind: "dir", Verdict: decision.Spare, Objections: []decision.Reason{{Rule: rule}}}
	}
	way := decision.Way{{Fact: "input.dir.git.dirty", From: 3, To: 0}}
	r := &report.Report{Decisions: []decision.Decision{
		stays("a", "protect.unsaved"), stays("b", "protect.unsaved"), stays("c", "protect.live"), stays("d", "protect.unsaved"), stays("e", "protect.unsaved"),
	}}
	var first []string
	err := sweep.ExplainEach(r, func(d decision.Decision, known *sweep.Reasons) (*decision.Counterfactual, error) {
		first = append(first, fmt.Sprint(d.ID, len(known.Ways)))
		switch d.ID {
		case "c":
			return &decision.Counterfactual{Verdict: decision.Reap, Limit: "x"}, nil
		case "d":
			return nil, sweep.ErrLate
		}
		return &decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{way}}, nil
	})
	musts.Do(t, err)
	if got, want := fmt.Sprint(first), "[a0 b1 c0 d1 e1]"; got != want {
		t.Errorf("ways that were tried first: have %s, want %s", got, want)
	}
	if r.Unexplained != 1 || r.Decisions[3].WouldChange != nil || r.Decisions[2].WouldChange == nil || r.Decisions[4].WouldChange == nil {
		t.Errorf("%d unexplained, %+v", r.Unexplained, r.Decisions)
	}
	if err := sweep.ExplainEach(r, func(decision.Decision, *sweep.Reasons) (*decision.Counterfactual, error) {
		return nil, fmt.Errorf("%w: %w", sweep.ErrStopped, context.Canceled)
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want an interruption", err)
	}
}

// TestReasonsShortenTheSearch: where two candidates with the same reasons came to nothing, the next ones get less time.
func TestReasonsShortenTheSearch(t *testing.T) {
	t.Parallel()
	var s sweep.Reasons
	miss := &decision.Counterfactual{Verdict: decision.Reap, Limit: "x"}
	for i, want := range []any{sweep.ExplainOne, sweep.ExplainOne, sweep.ExplainNext} {
		if got := s.TimeLeft(); got != want {
			t.Errorf("after %d misses: %s; want %s", i, got, want)
		}
		s.Learn(miss)
	}
	s.Learn(&decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{{{Fact: "input.idle", To: 1}}}})
	if got := s.TimeLeft(); got != sweep.ExplainOne {
		t.Errorf("after a way: %s; want %s", got, sweep.ExplainOne)
	}
}
