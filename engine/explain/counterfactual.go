package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
)

// Answer is what was decided of a document.
type Answer struct {
	Verdict string
	// Found is whether a finding counts. Findings are the rules that found something, Objections those that objected and count, a rule once
	// for each time.
	Found                bool
	Findings, Objections []string
}

// Decider decides documents again, for the search: Decide at the price of a decision, Trace at that of some.
type Decider interface {
	Decide(ctx context.Context, in ast.Value) (Answer, error)
	Trace(ctx context.Context, in ast.Value) (*Trace, error)
}

// The bounds of a search: how many changes a way may have, how many states are followed at each step, how many steps may bring a rule further
// until a blocker is gone, how many more changes are tried at first after one that removes it, for one that removes others too, and how many
// ways to keep what goes are named. maxFiner is how many finer facts are tried in place of one that would be empty or gone.
const (
	maxChanges = 8
	beam       = 4
	maxWays    = 3
	maxFiner   = 80
	maxSteps   = 3
	maxMore    = 12
)

// Search looks for what would have to be otherwise. It ends after so many decisions, or with ctx: then the answer says so, and holds
// what was found until then. The ways in first are tried before all others: those of a candidate that stays for the same reasons.
func Search(ctx context.Context, p *policy.Policy, kind string, in ast.Value, d Decider, decisions int, first []decision.Way) (decision.Counterfactual, error) {
	s := &search{ctx: ctx, policy: p, kind: kind, decider: d, left: decisions, seen: map[string]Answer{}, pooled: map[string]bool{}}
	out := decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{}}
	var ways [][]change
	if s.decide(state{in: in}).Verdict == decision.Reap {
		out.Verdict = decision.Spare
		ways = s.keepers(in)
	} else if way := s.reuse(in, first); way != nil {
		ways = [][]change{way}
	} else if way := s.reaper(in, maxMore); way != nil {
		ways = [][]change{way}
	} else if way := s.reaper(in, -1); way != nil { // the first change that removes a blocker may be in the way of the next one
		ways = [][]change{way}
	}
	for _, w := range ways {
		out.Ways = append(out.Ways, describe(in, s.bounded(in, w, out.Verdict)))
	}
	out.Decided = decisions - s.left
	if len(out.Ways) == 0 {
		out.Limit = s.limit(out.Verdict)
	}
	return out, s.failed
}

// limit says why there is no way.
func (s *search) limit(verdict string) string {
	switch {
	case s.stopped:
		return "what would change this was not found: the search was cut short"
	case verdict == decision.Spare:
		return "no fact that was tried would keep it"
	case slices.Equal(s.stuck, []string{noFinding}):
		return "no single fact would change this. --rules shows how near each rule came"
	case len(s.stuck) > 0:
		return "it would not get past " + strings.Join(s.stuck, ", ") + ". --rules shows how near each rule came"
	}
	return fmt.Sprintf("more than %d facts would have to be otherwise", maxChanges)
}

// search is one looking for ways.
type search struct {
	ctx     context.Context
	policy  *policy.Policy
	kind    string
	decider Decider
	left    int
	stopped bool
	failed  error
	// more is how many more changes are tried after one that removes a blocker; -1 is all.
	more int
	// stuck are the blockers that nothing got past.
	stuck []string
	seen  map[string]Answer
	// pool has every change that was thought of, once: where a whole list would be gone, one of them may do.
	pool   []change
	pooled map[string]bool
}

// change is a fact with the value that it would have; nil takes it away. bound is as in a decision.Change.
type change struct {
	path  ast.Ref
	to    ast.Value
	bound string
}

func (c change) key() string {
	if c.to == nil {
		return c.path.String()
	}
	return c.path.String() + "=" + c.to.String()
}

// shifts reports whether a change takes a member out of a list that another one is in too: the other's number would then be of another member.
func (c change) shifts(other change) bool {
	last := len(c.path) - 1
	_, member := c.path[last].Value.(ast.Number)
	return c.to == nil && member && other.path.HasPrefix(c.path[:last])
}

// state is a document with the changes that led to it.
type state struct {
	in      ast.Value
	changes []change
}

func (s state) apply(c change) (state, bool) {
	if c.path[len(c.path)-1].Equal(ast.StringTerm("lost")) {
		return state{}, false // that git forgets a worktree is no way for it to go
	}
	for _, had := range s.changes { // one value for a fact, and no fact inside of another one that was changed
		if had.path.HasPrefix(c.path) || c.path.HasPrefix(had.path) || had.shifts(c) || c.shifts(had) {
			return state{}, false
		}
	}
	in, ok := changed(s.in, c.path[1:], c.to)
	return state{in, append(slices.Clone(s.changes), c)}, ok
}

