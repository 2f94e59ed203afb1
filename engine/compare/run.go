package compare

import (
	"context"
	"encoding/json"
	"iter"
	"runtime"
	"slices"
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

const (
	// maxFacts is how many conditions a cause shows of each side.
	maxFacts = 3
	// maxBytes is how much of one fact is shown.
	maxBytes = 2 << 10
)

// Fact is a line of a policy with its operands.
type Fact struct {
	// In is the side whose policy it is. Held is true for a condition that held, and false for one that did not.
	In   string `json:"in" jsonschema:"enum=base,enum=head"`
	Held bool   `json:"held"`
	// Rule is the rule that it is part of, such as policies.protect.unsaved._saved.
	Rule   string          `json:"rule"`
	File   string          `json:"file"`
	Line   int             `json:"line"`
	Text   string          `json:"text"`
	Values []explain.Value `json:"values,omitempty"`
}

// Explained are the explanations of one candidate by both sides; a nil one was not asked for, or came to nothing.
type Explained [2]*explain.Explanation

// Facts are the conditions at which one side ended and the other did not: of a finding that is new those that the base's rule ended at, of
// an objection that fell silent what kept it before, and what the head's rule ended at or was shown.
func (x Explained) Facts(c Cause) (out []Fact) {
	add := func(in string, held bool, conditions []explain.Condition) {
		for _, condition := range endsOf(conditions, maxFacts) {
			out = append(out, newFact(in, held, condition))
		}
	}
	if b := x[base]; b != nil && c.What == Found {
		for _, s := range ofRule(b.NoFinding, c.Rule) {
			add(Base, false, s.Failed)
		}
	}
	if b := x[base]; b != nil && c.What == Silent {
		for _, f := range b.Objections {
			if f.Rule == c.Rule {
				add(Base, false, f.Missing)
			}
		}
	}
	if h := x[head]; h != nil && c.What == Silent {
		for _, s := range ofRule(h.NoObjection, c.Rule) {
			if len(s.Shown) > 0 {
				add(Head, true, s.Shown)
			} else {
				add(Head, false, s.Failed)
			}
		}
	}
	return out[:min(len(out), 2*maxFacts)]
}

// EndOf is the condition at which a rule of the head ended for a candidate; false where the explanation does not name the rule.
func EndOf(rule string, x *explain.Explanation) (Fact, bool) {
	for _, s := range ofRule(slices.Concat(x.NoFinding, x.NoObjection), rule) {
		for _, c := range endsOf(slices.Concat(s.Failed, s.Shown), 1) {
			return newFact(Head, len(s.Failed) == 0, c), true
		}
	}
	return Fact{}, false
}

func ofRule(all []explain.Silent, rule string) (out []explain.Silent) {
	for _, s := range all {
		if s.Rule == rule {
			out = append(out, s)
		}
	}
	return out
}

// newFact is a condition with those of its operands that are facts.
func newFact(in string, held bool, x explain.Condition) Fact {
	f := Fact{In: in, Held: held, Rule: x.Rule, File: x.File, Line: x.Line, Text: x.Text}
	for _, v := range x.Values {
		if v.Name == "" {
			continue
		}
		if data, err := json.Marshal(v.Value); err != nil || len(data) > maxBytes {
			v.Value = "(too long to show)"
		}
		f.Values = append(f.Values, v)
	}
	return f
}

// endsOf are the first places at which conditions came to their end, each once.
func endsOf(cs []explain.Condition, most int) (out []explain.Condition) {
	for _, c := range explain.Innermost(cs) {
		if !slices.ContainsFunc(out, func(x explain.Condition) bool { return x.File == c.File && x.Line == c.Line }) {
			out = append(out, c)
		}
	}
	return out[:min(len(out), most)]
}
