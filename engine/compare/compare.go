// Package compare says what two sides decide otherwise on the same snapshots: two versions of the policies, or of their configuration. It reads
// nothing from outside and changes nothing.
package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// The changes of a candidate, the most serious first.
const (
	// NewReap: the base keeps it, or no rule of the base claims it, and the head reaps it.
	NewReap = "new_reap"
	// NewKeep: the base reaps it, and the head keeps it, or claims it no more.
	NewKeep = "new_keep"
	// Reasons: the same verdict by other rules, or by rules of another level.
	Reasons = "reasons"
	// Scope: only one of both claims it, and nothing reaps it.
	Scope = "scope"
)

// Changes lists them in their order.
var Changes = []string{NewReap, NewKeep, Reasons, Scope}

// What a rule did otherwise in the head than in the base.
const (
	Found    = "found"    // it finds a reason to reap that the base did not find
	NotFound = "no_more"  // it found a reason to reap, and does not any more
	Raised   = "raised"   // its finding has a higher level: it counts for more
	Lowered  = "lowered"  // its finding has a lower level: it counts for less
	Silent   = "silent"   // it objected, and does not any more
	Objects  = "objects"  // it objects, and did not before
	Claims   = "claims"   // no rule claimed the candidate, and some rule does; without a rule's name
	Released = "released" // some rule claimed the candidate, and no rule does; without a rule's name
	Within   = "within"   // it goes, or went, with the worktree that it lies in; without a rule's name
)

// The sides, as an index and in words.
const (
	base = iota
	head
)

// Base and Head are the sides in words, Sides both of them.
const (
	Base = "base"
	Head = "head"
)

// Sides are both sides, in their order.
var Sides = [2]string{Base, Head}

// Cause is what one rule does otherwise.
type Cause struct {
	Rule string `json:"rule,omitempty"`
	What string `json:"what" jsonschema:"enum=found,enum=no_more,enum=raised,enum=lowered,enum=silent,enum=objects,enum=claims,enum=released,enum=within"`
	// Base and Head are what it said, absent where it said nothing.
	Base *decision.Reason `json:"base,omitempty"`
	Head *decision.Reason `json:"head,omitempty"`
	// Levels are the rule's levels for this kind, where they differ.
	Levels *Levels `json:"levels,omitempty"`
	// Facts are conditions that one of both came to an end at and the other did not. They are there for the first flips of each rule.
	Facts []Fact `json:"facts,omitempty"`
}

// Levels are what the configurations make of one rule (rules.levels).
type Levels struct {
	Base string `json:"base" jsonschema:"enum=on,enum=ask,enum=observe,enum=off"`
	Head string `json:"head" jsonschema:"enum=on,enum=ask,enum=observe,enum=off"`
}

// Verdict is what one of both decided.
type Verdict struct {
	// Verdict is decision.Spare where no rule claims the candidate.
	Verdict string `json:"verdict" jsonschema:"enum=reap,enum=spare"`
	Level   string `json:"level,omitempty" jsonschema:"enum=ask,enum=observe"`
	InScope bool   `json:"in_scope"`
}

// Flip is one candidate that is decided otherwise.
type Flip struct {
	Change string `json:"-"`
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Label  string `json:"label,omitempty"`
	Owner  string `json:"owner,omitempty"`
	// Truth is the candidate's label.
	Truth string  `json:"truth,omitempty" jsonschema:"enum=live,enum=dead"`
	Base  Verdict `json:"base"`
	Head  Verdict `json:"head"`
	// Was is what the base's verdict rests on, and Why what the head's does: the findings that count where it reaps, else the objections.
	Was []decision.Reason `json:"was"`
	Why []decision.Reason `json:"why"`
	// Causes are the rules that decided: for a flip of the verdict those without which it would not be, for all else every difference. They
	// are sorted by rule.
	Causes []Cause `json:"causes"`
}

// Lost reports whether the flip ends something that is labelled as live.
func (f Flip) Lost() bool { return f.Change == NewReap && f.Truth == snapshot.Live }

