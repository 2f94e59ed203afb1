package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/mask"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/engine/tester"
)

// maxFrame is how many bytes one subject may have on its way.
const maxFrame = 64 << 20

// Serve is the process that judges apart: it answers the questions that come from in until there are no more. It puts itself
// behind its walls first, and ends when the other end of in is closed, in the middle of any work.
func Serve(in, out *os.File) error {
	go endWith(in.Fd())
	if err := settleIn(); err != nil {
		return fmt.Errorf("judge apart: %w", err)
	}
	s := &server{in: bufio.NewReaderSize(in, 1<<16), out: bufio.NewWriterSize(out, 1<<16)}
	for {
		line, err := s.in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("judge apart: %w", err)
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return fmt.Errorf("judge apart: %w", err)
		}
		if err := s.answer(q); err != nil {
			return fmt.Errorf("judge apart: %w", err)
		}
	}
}

// server is the inner end of the pipe.
type server struct {
	in     *bufio.Reader
	out    *bufio.Writer
	policy *policy.Policy
	engine *eval.Engine
	mask   *mask.Mask
}

// say writes a line; a person waits for none of them, so it is sent at once only where the next thing may not end.
func (s *server) say(r reply) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := s.out.Write(append(data, '\n')); err != nil {
		return err
	}
	return s.out.Flush()
}

func (s *server) answer(q question) error {
	switch {
	case q.Load != nil:
		return s.load(q.Load)
	case q.Check != nil:
		return s.check(q.Check)
	case q.Test != nil:
		return s.test(q.Test)
	case q.Masks != nil:
		return s.masks(q.Masks)
	case q.Mask != nil:
		return s.masked(q.Mask)
	case s.engine == nil:
		return errors.New("nothing is loaded")
	case q.Build:
		return s.build()
	case q.Explain != nil:
		return s.one(func(sub *subject.Subject) (reply, error) {
			x, err := s.engine.ExplainSubject(context.Background(), *q.Explain, sub)
			return reply{Explained: &x}, err
		})
	case q.Counterfactual != nil:
		return s.one(func(sub *subject.Subject) (reply, error) {
			o, err := s.engine.SearchSubject(context.Background(), sub, *q.Counterfactual)
			return reply{Counterfactual: o}, err
		})
	default:
		return s.decide(q)
	}
}

// build compiles the rules, where that was not done yet.
func (s *server) build() error {
	if err := s.policy.Build(); err != nil {
		return s.say(refusal(err))
	}
	return s.say(reply{Done: true})
}

func (s *server) load(q *toLoad) error {
	return s.work(q, func(tell func(reply)) reply {
		q.Sources.Use(q.Prepared)
		p, err := q.Sources.Build(context.Background(), func(step string) { tell(reply{Step: step}) })
		if err != nil {
			return refusal(err)
		}
		s.policy, s.engine = p, eval.New(p, q.Limits)
		done := reply{Done: true, Rules: p.Rules(), Kinds: p.Kinds(), Unbuilt: !p.Built(), Unplanned: s.engine.Unplanned()}
		if q.Keep && p.Built() && s.engine.Planned() != nil {
			if code, err := plan.Encode(s.engine.Planned()); err == nil { // what cannot be kept is compiled each time
				done.Prepared, _ = p.Prepare(code)
			}
		}
		return done
	})
}

func (s *server) check(q *toCheck) error {
	return s.work(&q.toLoad, func(tell func(reply)) reply {
		unplanned := func(p *policy.Policy) string { return eval.New(p, q.Limits).Unplanned() }
		c := q.Sources.Check(context.Background(), q.Advice, unplanned, func(step string) { tell(reply{Step: step}) })
		return reply{Done: true, Checked: &c}
	})
}

func (s *server) test(q *toTest) error {
	return s.work(&q.toLoad, func(tell func(reply)) reply {
		suite, err := q.Sources.Suite(context.Background(), func(step string) { tell(reply{Step: step}) })
		if err != nil {
			return refusal(err)
		}
		tell(reply{Step: "all of them together"})
		err = tester.Run(context.Background(), suite, q.Options, tester.Listener{
			Begins:  func(r tester.Result) { tell(reply{Begins: &r}) },
			Tested:  func(r tester.Result) { tell(reply{Tested: &r}) },
			Covered: func(c tester.Coverage) { tell(reply{Coverage: &c}) },
		})
		if err != nil {
			return refusal(err)
		}
		return reply{Done: true}
	})
}

