package actuators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// batcher is an actuator that can hold so many at once.
type batcher struct {
	*stage
	most int
}

func (b batcher) Batch(ds []decision.Decision) int { return min(b.most, len(ds)) }

// jointly is one that acts on several as one, on so many in a call.
type jointly struct {
	batcher
	begins int
}

func (j jointly) ActTogether(ctx context.Context, held []Held, ins []decision.Intent, begin func(int) error) []*decision.Outcome {
	outs := make([]*decision.Outcome, len(held))
	for i := range held {
		if i > 0 && i == j.begins {
			break
		}
		err := begin(i)
		if errors.Is(err, ErrStale) {
			break
		}
		if err != nil {
			outs[i] = new(OutcomeOf(err))
			continue
		}
		outs[i] = new(held[i].Act(ctx, ins[i]))
	}
	return outs
}

func sessions(n int) (ds []decision.Decision) {
	for i := range n {
		ds = append(ds, reap("session", fmt.Sprint(i+1), ""))
	}
	return ds
}

// outcomes are how acts went, by candidate.
func outcomes(acts []decision.Act) (out []string) {
	for _, a := range acts {
		out = append(out, strings.TrimPrefix(a.Candidate, "session:")+" "+a.Outcome.Outcome)
	}
	return out
}

// of are the calls of one name, without it.
func (s *stage) of(name string) (out []string) {
	for _, c := range s.calls {
		if what, id, _ := strings.Cut(c, " "); what == name {
			out = append(out, strings.TrimPrefix(id, "session:"))
		}
	}
	return out
}

// TestBatch has three acts go step by step: all intents are written down before anything is saved or done, and one look judges all of them.
func TestBatch(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		s := newStage()
		c := s.carrier()
		c.ByKind["session"] = batcher{s, 3}
		if together {
			c.ByKind["session"] = jointly{batcher{s, 3}, 3}
		}
		acts := c.Carry(t.Context(), "S", sessions(4))
		must.Equal(t, []string{"1 done", "2 done", "3 done", "4 done"}, outcomes(acts), "acts")
		var steps []string
		for _, call := range s.calls {
			what, _, _ := strings.Cut(call, " ")
			if what == "act" || what == "close" || what == "settled" {
				what = "act"
			}
			steps = append(steps, what)
		}
		steps = slices.Compact(steps)
		// The fourth is a batch of its own.
		if diff := cmp.Diff([]string{"hold", "again", "intend", "save", "again", "act", "hold", "again", "intend", "save", "again", "act"}, steps); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
		if s.looks != 4 {
			t.Errorf("%d looks, want two a batch", s.looks)
		}
		must.Equal(t, []string{"1", "2", "3", "4"}, s.of("act"), "order")
	}
}

// TestOneOfABatchFails at each step in turn: the others go, and nothing is left held.
func TestOneOfABatchFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"it is not held": {func(s *stage) { s.holdErr["session:2"] = Refused("no") }, decision.Refused},
		"it is kept now": {func(s *stage) {
			s.again["session:2"] = func(d *decision.Decision) error { d.Verdict = decision.Spare; return nil }
		}, decision.Changed},
		"it is gone": {func(s *stage) {
			s.again["session:2"] = func(d *decision.Decision) error { *d = decision.Decision{}; return nil }
		}, decision.Gone},
		"it is not judged": {func(s *stage) {
			s.again["session:2"] = func(*decision.Decision) error { return errors.New("it hangs") }
		}, decision.Refused},
		"it is not saved": {func(s *stage) { s.saveErr["session:2"] = errors.New("no space") }, decision.Failed},
		"it changes": {func(s *stage) {
			s.last = func(d *decision.Decision) error {
				if d.ID == "session:2" {
					d.Findings = []decision.Reason{{Rule: "else"}}
				}
				return nil
			}
		}, decision.Changed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			c.set(s)
			carrier := s.carrier()
			carrier.ByKind["session"] = batcher{s, 9}
			acts := carrier.Carry(t.Context(), "S", sessions(3))
			must.Equal(t, []string{"1 done", "2 " + c.want, "3 done"}, outcomes(acts), "acts")
			must.Equal(t, []string{"1", "3"}, s.of("act"), "acted on")
			closed := s.of("close")
			slices.Sort(closed)
			if len(closed) != len(slices.Compact(closed)) || len(closed) < 2 {
				t.Errorf("closed: %v", closed)
			}
			if got, want := len(s.of("settled")), len(s.of("intend")); got != want {
				t.Errorf("%d intents, %d settled", want, got)
			}
		})
	}
}