// Tally counts the labelled candidates of one label.
type Tally struct {
	Labelled int `json:"labelled"`
	Base     int `json:"base_reaps"`
	Head     int `json:"head_reaps"`
}

// Add adds what another snapshot has.
func (t *Tally) Add(more Tally) {
	t.Labelled += more.Labelled
	t.Base += more.Base
	t.Head += more.Head
}

// Result is what is different in one snapshot.
type Result struct {
	// Flips are sorted by change, then by id.
	Flips []Flip
	// Compared counts the candidates that at least one of both claims, Same those that both decide alike.
	Compared, Same int
	// Live and Dead count the labelled ones. Doomed are the ids of those that are labelled live and that both reap, sorted.
	Live, Dead Tally
	Doomed     []string
}

// Pair is what a base and a head have under the same name, nil where one of them has nothing.
type Pair[T any] [2]*T

// Pairs joins two lists by the names of what they hold. Of several with one name the first counts.
func Pairs[T any](base, head []T, name func(*T) string) map[string]Pair[T] {
	out := make(map[string]Pair[T], len(head))
	for side, list := range [2][]T{base, head} {
		for i := range list {
			p := out[name(&list[i])]
			p[side] = cmp.Or(p[side], &list[i])
			out[name(&list[i])] = p
		}
	}
	return out
}

// decided is what both sides decided, by id.
type decided struct {
	pairs map[string]Pair[decision.Decision]
	dirs  map[string]snapshot.Dir
}

// Compare holds the decisions of a head against those of a base on the same snapshot.
//
// What can be made again in a worktree is not decided where the worktree goes as a whole: it goes with that. Where that is so of only one of
// both, the worktree's own flip says it, and such content is a flip only if it is labelled.
func Compare(s *snapshot.Snapshot, before, after []decision.Decision) Result {
	d := decided{Pairs(before, after, func(d *decision.Decision) string { return d.ID }), s.Dirs}
	var out Result
	for _, id := range slices.Sorted(maps.Keys(d.pairs)) {
		out.Compared++
		f := d.flip(id)
		within := d.withWorktree(base, id) || d.withWorktree(head, id)
		if f.Truth = s.Labels[id]; f.Change == "" || within && f.Truth == "" {
			out.Same++
			continue
		}
		if within {
			f.Causes = []Cause{{What: Within}}
		}
		out.Flips = append(out.Flips, f)
	}
	slices.SortStableFunc(out.Flips, func(x, y Flip) int {
		return cmp.Compare(slices.Index(Changes, x.Change), slices.Index(Changes, y.Change))
	})
	d.tally(s.Labels, &out)
	return out
}

// flip is what became of a candidate; its Change is "" where nothing did.
func (d decided) flip(id string) Flip {
	nothing := &decision.Decision{}
	b, h := *cmp.Or(d.pairs[id][base], nothing), *cmp.Or(d.pairs[id][head], nothing)
	f := Flip{
		Change: change(d.reaps(base, id), d.reaps(head, id), b, h),
		ID:     id, Kind: cmp.Or(h.Kind, b.Kind), Label: cmp.Or(h.Label, b.Label), Owner: cmp.Or(h.Owner, b.Owner),
		Base: verdict(b), Head: verdict(h),
	}
	if f.Change != "" {
		f.Was, f.Why, f.Causes = grounds(b), grounds(h), causes(f.Change, b, h)
	}
	return f
}

func verdict(d decision.Decision) Verdict {
	return Verdict{Verdict: cmp.Or(d.Verdict, decision.Spare), Level: d.Level, InScope: d.InScope}
}

// grounds are the reasons that a verdict rests on.
func grounds(d decision.Decision) []decision.Reason {
	if d.Verdict == decision.Reap {
		_, counting := d.Counting()
		return append([]decision.Reason{}, counting...)
	}
	return append([]decision.Reason{}, d.Objections...)
}

// reaps reports whether a side reaps a candidate, by itself or with the worktree that it lies in.
func (d decided) reaps(side int, id string) bool {
	x := d.pairs[id][side]
	return x != nil && x.Verdict == decision.Reap || d.withWorktree(side, id)
}