// work puts up the wall and says what do says in the end. tell says a line before that.
func (s *server) work(q *toLoad, do func(tell func(reply)) reply) error {
	if err := wall(q.Limits); err != nil {
		return s.say(reply{Error: err.Error()})
	}
	var lost error
	last := do(func(r reply) { lost = errors.Join(lost, s.say(r)) })
	if lost != nil {
		return lost
	}
	return s.say(last)
}

// refusal is the last line of an answer that is an error.
func refusal(err error) reply {
	if rs := (lint.Refusals)(nil); errors.As(err, &rs) {
		return reply{Refused: rs}
	}
	return reply{Error: err.Error()}
}

// decide judges the subjects that follow while they come in.
func (s *server) decide(q question) error {
	r, err := newReceiver(s.in)
	if err != nil {
		return err
	}
	todo := make(chan []eval.Candidate, 4)
	answers, err := s.engine.AskSubjects(context.Background(), r.common, q.Workers, q.Guess, todo)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		failed <- s.receive(q, r, todo)
		close(todo)
	}()
	for as := range answers {
		if err := s.tell(as); err != nil {
			return err
		}
	}
	if err := <-failed; err != nil {
		return err
	}
	return s.say(reply{Done: true})
}

// receive reads the subjects in their order, for they share values, and hands them on: in small batches, so that as little as
// possible has to be asked again after an unwanted end, and one by one where a single worker looks for the culprit.
func (s *server) receive(q question, r *receiver, todo chan<- []eval.Candidate) error {
	size := smallBatch
	if q.Workers <= 1 {
		size = 1
	}
	var cs []eval.Candidate
	for n := range q.Decide {
		sub, err := s.subject(r)
		if err != nil {
			return err
		}
		if cs = append(cs, eval.Candidate{N: n, Subject: sub}); len(cs) == size {
			todo <- cs
			cs = nil
		}
	}
	if len(cs) > 0 {
		todo <- cs
	}
	return nil
}

// subject is the next one.
func (s *server) subject(r *receiver) (*subject.Subject, error) {
	sub, err := r.subject()
	if err == nil && !s.engine.HasKind(sub.Kind) {
		err = fmt.Errorf("%w: kind %q", errWire, sub.Kind)
	}
	return sub, err
}

const smallBatch = 16

func (s *server) tell(as []eval.Answer) error {
	out := make([]wireAnswer, len(as))
	for i, a := range as {
		switch {
		case errors.Is(a.Err, eval.ErrUnbuilt):
			out[i] = wireAnswer{N: a.N, Unbuilt: true}
		case a.Err != nil:
			out[i] = wireAnswer{N: a.N, Error: a.Err.Error()}
		default:
			out[i] = wireAnswer{N: a.N, Reasons: a.Reasons}
		}
	}
	err := s.say(reply{Answers: out})
	if no := (*json.UnsupportedValueError)(nil); !errors.As(err, &no) {
		return err
	}
	for i := range out { // one has evidence that is no JSON
		if _, err := json.Marshal(out[i]); err != nil {
			out[i] = wireAnswer{N: out[i].N, Error: fmt.Sprintf("%v: %v", policy.ErrShape, err)}
		}
	}
	return s.say(reply{Answers: out})
}

// one answers a question about the one subject that follows.
func (s *server) one(ask func(*subject.Subject) (reply, error)) error {
	r, err := newReceiver(s.in)
	if err != nil {
		return err
	}
	sub, err := s.subject(r)
	if err != nil {
		return err
	}
	return s.end(ask(sub))
}

// end says the last line of an answer, or why it is missing.
func (s *server) end(r reply, err error) error {
	if err != nil {
		r = reply{Error: err.Error()}
	}
	r.Done = true
	return s.say(r)
}

const (
	// wallFactor is by how many times the memory of one evaluation the process that judges apart may grow in all. The watchdog stops
	// an evaluation at one; what gets by it, in one step of a built-in function, ends at the wall.
	wallFactor = 2
	// minWall is what it may grow in any case: loading policies takes memory too.
	minWall = 160 << 20
	// maxStack is how many bytes the stack of one goroutine may have: a parser that is led in deeper ends.
	maxStack = 64 << 20
	// maxOpen is how many files the process may have open: its pipes and what the runtime needs.
	maxOpen = 32
)

// settleIn takes from this process what judging does not need: files of its own, a folder to stand in, a dump of its memory. It is called while nothing runs but the process's own code.
func settleIn() error {
	_ = os.WriteFile("/proc/self/comm", []byte("winnow-judge"), 0) // else it is called exe; no more than a name
	if err := os.Chdir("/"); err != nil {
		return err
	}
	debug.SetMaxStack(maxStack)
	for what, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: maxOpen} {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("set limit %d: %w", what, err)
		}
	}
	return nil
}

