package eval

import (
	"context"
	"reflect"
	"slices"
	"strings"
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

// Prejudged is what is settled of a folder by what is cheap to know.
type Prejudged struct {
	// Why it stays with any answer to the dear questions about it (subject.Optimistic), as the end of a sentence that begins with because; "" where they are worth asking: it would go, be left for
	// a person, or be reported by a rule that is only observed, or the policies came to no answer.
	Why string
	// Part is true where a folder in it that can be made again may go all the same.
	Part bool
}

// Unclaimed is why a folder stays that no rule would find a reason for.
const Unclaimed = "no rule gives a reason to reap it, whatever it holds"

// Prejudge says of the folders of a snapshot, by id, whether the dear questions are worth asking. The snapshot need not have their answers. keeps says
// of which rules it is known that no answer makes them object less than the best one does: of the shipped ones; what others object to settles nothing. The rules that may find a reason to reap
// a folder must all be such that no answer makes them find more. The error is only for a ctx that ended.
func (e *Engine) Prejudge(ctx context.Context, s *snapshot.Snapshot, c *subject.Config, keeps func(rule string) bool) (map[string]Prejudged, error) {
	l := e.join(subject.Optimistic(s, c), c)
	l.guess = true // what may go is asked about, and decided on again
	res, err := e.DecideLook(ctx, l)
	if err != nil {
		return nil, err
	}
	why := map[string]string{}
	for _, d := range res.Decisions {
		why[d.ID] = keptBy(d, keeps)
	}
	out := make(map[string]Prejudged, len(s.Dirs))
	for id := range s.Dirs {
		f := Prejudged{Why: Unclaimed}
		if said, claimed := why[id]; claimed {
			f.Why = said
		}
		said, claimed := why[subject.PartID(strings.TrimPrefix(id, snapshot.KindDir+":"))]
		f.Part = claimed && said == ""
		out[id] = f
	}
	return out, nil
}

// dependentRules are the rules that may object less where another one finds less: with the true answers, which give fewer reasons, they may keep silent.
var dependentRules = []string{decision.RuleDebounce, decision.RuleExcepted, decision.RuleProject}

// keptBy is what keeps the candidate of a decision that was made by the best answers.
func keptBy(d decision.Decision, keeps func(rule string) bool) string {
	for _, o := range d.Objections {
		if o.Rule == decision.PolicyError {
			return ""
		}
	}
	for _, o := range d.Objections {
		if !slices.Contains(dependentRules, o.Rule) && keeps(o.Rule) {
			return o.Message
		}
	}
	if len(d.Findings) == 0 {
		return Unclaimed
	}
	return ""
}

// unheeded is the objection to a candidate that the file of a trusted repository keeps, or may, where the policies lack the rule that reads it:
// its word would count for nothing. nil for any other candidate.
func (e *Engine) unheeded(sub *subject.Subject) *decision.Reason {
	if _, heeded := e.policy.Rules()[decision.RuleProject]; heeded {
		return nil
	}
	for _, p := range sub.Projects {
		if p.Keeps == nil || len(*p.Keeps) > 0 {
			return &decision.Reason{Rule: decision.RuleUnknown, Evidence: map[string]any{"project": p.Path}, Message: "its repository keeps it, or may, and no rule of the " +
				"policies reads that: load the embedded policies too, or add their folder protect/project (winnow init writes it): " + p.Path}
		}
	}
	return nil
}

// keepUnheeded objects to each candidate that rules found a reason to reap, where unheeded has an objection.
func (e *Engine) keepUnheeded(answers []outcome) {
	for i := range answers {
		a := &answers[i]
		if a.err != nil || len(a.decision.Findings) == 0 {
			continue
		}
		if o := e.unheeded(a.sub); o != nil {
			d := a.decision
			d.Objections = append(slices.Clone(d.Objections), *o)
			slices.SortStableFunc(d.Objections, func(x, y decision.Reason) int {
				return strings.Compare(x.Rule+"\x00"+x.Message, y.Rule+"\x00"+y.Message)
			})
			d.Verdict, d.Level = decision.Spare, ""
		}
	}
}

// explainUnheeded adds to an explanation what keepUnheeded adds to a decision.
func (e *Engine) explainUnheeded(sub *subject.Subject, out *explain.Explanation) {
	o := e.unheeded(sub)
	if o != nil && slices.ContainsFunc(out.Findings, func(f explain.Fired) bool { return f.Level != decision.Off }) {
		out.Objections = append(out.Objections, explain.Fired{Reason: *o})
		out.Verdict, out.Level = decision.Spare, ""
	}
}
