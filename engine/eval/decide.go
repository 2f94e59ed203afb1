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
	slices.SortFunc(answers, func(a, b outcome) int { return strings.Compare(a.sub.ID, b.sub.ID) })
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

// result is what was decided, by the answers of all candidates, sorted by id.
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
			out.Errors = append(out.Errors, Failure{ID: a.sub.ID, Err: a.err})
		}
		out.Decisions = append(out.Decisions, *a.decision)
		for _, x := range a.sub.Exceptions {
			out.Excepted[x.Place()]++
		}
	}
	out.Decisions = withoutTrims(s, out.Decisions)
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

// outcome is what was decided of a candidate in scope; err is why the policies came to no answer.
type outcome struct {
	decision *decision.Decision
	sub      *subject.Subject
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
	d := &decision.Decision{ID: sub.ID, Kind: sub.Kind, InScope: true, Verdict: decision.Spare, Label: sub.Label, Owner: sub.Owner}
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
	return outcome{d, sub, err}
}

// failed is the objection that stands in for an answer.
func failed(err error) decision.Reason {
	return decision.Reason{
		Rule:     decision.PolicyError,
		Message:  fmt.Sprintf("the policies came to no answer, so it stays: %v", err),
		Evidence: map[string]any{"error": err.Error()},
	}
}

// Sightings says what the next sweep is to remember of this one, and marks the decisions in ds that saw their reason for the
// first time. prev is what was remembered before, s the snapshot that ds were decided on, and ds all decisions on it: one that is
// left out counts as out of scope. prev and s stay as they are.
//
// A candidate whose reason stands, with nothing but the wait objecting (for a tab of an editor also what it shows), is remembered: since when, as long as it stays the same
// thing with the same reason; of a process also since when it was idle, which begins again where it was not. Any other objection, or no reason any more, clears it, and so does its absence from a source that
// was read. A candidate that could not be judged, and one whose source could not be read, keep what is remembered of them; the latter
// also while it is shown, as a Codev terminal is by its store while its Tower is down.
func Sightings(prev map[string]snapshot.Sighting, s *snapshot.Snapshot, ds []decision.Decision) map[string]snapshot.Sighting {
	next := make(map[string]snapshot.Sighting, len(prev))
	gap := s.Failing()
	for id, before := range prev {
		// Out of scope may mean that the registry which put it there was not read.
		if _, present := s.Find(id); present && gap || !present && !readable(s, id) {
			next[id] = before
		}
	}
	for i := range ds {
		d := &ds[i]
		delete(next, d.ID)
		before, known := prev[d.ID]
		switch {
		case d.Awaits() && d.Identity.Key != "":
			seen := sight(d, before, known, s)
			d.FirstSighting = seen.Count == 1
			next[d.ID] = seen
		case known && d.Unknown() && (!contradicted(d) || blind(s, d.ID)):
			next[d.ID] = before
		}
	}
	return next
}

// sight is the memory of d after this look.
func sight(d *decision.Decision, before snapshot.Sighting, known bool, s *snapshot.Snapshot) snapshot.Sighting {
	_, counting := d.Counting()
	now := snapshot.Sighting{
		Rule: counting[0].Rule, Identity: d.Identity.Key, FirstAt: s.TakenAt, LastAt: s.TakenAt, Count: 1,
	}
	if d.Kind == snapshot.KindProcess {
		now.IdleSince, now.Work = new(s.TakenAt), (*snapshot.Work)(d.Work)
	}
	if known && before.Identity == now.Identity && slices.ContainsFunc(counting, func(f decision.Reason) bool { return f.Rule == before.Rule }) {
		now.Rule, now.FirstAt, now.Count = before.Rule, before.FirstAt, before.Count+1
		if d.Idle {
			now.IdleSince, now.Work = before.IdleSince, before.Work
		}
	}
	return now
}

// contradicted reports whether d was spared for something that is known, beside what is not.
func contradicted(d *decision.Decision) bool {
	unproven := []string{decision.RuleUnknown, decision.PolicyError, decision.RuleDebounce, decision.RuleShowing}
	known := func(o decision.Reason) bool { return !slices.Contains(unproven, o.Rule) }
	return slices.ContainsFunc(d.Objections, known)
}

// blind reports whether the processes or the candidate's own source were not read: objections are then made for want of them, and say
// nothing.
func blind(s *snapshot.Snapshot, id string) bool {
	return s.Sources[snapshot.Proc].Status != snapshot.OK || !readable(s, id) || ofCodev(s, id) && !codevRead(s)
}

// ofCodev reports whether a candidate is a tab of an editor that shows a builder of Codev's: what became of that one its own source does not say.
func ofCodev(s *snapshot.Snapshot, id string) bool {
	e := s.Tabs[id].Editor
	return e != nil && e.Codev != nil
}

func codevRead(s *snapshot.Snapshot) bool {
	for name, src := range s.Sources {
		if strings.HasPrefix(name, "codev/") && src.Status != snapshot.OK {
			return false
		}
	}
	return true
}

// readable reports whether every source that the candidate could have come from was read: only then is its absence a fact.
// The id of a tab, session or terminal begins with its source's name; a folder may come from any source of folders.
func readable(s *snapshot.Snapshot, id string) bool {
	kind, rest, _ := strings.Cut(id, ":")
	switch kind {
	case snapshot.KindProcess:
		return s.Sources[snapshot.Proc].Status == snapshot.OK
	case snapshot.KindDir:
		for name, src := range s.Sources {
			if strings.HasPrefix(name, "dirs/") && src.Status == snapshot.Failed {
				return false
			}
		}
		return true
	}
	for name, src := range s.Sources {
		if strings.HasPrefix(rest, name+"/") {
			return src.Status == snapshot.OK || src.Status == snapshot.Absent
		}
	}
	return false
}