// wall bounds the memory that this process may still take. The kernel holds it: a Go program that gets no more memory ends.
func wall(l eval.Limits) error {
	writable, resident, err := memory()
	if err != nil {
		return fmt.Errorf("bound memory: %w", err)
	}
	l = l.WithDefaults()
	if l.HeapBytes > math.MaxInt64/4 {
		return nil
	}
	debug.SetMemoryLimit(int64(resident + l.HeapBytes)) // collect garbage before the wall is reached
	// What the runtime has taken and does not use yet is as good as used.
	most := max(resident+max(wallFactor*l.HeapBytes, minWall), writable+l.HeapBytes)
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("bound memory: %w", err)
	}
	return nil
}

// memory is what RLIMIT_DATA counts, the pages that this process can write and shares with no other, and what of them and of all
// others it has in memory, in bytes.
func memory() (writable, resident uint64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(text) // proc_pid_statm(5): size resident shared text lib data dt
	if len(fields) < 6 {
		return 0, 0, errors.New("/proc/self/statm has another form")
	}
	resident, err1 := strconv.ParseUint(string(fields[1]), 10, 64)
	writable, err2 := strconv.ParseUint(string(fields[5]), 10, 64)
	page := uint64(os.Getpagesize())
	return writable * page, resident * page, errors.Join(err1, err2)
}

// endWith ends this process when the other end of its pipe is closed: the process that asked has ended, and no answer is awaited.
func endWith(fd uintptr) {
	for {
		p := []unix.PollFd{{Fd: int32(fd)}} // no events: an end is told unasked
		n, err := unix.Poll(p, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n > 0 {
			os.Exit(0)
		}
	}
}

// Masks are an operator's masks of logged decisions (engine/mask), compiled and asked in a process of its own: what they take too much of ends that
// process. It is used by one goroutine, and must be closed.
type Masks struct {
	limits eval.Limits
	child  *child
	// over is why the process ended.
	over error
}

// toMask is the question that loads masks.
type toMask struct {
	Limits eval.Limits `json:"limits"`
	Files  mask.Files  `json:"files"`
}

// StartMasks starts that process and has it compile the files.
func StartMasks(ctx context.Context, files mask.Files, l eval.Limits, program Program) (*Masks, error) {
	c, err := begin(program)
	if err != nil {
		return nil, err
	}
	m := &Masks{limits: l.WithDefaults(), child: c}
	if _, err := m.ask(ctx, question{Masks: &toMask{m.limits, files}}, m.limits.Load); err != nil {
		m.Close()
		return nil, fmt.Errorf("load masks: %w", err)
	}
	return m, nil
}

// Rules implements decisionlog.Masker: what the masks say of an event. Where the process ended over one, none is asked any more.
func (m *Masks) Rules(ctx context.Context, event any) ([]any, error) {
	data, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	last, err := m.ask(ctx, question{Mask: data}, 2*m.limits.Timeout+time.Second)
	if err != nil || last.Mask == nil {
		return nil, err
	}
	var rules []any
	err = decode(last.Mask, &rules)
	return rules, err
}

// Close ends the process.
func (m *Masks) Close() {
	if m.child != nil {
		m.child.end(nil)
		m.child = nil
	}
}

func (m *Masks) ask(ctx context.Context, q question, within time.Duration) (reply, error) {
	if m.child == nil {
		return reply{}, fmt.Errorf("%w; they are not asked again", m.over)
	}
	last, err := m.child.ask(ctx, q, nil, within, func(reply) {})
	switch {
	case ctx.Err() != nil:
		return reply{}, ctx.Err()
	case err != nil:
		m.over = err
		m.Close()
		return reply{}, err
	}
	return last, last.err()
}

// masks loads masks in the process apart.
func (s *server) masks(q *toMask) error {
	err := wall(q.Limits)
	if err == nil {
		s.mask, err = q.Files.Compile(context.Background(), q.Limits.Timeout)
	}
	return s.end(reply{}, err)
}

// masked asks them.
func (s *server) masked(event json.RawMessage) error {
	if s.mask == nil {
		return errors.New("no masks are loaded")
	}
	var in any
	if err := decode(event, &in); err != nil {
		return err
	}
	rules, err := s.mask.Rules(context.Background(), in)
	if err != nil {
		return s.end(reply{}, err)
	}
	data, err := json.Marshal(rules)
	return s.end(reply{Mask: data}, err)
}
