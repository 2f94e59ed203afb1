// Package sandbox asks policies that this program did not bring in a process of its own, within limits that the kernel holds.
package sandbox

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/engine/tester"
)

const (
	// maxLine is how many bytes one line of an answer may have.
	maxLine = 16 << 20
	// maxEnds is how often the process may end while it judges one snapshot before the rest is spared unasked.
	maxEnds = 6
)

// The ways in which the process that judges apart comes to no answer.
var (
	errEnded = errors.New("the process that evaluates policies ended while it did this")
	errWall  = errors.New("the process that evaluates policies passed its memory limit (policy.memory) in one step")
	errStuck = errors.New("the evaluation did not end at its deadline (policy.timeout), and the process that did it was ended")
)

// host asks a process of its own, in which policies that this program did not bring are loaded and evaluated. What they do
// happens there: when it takes too much memory, or does not end, that process does.
type host struct {
	program Program
	limits  eval.Limits
	sources *policy.Sources
	cache   policy.Cache // nil where nothing is kept

	mu      sync.Mutex // one question at a time
	child   *child     // nil while it is missing
	unbuilt bool       // its rules are not compiled yet
	peak    int64      // the most memory that a process of ours that ended has had, in bytes
}

// Load is policy.Load and eval.New for unknown policies: they are read here, and parsed, compiled and evaluated in a
// process of its own, that is given no environment, no more than twice the memory of one evaluation, and no time that it does not work in.
// The policies are checked as policy.Load does, and candidates decided as eval.New's engine does. The engine must be closed.
func Load(ctx context.Context, o policy.LoadOptions, l eval.Limits, program Program) (*eval.Engine, *policy.Policy, error) {
	sources, err := policy.Read(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	if err := sources.Err(); err != nil {
		return nil, nil, err
	}
	h := &host{program: program, limits: l.WithDefaults(), sources: sources, cache: o.Cache}
	loaded, err := h.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	p := sources.Unbuilt(loaded.Rules)
	return eval.NewFor(p, h.limits, loaded.Kinds, loaded.Unplanned, h), p, nil
}

// Close implements eval.Judge: it ends the process.
func (h *host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end()
	return nil
}

func (h *host) end() {
	if h.child != nil {
		h.child.end(nil)
		h.peak = max(h.peak, h.child.peak())
		h.child = nil
	}
}

// start starts the process and lets it load the policies. It gives the last line of the answer.
func (h *host) start(ctx context.Context) (reply, error) {
	c, err := begin(h.program)
	if err != nil {
		return reply{}, fmt.Errorf("load policies: %w; nothing was loaded", err)
	}
	load := &toLoad{Limits: h.limits, Sources: h.sources}
	if h.cache != nil {
		load.Prepared, load.Keep = h.cache.Load(h.sources.Digest()), true
	}
	last, err := c.askAbout(ctx, question{Load: load}, h.limits.Load, func(reply) {})
	var b broken
	switch {
	case errors.As(err, &b):
		err = b.refused.Err()
	case err != nil && refusals(err) == nil:
		err = fmt.Errorf("load policies: %w", err)
	}
	if err != nil {
		c.end(nil)
		return reply{}, err
	}
	h.child, h.unbuilt = c, last.Unbuilt
	if h.cache != nil && len(last.Prepared) > 0 {
		h.cache.Store(h.sources.Digest(), last.Prepared)
	}
	return last, nil
}

// build has the process compile the rules, which takes as long as a loading.
func (h *host) build(ctx context.Context) error {
	if !h.unbuilt {
		return nil
	}
	last, err := h.child.ask(ctx, question{Build: true}, nil, h.limits.Load, func(reply) {})
	if err == nil {
		err = last.err()
	}
	h.unbuilt = err != nil
	if err != nil {
		return fmt.Errorf("compile policies: %w", err)
	}
	return nil
}

// endless says of what the process did when it came to no answer that it cannot be loaded.
func endless(at string, within time.Duration, err error) lint.Refusals {
	r := lint.Refusal{Class: lint.ClassLimit, File: at, Problem: fmt.Sprintf("loading it came to no end: %v", err), Fix: "make it simpler, raise policy.memory, or leave it out"}
	if errors.Is(err, errStuck) {
		r.Problem, r.Fix = fmt.Sprintf("loading it took more than %s", within), "make it simpler, or leave it out"
	}
	return lint.Refusals{r}
}

// AskAll implements eval.Judge. When the process ends before all are answered, a fresh one is asked the rest, one candidate after
// the other, so that it shows at which one it ends: that one has no answer, and the next ones are asked.
func (h *host) AskAll(ctx context.Context, r *eval.Round) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	workers := h.limits.Workers
	var why error
	for range maxEnds {
		todo := r.Unanswered()
		if len(todo) == 0 {
			return ctx.Err()
		}
		if h.child == nil {
			if _, err := h.start(ctx); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				spare(r, todo, err)
				return nil
			}
		}
		unbuilt := false // some have no answer until the rules are compiled
		if unbuilt, why = ask(ctx, h.child, r, todo, workers, h.limits.Timeout); ctx.Err() != nil {
			h.end()
			return ctx.Err()
		}
		if why == nil && unbuilt { // what may go has to be said by the rules themselves
			if why = h.build(ctx); why == nil {
				continue
			}
			h.end()
			spare(r, r.Unanswered(), why)
			return ctx.Err()
		}
		if why == nil {
			spare(r, r.Unanswered(), errEnded) // it said that it was done
			return nil
		}
		h.end()
		if left := r.Unanswered(); workers == 1 && len(left) > 0 {
			spare(r, left[:1], why)
		}
		workers = 1
	}
	spare(r, r.Unanswered(), fmt.Errorf("%w; it was not asked again", why))
	return ctx.Err()
}

