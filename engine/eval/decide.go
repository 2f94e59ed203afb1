package eval

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// batch is how many candidates a worker takes at a time.
const batch = 64

// Result is what was decided of a snapshot.
type Result struct {
	// Decisions are those of the candidates in scope, sorted by id.
	Decisions []decision.Decision
	// Seen counts all candidates by kind, in scope or not.
	Seen map[string]int
	// PossibleAgent is a process that may be an agent and does not show it, nil when it is missing: no younger process is an orphan.
	PossibleAgent *snapshot.PaneProc
	// Levels are the rules that were not on.
	Levels []subject.RuleLevel
	// Exceptions are those that were in force, Excepted counts for each the candidates in scope that it matches or may match.
	Exceptions []snapshot.Keep
	Excepted   []int
	// Errors are the evaluations that failed; each spared its candidate.
	Errors []Failure
}

// Failure is an evaluation that came to no answer.
type Failure struct {
	ID  string
	Err error
}

// Decide judges every candidate of a snapshot. An evaluation that fails spares its candidate and is listed; the error is only
// for a ctx that ended, and then nothing was decided. FirstSighting stays false: see Sightings.
func (e *Engine) Decide(ctx context.Context, s *snapshot.Snapshot, c *subject.Config) (Result, error) {
	return e.DecideLook(ctx, e.join(s, c))
}

// DecideLook is Decide of a snapshot that was joined.
func (e *Engine) DecideLook(ctx context.Context, l *Look) (Result, error) {
	var answers []outcome // of what is in scope: most of a machine is not
	var mu sync.Mutex
	err := e.askAll(ctx, l, e.ids(l), func(_ int, sub *subject.Subject, said *Reasons, err error) {
		if said == nil && err == nil {
			return
		}
		a := decide(l.joined, sub, said, err)
		mu.Lock()
		defer mu.Unlock()
		answers = append(answers, a)
	})
	if err != nil {
		return Result{}, err
	}
	slices.SortFunc(answers, func(a, b outcome) int { return strings.Compare(a.id, b.id) })
	return e.result(l, answers), nil
}

// withExceptions is the configuration with the exceptions of this engine's policies, beside those that it has already: what more there is can only keep.
func (e *Engine) withExceptions(c *subject.Config) *subject.Config {
	with := *c
	for i, x := range e.policy.Exceptions() {
		if !excepts(c, i, x) {
			with.Exceptions = append(slices.Clip(with.Exceptions), x)
		}
	}
	return &with
}

// excepts reports whether a configuration has an exception, which is most likely its i-th.
func excepts(c *subject.Config, i int, x snapshot.Keep) bool {
	if i < len(c.Exceptions) && reflect.DeepEqual(x, c.Exceptions[i]) {
		return true
	}
	return slices.ContainsFunc(c.Exceptions, func(y snapshot.Keep) bool { return reflect.DeepEqual(x, y) })
}

// ids are the candidates of the kinds that some rule is about.
func (e *Engine) ids(l *Look) []string {
	var lists [][]string
	for _, kind := range snapshot.Kinds {
		if _, asked := e.kinds[kind.Name]; asked {
			lists = append(lists, l.joined.IDs(kind.Name))
		}
	}
	return slices.Concat(lists...)
}

// askAll asks of every candidate, wherever this engine's rules are asked.
func (e *Engine) askAll(ctx context.Context, l *Look, ids []string, tell emit) error {
	if len(ids) == 0 {
		return nil
	}
	if err := e.judge.AskAll(ctx, &Round{Guess: l.guess, look: l, ids: ids, emit: tell, answered: make([]bool, len(ids))}); err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	return nil
}