// withWorktree reports whether a side did not decide a candidate because it goes with its worktree.
func (d decided) withWorktree(side int, id string) bool {
	in := d.dirs[id].Content
	if in == nil || d.pairs[id][side] != nil {
		return false
	}
	tree := d.pairs[in.ID][side]
	return tree != nil && tree.Verdict == decision.Reap
}

func (d decided) tally(labels map[string]string, out *Result) {
	for id, label := range labels {
		t := &out.Dead
		if label == snapshot.Live {
			t = &out.Live
		}
		t.Labelled++
		b, h := d.reaps(base, id), d.reaps(head, id)
		if b {
			t.Base++
		}
		if h {
			t.Head++
		}
		if b && h && label == snapshot.Live {
			out.Doomed = append(out.Doomed, id)
		}
	}
	slices.Sort(out.Doomed)
}

// change is what became of a candidate, "" where nothing did.
func change(baseReaps, headReaps bool, b, h decision.Decision) string {
	switch {
	case headReaps && !baseReaps:
		return NewReap
	case baseReaps && !headReaps:
		return NewKeep
	case baseReaps && b.InScope != h.InScope: // alone, or with its worktree
		return ""
	case b.InScope != h.InScope:
		return Scope
	case b.Level != h.Level || len(differences(b, h)) > 0:
		return Reasons
	}
	return ""
}

// causes are the rules that decided a change.
func causes(change string, b, h decision.Decision) []Cause {
	all := differences(b, h)
	on := func(r *decision.Reason) bool { return r != nil && r.Level == "" }
	decides := func(Cause) bool { return true }
	switch change {
	case NewReap:
		// Findings decide only where the base had none that counts. An objection of the base decides in any case.
		decides = func(c Cause) bool {
			return c.What == Silent || !counts(b) && on(c.Head) && (c.What == Found || c.What == Raised)
		}
	case NewKeep:
		decides = func(c Cause) bool {
			return c.What == Objects || !counts(h) && on(c.Base) && (c.What == NotFound || c.What == Lowered)
		}
	case Scope:
		what := Claims
		if b.InScope {
			what = Released
		}
		all = append([]Cause{{What: what}}, all...)
	}
	return slices.DeleteFunc(all, func(c Cause) bool { return !decides(c) })
}

// counts reports whether some finding is of a rule that is on.
func counts(d decision.Decision) bool {
	return slices.ContainsFunc(d.Findings, func(r decision.Reason) bool { return r.Level == "" })
}

// weight is how much a finding of that level counts.
func weight(r *decision.Reason) int {
	switch {
	case r == nil:
		return 0
	case r.Level == decision.Observe:
		return 1
	case r.Level == decision.Ask:
		return 2
	}
	return 3
}

// differences are the rules that say something in only one of both, or at another level. What they say, and the facts that they name, does
// not count: a sentence that was reworded changes nothing.
func differences(b, h decision.Decision) []Cause {
	out := []Cause{}
	add := func(before, after []decision.Reason, words func(from, to *decision.Reason) string) {
		for rule, p := range Pairs(before, after, func(r *decision.Reason) string { return r.Rule }) {
			if what := words(p[base], p[head]); what != "" {
				out = append(out, Cause{Rule: rule, What: what, Base: p[base], Head: p[head]})
			}
		}
	}
	add(b.Findings, h.Findings, finding)
	add(b.Objections, h.Objections, objection)
	slices.SortFunc(out, func(x, y Cause) int { return cmp.Or(cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.What, y.What)) })
	return out
}

// finding says what a finding does otherwise, "" for nothing.
func finding(before, after *decision.Reason) string {
	switch from, to := weight(before), weight(after); {
	case from == to:
		return ""
	case from == 0:
		return Found
	case to == 0:
		return NotFound
	case to > from:
		return Raised
	}
	return Lowered
}

// objection says what an objection does otherwise, "" for nothing.
func objection(before, after *decision.Reason) string {
	switch {
	case before == nil:
		return Objects
	case after == nil:
		return Silent
	}
	return ""
}

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