func (s state) key() string {
	keys := make([]string, len(s.changes))
	for i, c := range s.changes {
		keys[i] = c.key()
	}
	slices.Sort(keys)
	return strings.Join(keys, "\n")
}

// decide decides a state, once. Out of decisions it says that nothing is known of it: an answer without a verdict.
func (s *search) decide(at state) Answer {
	key := at.key()
	if a, ok := s.seen[key]; ok {
		return a
	}
	a, ok := ask(s, s.decider.Decide, at.in)
	if !ok {
		return Answer{}
	}
	s.seen[key] = a
	return a
}

// ask asks the decider, at the price of a decision; false where there is no time left for it, and where it ends the search: by what went wrong, or by
// its time.
func ask[T any](s *search, decider func(context.Context, ast.Value) (T, error), in ast.Value) (out T, ok bool) {
	if s.left <= 0 || s.ctx.Err() != nil || s.failed != nil {
		s.stopped = true
		return out, false
	}
	s.left--
	out, err := decider(s.ctx, in)
	if err == nil {
		return out, true
	}
	s.stopped = true
	if s.ctx.Err() == nil {
		s.failed = err
	}
	return out, false
}

// score is how far a state is from reaping: how many objections count, and one for a finding that is missing; a thousand where nothing is
// known.
func score(a Answer) int {
	if a.Verdict == "" {
		return 1000
	}
	n := len(a.Objections)
	if !a.Found {
		n++
	}
	return n
}

// reaper is a way for what stays to go: blocker after blocker, each by as few changes as are found, and then without what turns out not to
// be needed.
func (s *search) reaper(in ast.Value, more int) []change {
	s.more = more
	at := state{in: in}
	for len(at.changes) < maxChanges {
		now := s.decide(at)
		if now.Verdict == decision.Reap {
			return s.finest(in, s.least(in, at.changes, decision.Reap))
		}
		var ok bool
		if at, ok = s.past(at, now); !ok {
			return nil
		}
	}
	return nil
}

// past is a state with fewer blockers: without the first one that can be passed.
func (s *search) past(at state, now Answer) (state, bool) {
	blockers := slices.Compact(slices.Clone(now.Objections))
	if !now.Found {
		blockers = []string{noFinding}
	}
	for _, b := range blockers {
		if next, ok := s.nearer(at, now, b); ok || s.finished() {
			return next, ok
		}
	}
	s.stuck = blockers
	return state{}, false
}

func (s *search) finished() bool { return s.stopped || s.failed != nil }

// nearer is a state in which a blocker is gone. Where no single change does it, the changes that bring a rule further are followed for
// some steps.
func (s *search) nearer(from state, now Answer, blocker string) (state, bool) {
	type candidate struct {
		state
		further int
	}
	front := []state{from}
	for range min(maxSteps, maxChanges-len(from.changes)) {
		var next []candidate
		for _, at := range front {
			x, ok := s.trace(at)
			if !ok {
				return state{}, false
			}
			best, least := state{}, score(now)
			var tried []state
			enough := s.more
			for _, c := range x.changes(s.kind, blocker, now.Findings) {
				s.keep(c)
				to, ok := at.apply(c)
				if !ok || enough == 0 {
					continue
				}
				if best.in != nil {
					enough--
				}
				answer := s.decide(to)
				if s.finished() {
					return state{}, false
				}
				switch n := score(answer); {
				case now.Found && !answer.Found: // it takes the reason away as well
				case n < least:
					best, least = to, n
				case n == score(now):
					tried = append(tried, to)
				}
			}
			if best.in != nil {
				return best, true
			}
			base := x.reached(s.kind, blocker)
			for _, to := range tried {
				then, ok := s.trace(to)
				if !ok {
					return state{}, false
				}
				if further := then.reached(s.kind, blocker) - base; further > 0 {
					next = append(next, candidate{to, further})
				}
			}
		}
		slices.SortStableFunc(next, func(a, b candidate) int { return cmp.Compare(b.further, a.further) })
		front = nil
		for _, c := range next[:min(beam, len(next))] {
			front = append(front, c.state)
		}
	}
	return state{}, false
}

// trace traces a state; false where there is no time left for it.
func (s *search) trace(at state) (explainer, bool) {
	t, ok := ask(s, s.decider.Trace, at.in)
	return explainer{s.policy, t, at.in}, ok
}

// keep adds a change to the pool.
func (s *search) keep(c change) {
	if key := c.key(); !s.pooled[key] {
		s.pooled[key] = true
		s.pool = append(s.pool, c)
	}
}