func spare(r *eval.Round, which []int, why error) {
	for _, i := range which {
		r.Answer(i, nil, why)
	}
}

// ask sends the subjects of the candidates in todo, and takes the answers as they come.
func ask(ctx context.Context, c *child, r *eval.Round, todo []int, workers int, timeout time.Duration) (unbuilt bool, err error) {
	send := func(w *bufio.Writer) error {
		s, err := newSender(w, r.Common())
		if err != nil {
			return err
		}
		for _, i := range todo {
			sub, ok := r.Subject(i)
			if !ok {
				return fmt.Errorf("%w: candidate %d of the round is missing", errWire, i)
			}
			if err := s.subject(sub); err != nil {
				return err
			}
		}
		return nil
	}
	// An evaluation that heeds its deadline has an answer right after it, also where two run at once.
	within := 2*timeout + time.Second/2
	_, err = c.ask(ctx, question{Decide: len(todo), Guess: r.Guess, Workers: workers}, send, within, func(m reply) {
		for _, a := range m.Answers {
			if a.Unbuilt {
				unbuilt = true
			} else if a.N >= 0 && a.N < len(todo) {
				var err error
				if a.Error != "" {
					err = errors.New(a.Error)
				}
				r.Answer(todo[a.N], a.Reasons, err)
			}
		}
	})
	return unbuilt, err
}

// ExplainSubject implements eval.Judge.
func (h *host) ExplainSubject(ctx context.Context, out explain.Explanation, sub *subject.Subject) (explain.Explanation, error) {
	last, err := h.one(ctx, question{Explain: &out}, sub, 3*h.limits.Timeout+time.Second)
	switch {
	case ctx.Err() != nil:
		return out, fmt.Errorf("explain %s: %w", out.ID, ctx.Err())
	case errors.Is(err, errStart):
		return out, fmt.Errorf("explain %s: %w", out.ID, err)
	case err != nil:
		return eval.Unexplained(out, err), nil
	case last.Error != "":
		return out, errors.New(last.Error)
	case last.Explained == nil:
		return eval.Unexplained(out, errEnded), nil
	}
	return *last.Explained, nil
}

