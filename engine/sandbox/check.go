package sandbox

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/tester"
)

// Check is policy.Sources.Check in a process of its own, of unknown policies. The error is for a check that could not be made at all.
func Check(ctx context.Context, s *policy.Sources, l eval.Limits, program Program, advice bool) (policy.Checked, error) {
	l = l.WithDefaults()
	if rs := refusals(s.Err()); rs != nil {
		return policy.Checked{Refused: rs}, nil
	}
	last, err := once(ctx, program, s, question{Check: &toCheck{toLoad{Limits: l, Sources: s}, advice}}, l.Load, func(reply) {})
	if rs := refusals(err); rs != nil {
		return policy.Checked{Refused: rs}, nil
	}
	if err != nil {
		return policy.Checked{}, fmt.Errorf("check policies: %w", err)
	}
	if last.Checked == nil {
		return policy.Checked{}, fmt.Errorf("check policies: %w", errEnded)
	}
	return *last.Checked, nil
}

// Test is tester.Run in a process of its own. A test that takes too much in one step ends that process: the tests without a result are then run
// one after the other in a fresh one, so that it shows at which one it ends; that one has the result Error. The results are sorted by file and
// line. Coverage is nil where it was not asked for, and where such a test took it away.
func Test(ctx context.Context, s *policy.Sources, l eval.Limits, program Program, o tester.Options) ([]tester.Result, *tester.Coverage, error) {
	if err := s.Err(); err != nil {
		return nil, nil, err
	}
	l = l.WithDefaults()
	o.Timeout, o.Workers = cmp.Or(o.Timeout, tester.DefaultTimeout), cmp.Or(o.Workers, l.Workers)
	// A test that heeds its deadline has a result right after it, also where several run at once.
	within := max(l.Load, time.Duration(o.Workers+1)*o.Timeout+time.Second)
	results := map[string]tester.Result{}
	var running *tester.Result
	var counted *tester.Coverage
	listen := func(r reply) {
		switch {
		case r.Begins != nil:
			running = r.Begins
		case r.Coverage != nil:
			counted = r.Coverage
		case r.Tested != nil:
			results[r.Tested.Name] = *r.Tested
			running = nil
		}
	}
	for ends := 0; ; ends++ {
		_, err := once(ctx, program, s, question{Test: &toTest{toLoad{Limits: l, Sources: s}, o}}, within, listen)
		if ends > 0 {
			counted = nil // what the processes that ended had counted is lost
		}
		switch {
		case err == nil, errors.As(err, new(broken)) && counted != nil: // all tests have their results
			return inOrder(results), counted, nil
		case ctx.Err() != nil || !errors.As(err, new(broken)):
			return inOrder(results), nil, err
		case running != nil:
			running.Outcome, running.Message = tester.Error, err.Error()
			if errors.Is(err, errStuck) {
				running.Message = fmt.Sprintf("it took more than %s, heeded no deadline, and the process that ran it was ended", o.Timeout)
			}
			results[running.Name] = *running
			running = nil
		case ends > 0:
			return inOrder(results), nil, err
		}
		if ends == maxEnds {
			return inOrder(results), nil, fmt.Errorf("%d tests came to no end, the last one so: %w; the rest was not run", ends, err)
		}
		o.Alone, o.Known = true, slices.Sorted(maps.Keys(results))
	}
}

func inOrder(results map[string]tester.Result) []tester.Result {
	return slices.SortedFunc(maps.Values(results), func(a, b tester.Result) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
	})
}

// broken is that the process came to no answer.
type broken struct {
	refused lint.Refusals
	err     error
}

func (b broken) Error() string { return b.err.Error() }

// Unwrap gives the refusals that this means for the loading.
func (b broken) Unwrap() []error { return []error{b.refused, b.err} }

// once asks a process of its own one question about files that were read, and ends it. The error wraps lint.Refusals where these were refused, and
// is broken where the process gave no answer.
func once(ctx context.Context, program Program, s *policy.Sources, q question, within time.Duration, hear func(reply)) (reply, error) {
	c, err := begin(program)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = c.end(nil) }()
	return c.askAbout(ctx, s, q, within, hear)
}

// askAbout asks a question about files that were read, which follow it.
func (c *child) askAbout(ctx context.Context, s *policy.Sources, q question, within time.Duration, hear func(reply)) (reply, error) {
	at := "what was read"
	last, err := c.ask(ctx, q, func(w *bufio.Writer) error { return s.Send(w) }, within, func(r reply) {
		if r.Step != "" {
			at = r.Step
		}
		hear(r)
	})
	switch {
	case ctx.Err() != nil:
		return reply{}, ctx.Err()
	case err != nil:
		return reply{}, broken{endless(at, within, err), err}
	case len(last.Refused) > 0:
		return reply{}, last.Refused.Err()
	case last.Error != "":
		return reply{}, errors.New(last.Error)
	}
	return last, nil
}

func refusals(err error) lint.Refusals {
	var rs lint.Refusals
	errors.As(err, &rs)
	return rs
}