// verdict decides a document with changes; empty where it cannot have them, and where there is no time left.
func (s *search) verdict(in ast.Value, cs []change) (string, state) {
	at := state{in: in}
	for _, c := range cs {
		var ok bool
		if at, ok = at.apply(c); !ok {
			return "", at
		}
	}
	return s.decide(at).Verdict, at
}

// reuse tries ways that were found for another candidate.
func (s *search) reuse(in ast.Value, ways []decision.Way) []change {
	for _, w := range ways {
		var cs []change
		for _, c := range w {
			path, err := ast.ParseRef(c.Fact)
			if err != nil || len(path) < 2 {
				return nil
			}
			one := change{path: path}
			if !c.Gone {
				if one.to, err = ast.InterfaceToValue(c.To); err != nil {
					return nil
				}
				one.to = s.ownValue(in, path, one.to)
			}
			cs = append(cs, one)
		}
		if verdict, at := s.verdict(in, cs); verdict == decision.Reap && len(cs) > 0 {
			return s.least(in, at.changes, decision.Reap)
		}
	}
	return nil
}

// ownValue is the value of another candidate's way for this one: an earlier look has to have been at this very thing.
func (s *search) ownValue(in ast.Value, path ast.Ref, v ast.Value) ast.Value {
	o, object := v.(ast.Object)
	identity, err := in.Find(ast.Ref{ast.StringTerm("identity")})
	if !object || err != nil || !path.Equal(sightingRef) {
		return v
	}
	out := ast.NewObject()
	o.Foreach(func(k, t *ast.Term) { out.Insert(k, t) })
	out.Insert(ast.StringTerm("identity"), ast.NewTerm(identity))
	return out
}

// least is the smallest part of a set of changes that still gives the verdict, by trying every part of it, the smallest first; nil where
// that did not come to an end.
func (s *search) least(in ast.Value, all []change, verdict string) []change {
	for size := 1; size < len(all); size++ {
		for _, part := range parts(len(all), size) {
			some := make([]change, size)
			for i, n := range part {
				some[i] = all[n]
			}
			got, _ := s.verdict(in, some)
			if s.finished() {
				return nil
			}
			if got == verdict {
				return some
			}
		}
	}
	return all
}

// finest puts one fact in the place of a list or an object that would be empty or gone, where that is enough: "spawns[0].completed" says
// more than "no spawns". What comes out is the smallest again.
func (s *search) finest(in ast.Value, all []change) []change {
	out := slices.Clone(all)
	for i, c := range all {
		was, err := in.Find(c.path[1:])
		if err != nil || !coarse(c, was) {
			continue
		}
		tried := 0
		for _, finer := range s.pool {
			if len(finer.path) <= len(c.path) || !finer.path.HasPrefix(c.path) || !telling(finer, was, len(c.path)) {
				continue
			}
			if tried++; tried > maxFiner {
				break
			}
			with := slices.Clone(out)
			with[i] = finer
			got, _ := s.verdict(in, with)
			if s.finished() {
				return all
			}
			if got == decision.Reap {
				out = with
				break
			}
		}
	}
	if least := s.least(in, out, decision.Reap); least != nil {
		return least
	}
	return all
}

// coarse reports whether a change takes away all of something with parts.
func coarse(c change, was ast.Value) bool {
	switch was.(type) {
	case *ast.Array, ast.Object:
		list, ok := c.to.(*ast.Array)
		return c.to == nil || ok && list.Len() == 0
	}
	return false
}

// telling reports whether a change inside of something says more than that the whole of it is gone: a number, a yes or no, or one of
// several members that is gone.
func telling(c change, whole ast.Value, at int) bool {
	switch c.to.(type) {
	case ast.Number, ast.Boolean:
		return true
	case nil:
		list, ok := whole.(*ast.Array)
		return ok && list.Len() > 1 && len(c.path) == at+1
	}
	return false
}

// bounded says of each number whether one that is further off gives the same verdict: twice as much, or 0.
func (s *search) bounded(in ast.Value, way []change, verdict string) []change {
	out := slices.Clone(way)
	for i, c := range way {
		n, ok := c.to.(ast.Number)
		to, whole := n.Int()
		if !ok || !whole || to == 0 {
			continue
		}
		further, word := ast.IntNumberTerm(2*to).Value, "at least"
		if was, err := in.Find(c.path[1:]); err == nil && was.Compare(n) > 0 {
			further, word = ast.IntNumberTerm(0).Value, "at most"
		}
		with := slices.Clone(way)
		with[i].to = further
		if got, _ := s.verdict(in, with); got == verdict {
			out[i].bound = word
		}
	}
	return out
}