// SearchSubject implements eval.Judge. The last decision of a search may begin when its time is
// all but over.
func (h *host) SearchSubject(ctx context.Context, sub *subject.Subject, s eval.Search) (*decision.Counterfactual, error) {
	last, err := h.one(ctx, question{Counterfactual: &s}, sub, s.Within+2*h.limits.Timeout+time.Second)
	switch {
	case err != nil:
		return nil, err
	case last.Error != "":
		return nil, errors.New(last.Error)
	case last.Counterfactual == nil:
		return nil, errEnded
	}
	return last.Counterfactual, nil
}

// errStart is that the process could not be started again.
var errStart = errors.New("start the process that evaluates policies")

// one asks a question about one subject. A process that does not answer it within that much work is ended.
func (h *host) one(ctx context.Context, q question, sub *subject.Subject, within time.Duration) (reply, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.child == nil {
		if _, err := h.start(ctx); err != nil {
			return reply{}, fmt.Errorf("%w: %w", errStart, err)
		}
	}
	if err := h.build(ctx); err != nil {
		h.end()
		return reply{}, fmt.Errorf("%w: %w", errStart, err)
	}
	send := func(w *bufio.Writer) error {
		s, err := newSender(w, sub)
		if err != nil {
			return err
		}
		return s.subject(sub)
	}
	last, err := h.child.ask(ctx, q, send, within, func(reply) {})
	if err != nil {
		h.end()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	return last, err
}

// ask sends a question with the subjects that belong to it and hands on every line of the answer but the last, which it gives. The
// process is ended when ctx has ended, and when it has worked for longer than within since it was last heard of.
func (c *child) ask(ctx context.Context, q question, send func(*bufio.Writer) error, within time.Duration, hear func(reply)) (reply, error) {
	heard, stop := c.guard(ctx, within)
	sent := make(chan error, 1)
	go func() { sent <- c.send(q, send) }()
	last, err := c.hear(func(r reply) { heard(); hear(r) })
	if err != nil {
		c.kill() // and so ends what is being sent
	}
	wrong := <-sent
	if why := stop(); why != nil {
		return last, why
	}
	if err != nil {
		return last, c.why(err)
	}
	return last, wrong
}

func (c *child) send(q question, subjects func(*bufio.Writer) error) error {
	w := bufio.NewWriterSize(c.in, 1<<16)
	line, err := json.Marshal(q)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	if err == nil && subjects != nil {
		err = subjects(w)
	}
	return errors.Join(err, w.Flush())
}

// hear reads lines until one says that it is the last.
func (c *child) hear(hear func(reply)) (reply, error) {
	for c.out.Scan() {
		var r reply
		if err := decode(c.out.Bytes(), &r); err != nil {
			return r, err
		}
		if r.Done || r.Error != "" || len(r.Refused) > 0 {
			return r, nil
		}
		hear(r)
	}
	if err := c.out.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return reply{}, err
	} else if err != nil {
		return reply{}, policy.ErrTooMuch
	}
	return reply{}, io.EOF
}

// Check is policy.Sources.Check in a process of its own, of unknown policies. The error is for a check that could not be made at all.
func Check(ctx context.Context, s *policy.Sources, l eval.Limits, program Program, advice bool) (policy.Checked, error) {
	l = l.WithDefaults()
	if rs := refusals(s.Err()); rs != nil {
		return policy.Checked{Refused: rs}, nil
	}
	last, err := once(ctx, program, question{Check: &toCheck{toLoad{Limits: l, Sources: s}, advice}}, l.Load, func(reply) {})
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
		_, err := once(ctx, program, question{Test: &toTest{toLoad{Limits: l, Sources: s}, o}}, within, listen)
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
func once(ctx context.Context, program Program, q question, within time.Duration, hear func(reply)) (reply, error) {
	c, err := begin(program)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = c.end(nil) }()
	return c.askAbout(ctx, q, within, hear)
}

// askAbout asks a question that has the files with it that it is about.
func (c *child) askAbout(ctx context.Context, q question, within time.Duration, hear func(reply)) (reply, error) {
	at := "what was read"
	last, err := c.ask(ctx, q, nil, within, func(r reply) {
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
	}
	return last, last.err()
}

func refusals(err error) lint.Refusals {
	var rs lint.Refusals
	errors.As(err, &rs)
	return rs
}
