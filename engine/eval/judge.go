package eval

import (
	"context"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

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
	// ExplainDocument fills in the explanation of one document.
	ExplainDocument(ctx context.Context, out explain.Explanation, in ast.Value) (explain.Explanation, error)
	// SearchDocument searches what would have to change for the other verdict of a document of a kind.
	SearchDocument(ctx context.Context, kind string, in ast.Value, s Search) (*decision.Counterfactual, error)
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
	// Encoder writes the documents of the round's subjects.
	Encoder *plan.Encoder
	// Guess takes OPA's plan at its word, also for what may be reaped: nothing is done by the answers.
	Guess    bool
	look     *look
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
	if sub, ok := r.Subject(i); ok {
		r.emit(i, sub, said, err)
	}
}

// Subject is the i-th candidate; false where the look has it no more.
func (r *Round) Subject(i int) (*subject.Subject, bool) { return r.look.joined.Subject(r.ids[i]) }

// Document is a candidate of a kind as one JSON document, with its number in a question.
type Document struct {
	N     int
	Kind  string
	Value ast.Value
}

// Answer has the reasons of the document with that number, nil where it is out of scope, or why they said nothing.
type Answer struct {
	N       int
	Reasons *Reasons
	Err     error
}

// AskDocuments asks of documents as they come in, some workers taking one batch after the other, until todo is closed.
// Answers come in any order, and have to be read to the last. One with an error comes at once, for it may have taken its
// time; it is ErrUnbuilt where rules would have to be compiled first. guess takes OPA's plan at its word.
func (e *Engine) AskDocuments(ctx context.Context, workers int, guess bool, todo <-chan []Document) (<-chan []Answer, error) {
	txn, err := e.store.NewTransaction(ctx)
	if err != nil {
		return nil, err
	}
	w := watch(e.limits)
	for _, q := range e.kinds {
		q.ready(e.program)
	}
	said := make(chan []Answer, 4)
	var group sync.WaitGroup
	for range max(1, workers) {
		a := e.asker(txn, w.slot())
		a.guess, a.hasty = guess, true
		group.Go(func() {
			for ds := range todo {
				as := make([]Answer, 0, len(ds))
				for _, d := range ds {
					out, err := a.ask(ctx, e.kinds[d.Kind], candidate{input: d.Value})
					as = append(as, Answer{d.N, out, err})
					if err != nil {
						said <- as
						as = make([]Answer, 0, len(ds))
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

// look is a snapshot that was joined. It must not be decided twice at the same time.
type look struct {
	snapshot *snapshot.Snapshot
	config   *subject.Config
	joined   *subject.Index
	encoder  *plan.Encoder
	// guess takes OPA's plan at its word: what is said only serves to leave something out that would be read.
	guess bool
}

func joined(s *snapshot.Snapshot, c *subject.Config) *look {
	j := subject.Join(s, c)
	return &look{snapshot: s, config: c, joined: j, encoder: plan.NewEncoder(j)}
}