// result is what was decided, by the answers of all candidates.
func (e *Engine) result(l *Look, answers []outcome) Result {
	j, s, c := l.joined, l.snapshot, l.config
	out := Result{
		Seen: map[string]int{}, PossibleAgent: j.PossibleAgent(), Levels: slices.Concat([]subject.RuleLevel{}, c.Levels),
		Exceptions: c.Exceptions, Excepted: make([]int, len(c.Exceptions)),
	}
	for _, kind := range snapshot.Kinds {
		out.Seen[kind.Name] = len(j.IDs(kind.Name))
	}
	e.keepUnheeded(answers)
	for _, a := range answers {
		if a.err != nil {
			out.Errors = append(out.Errors, Failure{ID: a.id, Err: a.err})
		}
		if a.decision != nil {
			out.Decisions = append(out.Decisions, *a.decision)
			for _, x := range a.sub.Exceptions {
				out.Excepted[x.Place()]++
			}
		}
	}
	slices.SortFunc(out.Decisions, func(a, b decision.Decision) int { return strings.Compare(a.ID, b.ID) })
	out.Decisions = withoutTrims(s, out.Decisions)
	slices.SortFunc(out.Errors, func(a, b Failure) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// withoutTrims leaves out what lies in a worktree that goes as a whole: it goes with that.
func withoutTrims(s *snapshot.Snapshot, ds []decision.Decision) []decision.Decision {
	goes := map[string]bool{}
	for _, d := range ds {
		goes[d.ID] = d.Verdict == decision.Reap
	}
	return slices.DeleteFunc(ds, func(d decision.Decision) bool {
		return d.Action == decision.Trim && goes[s.Dirs[d.ID].Content.ID]
	})
}

// outcome is what was decided of a candidate, with its basis: the reasons, or the error. Of one that is out of scope, as most of a
// machine is, decision and said are nil, and so is sub where it is not asked for again.
type outcome struct {
	id, kind string
	decision *decision.Decision
	sub      *subject.Subject
	said     *Reasons
	err      error
}

// emit takes the reasons of the i-th candidate; nothing at all of one that is out of scope, whose subject is nil or must not be kept then.
// It may be called by many at once, each for a candidate of its own.
type emit func(i int, sub *subject.Subject, said *Reasons, err error)

// AskAll asks of every candidate here, the workers taking a batch after the other.
func (e *Engine) AskAll(ctx context.Context, r *Round) error {
	l, ids, tell := r.look, r.ids, r.emit
	txn, err := e.store.NewTransaction(ctx)
	if err != nil {
		return err
	}
	defer e.store.Abort(ctx, txn)
	w := watch(e.limits)
	defer w.stop()
	for kind, q := range e.kinds {
		if slices.ContainsFunc(ids, func(id string) bool { k, known := snapshot.KindOf(id); return !known || k.Name == kind }) {
			q.ready(e.program)
		}
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(e.limits.Workers, len(ids)/batch+1) {
		a, mine := e.asker(txn, w.slot()), l.encoder.Fork()
		a.guess = l.guess
		group.Go(func() {
			defer a.done()
			room := new(subject.Subject)
			for ctx.Err() == nil {
				from := int(next.Add(batch)) - batch
				if from >= len(ids) {
					return
				}
				for i := from; i < min(from+batch, len(ids)) && ctx.Err() == nil; i++ {
					sub, ok := l.subject(ids[i], room)
					if !ok {
						continue
					}
					said, err := a.ask(ctx, e.kinds[sub.Kind], candidate{subject: sub, encoder: mine})
					tell(i, sub, said, err)
					if sub == room && (said != nil || err != nil) { // what is out of scope is not asked for again
						room = new(subject.Subject)
					}
				}
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

// decide makes the decision from the reasons of one candidate. Nothing that a policy says can do more than give reasons.
func decide(j *subject.Index, sub *subject.Subject, said *Reasons, err error) outcome {
	out := outcome{id: sub.ID, kind: sub.Kind, sub: sub, said: said, err: err}
	if said == nil && err == nil {
		return out
	}
	d := &decision.Decision{ID: sub.ID, Kind: sub.Kind, InScope: true, Verdict: decision.Spare, Label: sub.Label, Owner: sub.Owner}
	out.decision = d
	if sub.Dir != nil && sub.Dir.Content != nil {
		d.Action = decision.Trim
	}
	if err != nil {
		d.Findings, d.Objections = []decision.Reason{}, []decision.Reason{failed(err)}
	} else {
		leveled(sub, said).into(d)
	}
	d.Identity, d.About = j.Identity(sub.ID), sub.About()
	d.Age, d.Alive, d.Groups = sub.Age, sub.OwnerAlive(), j.Groups(sub)
	d.Work = (*decision.Work)(j.Work(sub.ID))
	if sub.Sighting != nil && sub.Sighting.Idle != nil {
		d.Idle = *sub.Sighting.Idle > 0
		d.Busy = !d.Idle
	}
	return out
}

// failed is the objection that stands in for an answer.
func failed(err error) decision.Reason {
	return decision.Reason{
		Rule:     decision.PolicyError,
		Message:  fmt.Sprintf("the policies came to no answer, so it stays: %v", err),
		Evidence: map[string]any{"error": err.Error()},
	}
}
