package eval

import (
	"context"
	"reflect"
	"sync"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Judge is where rules are asked: an engine is one, and so is another process.
type Judge interface {
	// AskAll answers every candidate of a round. The error is only for a ctx that ended.
	AskAll(ctx context.Context, r *Round) error
	// ExplainSubject fills in the explanation of a subject.
	ExplainSubject(ctx context.Context, out explain.Explanation, sub *subject.Subject) (explain.Explanation, error)
	// SearchSubject searches what would have to change for the other verdict of a subject.
	SearchSubject(ctx context.Context, sub *subject.Subject, s Search) (*decision.Counterfactual, error)
	// Close ends what the judge started.
	Close() error
}

// Judge is where the engine's rules are asked.
func (e *Engine) Judge() Judge { return e.judge }

// Close ends the process in which an engine's policies are judged, if another process does that.
func (e *Engine) Close() error {
	if e.judge == Judge(e) {
		return nil
	}
	return e.judge.Close()
}

// Round is one asking of many candidates, each known by its place in it.
type Round struct {
	// Guess takes OPA's plan at its word, also for what may be reaped: nothing is done by the answers.
	Guess    bool
	look     *Look
	ids      []string
	emit     emit
	answered []bool
}

// Unanswered are the candidates without an answer, in their order.
func (r *Round) Unanswered() []int {
	var out []int
	for i, done := range r.answered {
		if !done {
			out = append(out, i)
		}
	}
	return out
}

// Answer gives the reasons of the i-th candidate, nil where it is out of scope, or why they said nothing. Only the first answer counts.
func (r *Round) Answer(i int, said *Reasons, err error) {
	if r.answered[i] {
		return
	}
	r.answered[i] = true
	if said == nil && err == nil {
		r.emit(i, nil, nil, nil)
	} else if sub, ok := r.Subject(i); ok {
		r.emit(i, sub, said, err)
	}
}

// Subject is the i-th candidate; false where the look has it no more.
func (r *Round) Subject(i int) (*subject.Subject, bool) { return r.look.subject(r.ids[i], nil) }

// Common is what all subjects of the round have in common.
func (r *Round) Common() *subject.Subject { return r.look.joined.Common() }

// Candidate is a subject with its number in a question.
type Candidate struct {
	N       int
	Subject *subject.Subject
}

// Answer has the reasons of the candidate with that number, nil where it is out of scope, or why they said nothing.
type Answer struct {
	N       int
	Reasons *Reasons
	Err     error
}

// AskSubjects asks of candidates as they come in, some workers taking one batch after the other, until todo is closed. All have what common has.
// Answers come in any order, and have to be read to the last. One with an error comes at once, for it may have taken its
// time; it is ErrUnbuilt where rules would have to be compiled first. guess takes OPA's plan at its word.
func (e *Engine) AskSubjects(
	ctx context.Context, common *subject.Subject, workers int, guess bool, todo <-chan []Candidate,
) (<-chan []Answer, error) {
	txn, err := e.store.NewTransaction(ctx)
	if err != nil {
		return nil, err
	}
	w := watch(e.limits)
	for _, q := range e.kinds {
		q.ready(e.program)
	}
	said, encoder := make(chan []Answer, 4), plan.NewEncoder(common)
	var group sync.WaitGroup
	for range max(1, workers) {
		a, mine := e.asker(txn, w.slot()), encoder.Fork()
		a.guess, a.hasty = guess, true
		group.Go(func() {
			defer a.done()
			for cs := range todo {
				as := make([]Answer, 0, len(cs))
				for _, c := range cs {
					out, err := a.ask(ctx, e.kinds[c.Subject.Kind], candidate{subject: c.Subject, encoder: mine})
					as = append(as, Answer{c.N, out, err})
					if err != nil {
						said <- as
						as = make([]Answer, 0, len(cs))
					}
				}
				said <- as
			}
		})
	}
	go func() {
		group.Wait()
		w.stop()
		e.store.Abort(ctx, txn)
		close(said)
	}()
	return said, nil
}

// Look is a snapshot that was joined. It must not be decided twice at the same time.
type Look struct {
	snapshot *snapshot.Snapshot
	config   *subject.Config
	joined   *subject.Index
	encoder  *plan.Encoder
	// guess takes OPA's plan at its word: what is said only serves to leave something out that would be read.
	guess bool
	// kept are the subjects that were filled in, by id, where other engines ask for them again; else nil.
	kept *sync.Map
}

// join joins a snapshot for one deciding.
func (e *Engine) join(s *snapshot.Snapshot, c *subject.Config) *Look {
	with := e.withExceptions(c)
	j := subject.Join(s, with)
	return &Look{snapshot: s, config: with, joined: j, encoder: plan.NewEncoder(j.Common())}
}

// Join joins a snapshot for several engines that join it alike (JoinsAs), one after the other. What is made for one of them is there for the next.
func (e *Engine) Join(s *snapshot.Snapshot, c *subject.Config) *Look {
	l := e.join(s, c)
	l.kept = &sync.Map{}
	return l
}

// JoinsAs reports whether an engine with a configuration joins each snapshot as another one does.
func (e *Engine) JoinsAs(c *subject.Config, other *Engine, with *subject.Config) bool {
	return reflect.DeepEqual(e.withExceptions(c), other.withExceptions(with))
}

// subject is a candidate of the look, in the room that is given for it where it is not kept; false where the look has it no more.
func (l *Look) subject(id string, room *subject.Subject) (*subject.Subject, bool) {
	if l.kept == nil && room != nil {
		return room, l.joined.Fill(room, id)
	}
	if l.kept == nil {
		return l.joined.Subject(id)
	}
	if had, ok := l.kept.Load(id); ok {
		sub, ok := had.(*subject.Subject)
		return sub, ok
	}
	sub, ok := l.joined.Subject(id)
	if ok {
		l.kept.Store(id, sub)
	}
	return sub, ok
}