// TestAJudgementGrowsOld: what was not acted on by then is looked at once more, and is kept where the look says so.
func TestAJudgementGrowsOld(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		s := newStage()
		c := s.carrier()
		now := noon
		c.Now = func() time.Time { return now }
		c.ByKind["session"] = batcher{s, 9}
		if together {
			c.ByKind["session"] = jointly{batcher{s, 9}, 9}
		}
		s.onDo = func() { now = now.Add(leastFresh / 2) }
		s.last = func(d *decision.Decision) error {
			if d.ID == "session:4" && len(s.of("act")) > 0 {
				d.Verdict = decision.Spare
			}
			return nil
		}
		acts := c.Carry(t.Context(), "S", sessions(5))
		must.Equal(t, []string{"1 done", "2 done", "3 done", "4 changed", "5 done"}, outcomes(acts), "acts")
		if s.looks != 3 {
			t.Errorf("%d looks, want one before the intents and two before acts", s.looks)
		}
	}
	// One that lasts is acted on for as long as the look took.
	s := newStage()
	c := s.carrier()
	now := noon
	c.Now = func() time.Time { return now }
	c.ByKind["session"] = batcher{s, 9}
	s.last = func(*decision.Decision) error { now = now.Add(leastFresh); return nil }
	s.onDo = func() { now = now.Add(leastFresh) }
	c.Carry(t.Context(), "S", sessions(3))
	if s.looks != 2 {
		t.Errorf("%d looks after one that took three times as long as an act", s.looks)
	}
}

// TestABatchIsInterrupted: what is in hand ends, and the rest is let go of and said to be not tried.
func TestABatchIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		s := newStage()
		ctx, cancel := context.WithCancelCause(t.Context())
		s.onDo = func() {
			if len(s.of("act")) == 2 {
				cancel(errors.New("a key was pressed"))
			}
		}
		c := s.carrier()
		c.ByKind["session"] = batcher{s, 9}
		if together {
			c.ByKind["session"] = jointly{batcher{s, 9}, 9}
		}
		acts := c.Carry(ctx, "S", sessions(4))
		must.Equal(t, []string{"1 done", "2 done", "3 failed", "4 failed"}, outcomes(acts), "acts")
		for _, a := range acts[2:] {
			if !strings.Contains(a.Detail, "not tried") || !strings.Contains(a.Detail, "a key was pressed") {
				t.Errorf("act: %+v", a)
			}
		}
		if s.looks != 2 || len(s.of("close")) != 4 || len(s.of("settled")) != 4 {
			t.Errorf("%d looks, calls: %v", s.looks, s.calls)
		}
	}
}

// TestJointlyActsOnOneAtLeast ends also where an actuator begins nothing.
func TestJointlyActsOnOneAtLeast(t *testing.T) {
	t.Parallel()
	s := newStage()
	c := s.carrier()
	c.ByKind["session"] = lazy{batcher{s, 9}}
	acts := c.Carry(t.Context(), "S", sessions(2))
	must.Equal(t, []string{"1 failed", "2 failed"}, outcomes(acts), "acts")
}

type lazy struct{ batcher }

func (lazy) ActTogether(context.Context, []Held, []decision.Intent, func(int) error) []*decision.Outcome {
	return nil
}

// TestBatchLeavesTheUnknownAlone: without an identity nothing tells what else an act would change, so it is never in a batch.
func TestBatchLeavesTheUnknownAlone(t *testing.T) {
	t.Parallel()
	s := newStage()
	c := s.carrier()
	c.ByKind["session"] = batcher{s, 9}
	ds := sessions(3)
	ds[1].Identity = decision.Identity{}
	acts := c.Carry(t.Context(), "S", ds)
	if diff := cmp.Diff([]string{"1 done", "2 refused", "3 done"}, outcomes(acts)); diff != "" || s.looks != 4 {
		t.Errorf("%d looks, acts (-want +got):\n%s", s.looks, diff)
	}
}
