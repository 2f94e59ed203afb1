package compare

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Sample is a snapshot to decide, by the name that it has in the output. Read gives it, and the fields of it that are not known.
type Sample struct {
	Name string
	Read func(context.Context) (*snapshot.Snapshot, []string, error)
}

// Side is one of both that decide: an engine with its policies, and the parameters that they read.
type Side struct {
	*eval.Engine
	Config *subject.Config
}

// Unanswered is an evaluation that came to no answer.
type Unanswered struct {
	In    string `json:"in" jsonschema:"enum=base,enum=head"`
	ID    string `json:"id"`
	Error string `json:"error"`
}

// Outcome is what became of one sample. Err is why it was not compared; then the rest is empty.
type Outcome struct {
	Sample
	Snapshot *snapshot.Snapshot
	Unknown  []string
	// Decided is what the head decided.
	Decided []decision.Decision
	Result
	Unanswered []Unanswered
	Err        error
}

// Run decides samples by both sides, several at a time, and gives the outcomes in the order of the samples. A few are held in memory. After
// the end of ctx it gives outcomes with that error.
func Run(ctx context.Context, sides [2]Side, samples []Sample) iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		over := make(chan struct{}) // ctx does not end the list: what is left out would look decided
		defer close(over)
		alike := sync.OnceValue(func() bool {
			return sides[base].JoinsAs(sides[base].Config, sides[head].Engine, sides[head].Config)
		})
		pending := make(chan chan Outcome, max(1, min(runtime.GOMAXPROCS(0), len(samples), 4)))
		go func() {
			defer close(pending)
			for _, s := range samples {
				done := make(chan Outcome, 1)
				select {
				case pending <- done:
				case <-over:
					return
				}
				go func() { done <- decideBoth(ctx, sides, alike, s) }()
			}
		}()
		for done := range pending {
			if !yield(<-done) {
				return
			}
		}
	}
}

// decideBoth decides one sample by both sides, joined once where both join it alike.
func decideBoth(ctx context.Context, sides [2]Side, alike func() bool, sample Sample) (out Outcome) {
	out.Sample = sample
	if out.Snapshot, out.Unknown, out.Err = sample.Read(ctx); out.Err != nil {
		return out
	}
	var decisions [2][]decision.Decision
	var look *eval.Look
	for i, side := range sides {
		if look == nil || !alike() {
			look = side.Join(out.Snapshot, side.Config)
		}
		r, err := side.DecideLook(ctx, look)
		if out.Err = err; err != nil {
			return out
		}
		decisions[i] = r.Decisions
		for _, e := range r.Errors {
			out.Unanswered = append(out.Unanswered, Unanswered{In: Sides[i], ID: e.ID, Error: e.Err.Error()})
		}
	}
	out.Decided = decisions[head]
	out.Result = Compare(out.Snapshot, decisions[base], decisions[head])
	return out
}

// Index joins a snapshot for Explain.
func (s Side) Index(of *snapshot.Snapshot) *subject.Index { return subject.Join(of, s.Config) }

// Explain explains a candidate. It is nil where it cannot be explained: the decision stands all the same.
func (s Side) Explain(ctx context.Context, in *subject.Index, id string) *explain.Explanation {
	sub, ok := in.Subject(id)
	if !ok {
		return nil
	}
	x, err := s.Engine.Explain(ctx, sub)
	if err != nil {
		return nil
	}
	return &x
}