// parts are all choices of so many out of n, each in order.
func parts(n, size int) (out [][]int) {
	var choose func(from int, chosen []int)
	choose = func(from int, chosen []int) {
		if len(chosen) == size {
			out = append(out, slices.Clone(chosen))
			return
		}
		for i := from; i < n; i++ {
			choose(i+1, append(chosen, i))
		}
	}
	choose(0, nil)
	return out
}

// keepers are the single facts that would each keep what goes: one that its finding rests on, and those that objections ask for, one for a
// rule. What would have to be unknown, and what is of the machine and not of the candidate, comes last.
func (s *search) keepers(in ast.Value) [][]change {
	x, ok := s.trace(state{in: in})
	if !ok {
		return nil
	}
	var out [][]change
	by := map[string]bool{}
	all := x.objectors(s.kind)
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.remote(in), b.remote(in)) })
	for _, c := range all {
		at, ok := state{in: in}.apply(c)
		if !ok {
			continue
		}
		answer := s.decide(at)
		if s.finished() {
			break
		}
		rules := strings.Join(answer.Objections, " ")
		if answer.Verdict == decision.Reap || by[rules] || by[c.path.String()] {
			continue
		}
		by[rules], by[c.path.String()] = true, true
		if out = append(out, []change{c}); len(out) == maxWays {
			break
		}
	}
	return out
}

// remote ranks changes by how little they say of the candidate itself.
func (c change) remote(in ast.Value) int {
	_, unknown := in.Find(c.path[1:])
	switch {
	case c.path.HasPrefix(hostRef):
		return 3
	case c.to == nil, unknown != nil:
		return 2
	case c.path[len(c.path)-1].Equal(ast.StringTerm("uid")):
		return 1
	}
	if _, word := c.to.(ast.String); word {
		return 1
	}
	return 0
}

var (
	hostRef     = ast.MustParseRef("input.host")
	sightingRef = ast.MustParseRef("input.sighting")
)

// changed is a document with another value at a path, or without what is there when to is nil. False says that there is nothing to change.
func changed(in ast.Value, path ast.Ref, to ast.Value) (ast.Value, bool) {
	if len(path) == 0 {
		return to, to != nil
	}
	switch v := in.(type) {
	case ast.Object:
		had := v.Get(path[0])
		var inner ast.Value
		switch {
		case had == nil && to == nil:
			return nil, false
		case had == nil && len(path) > 1: // what it is part of is not there
			inner = ast.NewObject()
		case had != nil:
			inner = had.Value
		}
		var now ast.Value
		if len(path) > 1 || to != nil {
			var ok bool
			if now, ok = changed(inner, path[1:], to); !ok {
				return nil, false
			}
		}
		out := ast.NewObject()
		v.Foreach(func(k, t *ast.Term) {
			if !k.Equal(path[0]) {
				out.Insert(k, t)
			}
		})
		if now != nil {
			out.Insert(path[0], ast.NewTerm(now))
		}
		return out, true
	case *ast.Array:
		n, ok := path[0].Value.(ast.Number)
		i, whole := n.Int()
		if !ok || !whole || i < 0 || i >= v.Len() {
			return nil, false
		}
		var terms []*ast.Term
		v.Foreach(func(t *ast.Term) { terms = append(terms, t) })
		if len(path) == 1 && to == nil {
			return ast.NewArray(slices.Delete(terms, i, i+1)...), true
		}
		now, ok := changed(terms[i].Value, path[1:], to)
		if !ok {
			return nil, false
		}
		terms[i] = ast.NewTerm(now)
		return ast.NewArray(terms...), true
	}
	return nil, false
}

// describe is a way in the words of a report.
func describe(in ast.Value, cs []change) decision.Way {
	out := decision.Way{}
	for _, c := range cs {
		w := decision.Change{Fact: written(c.path), Gone: c.to == nil, Bound: c.bound, Source: sourceOf(in, c.path)}
		w.From, w.Unknown = shownFact(in, c.path)
		if c.to != nil {
			w.To = plainValue(c.to) // in full: a way can be tried with what it says
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b decision.Change) int { return cmp.Compare(a.Fact, b.Fact) })
	return out
}

// shownFact is what stands at a path as it is shown, one of more bytes than maxFact as a word; unknown where nothing stands there.
func shownFact(in ast.Value, path ast.Ref) (value any, unknown bool) {
	v, err := in.Find(path[1:])
	switch {
	case err != nil:
		return nil, true
	case !policy.Room(maxFact).Fits(v):
		return tooLong, false
	}
	return plainValue(v), false
}

func plainValue(v ast.Value) any {
	plain, err := ast.JSON(v)
	if err != nil {
		return tooLong
	}
	return plain
}
