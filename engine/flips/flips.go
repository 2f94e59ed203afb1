// Package flips says what is different between two decisions of the same snapshot, by a base and by a head: two versions of the
// policies, or of their configuration. It decides nothing and reads nothing.
package flips

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
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

// Cause is what one rule did otherwise. Base and Head are what it said, nil where it said nothing.
type Cause struct {
	Rule string
	What string
	Base *decision.Reason
	Head *decision.Reason
}

// Side is what one of both decided.
type Side struct {
	// Verdict is decision.Spare where no rule claims the candidate.
	Verdict string
	Level   string
	InScope bool
}

// Flip is one candidate that is decided otherwise.
type Flip struct {
	ID, Kind, Label, Owner string
	Change                 string
	Base, Head             Side
	// Causes are the rules that decided: for a flip of the verdict those without which it would not be, for all else every difference. They
	// are sorted by rule.
	Causes []Cause
	// Was is what the base's verdict rests on, and Why what the head's does: the findings that count where it reaps, else the objections.
	Was, Why []decision.Reason
	// Truth is the candidate's label in the snapshot, "" for one without.
	Truth string
}

// Lost reports whether the flip ends something that is labelled as live.
func (f Flip) Lost() bool { return f.Change == NewReap && f.Truth == snapshot.Live }

// Tally counts the labelled candidates of one label.
type Tally struct {
	Labelled int `json:"labelled"`
	Base     int `json:"base_reaps"`
	Head     int `json:"head_reaps"`
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

// Compare holds the decisions of a head against those of a base on the same snapshot.
//
// What can be made again in a worktree is not decided where the worktree goes as a whole: it goes with that. Where that is so of only one of
// both, the worktree's own flip says it, and such content is a flip only if it is labelled.
func Compare(s *snapshot.Snapshot, base, head []decision.Decision) Result {
	c := comparison{s: s, base: byID(base), head: byID(head)}
	var out Result
	for _, id := range c.ids() {
		b, h := c.base[id], c.head[id]
		out.Compared++
		within := c.goesWithWorktree(c.base, id) || c.goesWithWorktree(c.head, id)
		f := Flip{ID: id, Kind: cmp.Or(h.Kind, b.Kind), Label: cmp.Or(h.Label, b.Label), Owner: cmp.Or(h.Owner, b.Owner), Base: side(b), Head: side(h), Truth: s.Labels[id]}
		if f.Change = change(c.reaps(c.base, id), c.reaps(c.head, id), b, h); f.Change == "" || within && f.Truth == "" {
			out.Same++
			continue
		}
		if f.Causes = causes(f.Change, b, h); within {
			f.Causes = []Cause{{What: Within}}
		}
		f.Was, f.Why = grounds(b), grounds(h)
		out.Flips = append(out.Flips, f)
	}
	slices.SortStableFunc(out.Flips, func(x, y Flip) int {
		return cmp.Compare(slices.Index(Changes, x.Change), slices.Index(Changes, y.Change))
	})
	c.tally(&out)
	return out
}

// grounds are the reasons that a verdict rests on.
func grounds(d decision.Decision) []decision.Reason {
	if d.Verdict == decision.Reap {
		_, counting := d.Counting()
		return counting
	}
	return d.Objections
}

// comparison is two sets of decisions by id.
type comparison struct {
	s          *snapshot.Snapshot
	base, head map[string]decision.Decision
}

func byID(ds []decision.Decision) map[string]decision.Decision {
	out := make(map[string]decision.Decision, len(ds))
	for _, d := range ds {
		out[d.ID] = d
	}
	return out
}

// ids are those that any of both decided, sorted.
func (c *comparison) ids() []string {
	out := make([]string, 0, len(c.head))
	for id := range c.head {
		out = append(out, id)
	}
	for id := range c.base {
		if _, both := c.head[id]; !both {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// reaps reports whether one of both reaps a candidate, by itself or with the worktree that it lies in.
func (c *comparison) reaps(by map[string]decision.Decision, id string) bool {
	return by[id].Verdict == decision.Reap || c.goesWithWorktree(by, id)
}

// goesWithWorktree reports whether a candidate was not decided because it goes with its worktree.
func (c *comparison) goesWithWorktree(by map[string]decision.Decision, id string) bool {
	in := c.s.Dirs[id].Content
	_, decided := by[id]
	return in != nil && !decided && by[in.ID].Verdict == decision.Reap
}

func (c *comparison) tally(out *Result) {
	for id, label := range c.s.Labels {
		t := &out.Dead
		if label == snapshot.Live {
			t = &out.Live
		}
		t.Labelled++
		b, h := c.reaps(c.base, id), c.reaps(c.head, id)
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

func side(d decision.Decision) Side {
	return Side{Verdict: cmp.Or(d.Verdict, decision.Spare), Level: d.Level, InScope: d.InScope}
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
	is := func(of ...string) func(Cause) bool {
		return func(c Cause) bool { return !slices.Contains(of, c.What) }
	}
	switch change {
	case NewReap:
		// Findings decide only where the base had none that counts. An objection of the base decides in any case.
		if counts(b) {
			return slices.DeleteFunc(all, is(Silent))
		}
		return slices.DeleteFunc(all, func(c Cause) bool {
			return c.What != Silent && (c.Head == nil || c.Head.Level != "" || c.What != Found && c.What != Raised)
		})
	case NewKeep:
		if counts(h) {
			return slices.DeleteFunc(all, is(Objects))
		}
		return slices.DeleteFunc(all, func(c Cause) bool {
			return c.What != Objects && (c.Base == nil || c.Base.Level != "" || c.What != NotFound && c.What != Lowered)
		})
	case Scope:
		what := Claims
		if b.InScope {
			what = Released
		}
		return append([]Cause{{What: what}}, all...)
	}
	return all
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
	var out []Cause
	add := func(rule, what string, base, head *decision.Reason) {
		out = append(out, Cause{Rule: rule, What: what, Base: base, Head: head})
	}
	base, head := first(b.Findings), first(h.Findings)
	for _, rule := range rules(base, head) {
		x, y := base[rule], head[rule]
		switch from, to := weight(x), weight(y); {
		case from == to:
		case from == 0:
			add(rule, Found, x, y)
		case to == 0:
			add(rule, NotFound, x, y)
		case to > from:
			add(rule, Raised, x, y)
		default:
			add(rule, Lowered, x, y)
		}
	}
	base, head = first(b.Objections), first(h.Objections)
	for _, rule := range rules(base, head) {
		switch x, y := base[rule], head[rule]; {
		case x == nil:
			add(rule, Objects, x, y)
		case y == nil:
			add(rule, Silent, x, y)
		}
	}
	slices.SortStableFunc(out, func(x, y Cause) int { return strings.Compare(x.Rule, y.Rule) })
	return out
}

// first leads from a rule to the first reason that it gave.
func first(rs []decision.Reason) map[string]*decision.Reason {
	out := make(map[string]*decision.Reason, len(rs))
	for i := range rs {
		if out[rs[i].Rule] == nil {
			out[rs[i].Rule] = &rs[i]
		}
	}
	return out
}

func rules(a, b map[string]*decision.Reason) []string {
	var out []string
	for rule := range a {
		out = append(out, rule)
	}
	for rule := range b {
		if a[rule] == nil {
			out = append(out, rule)
		}
	}
	slices.Sort(out)
	return out
}
