package eval

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Pair decides snapshots by two engines, each with its configuration and the exceptions of its policies. Where these are equal a snapshot is joined and written once, and
// the rules that both engines have in common are evaluated once: the first one is asked for all of its rules, the second for those alone
// that are not the same in the first. Where that does not settle a candidate (an error, a limit, a candidate that only the second claims) the
// second is asked for all of its rules too. So each decides as it does alone. The one difference is a limit that an evaluation of all
// rules passes, and one of some of them does not.
type Pair struct {
	engines [2]*Engine
	configs [2]*subject.Config
	// first is asked for all of its rules.
	first int
	// joins says that the configurations are equal; common is by kind, nil where nothing is shared.
	joins  bool
	common map[string]share
	// keep says that the second engine is asked of most candidates too.
	keep bool
}

// NewPair finds out what two engines have in common. It owns neither; both must stay open while it is used.
func NewPair(ctx context.Context, engines [2]*Engine, configs [2]*subject.Config) *Pair {
	for i, e := range engines {
		configs[i] = e.withExceptions(configs[i])
	}
	p := &Pair{engines: engines, configs: configs, joins: reflect.DeepEqual(configs[0], configs[1])}
	if !p.joins {
		return p
	}
	if engines[0].apart != nil && engines[1].apart == nil { // the one in this process is asked with less work
		p.first = 1
	}
	// What cannot be found out is not shared, and whatever is wrong there shows when the engines are asked.
	if prints, err := engines[p.first].printed(ctx); err == nil {
		p.common, _ = engines[1-p.first].beside(ctx, prints)
	}
	p.keep = p.common == nil
	for _, sh := range p.common {
		p.keep = p.keep || sh.Ask || !sh.Scope
	}
	return p
}

// Decide decides one snapshot by both engines, as Engine.Decide does; the results have the order of the engines. It may be called by many at once.
func (p *Pair) Decide(ctx context.Context, s *snapshot.Snapshot) (out [2]Result, err error) {
	first, second := p.first, 1-p.first
	l := newLook(s, p.configs[first], p.keep)
	as, err := p.engines[first].answers(ctx, l, p.engines[first].ids(l), false)
	if err != nil {
		return out, err
	}
	other := l
	if !p.joins {
		other = newLook(s, p.configs[second], false)
	}
	var bs []answer
	if p.common == nil {
		bs, err = p.engines[second].answers(ctx, other, p.engines[second].ids(other), false)
	} else {
		bs, err = p.derive(ctx, other, as)
	}
	if err != nil {
		return out, err
	}
	// Not before both have their answers: a result adds to them what the policies of repositories object.
	if out[first], err = p.engines[first].result(ctx, l, as); err != nil {
		return out, err
	}
	out[second], err = p.engines[second].result(ctx, other, bs)
	return out, err
}

// derive makes the answers of the second engine of those of the first.
func (p *Pair) derive(ctx context.Context, l *look, first []answer) ([]answer, error) {
	e := p.engines[1-p.first]
	by := make(map[string]*answer, len(first))
	for i := range first {
		by[first[i].id] = &first[i]
	}
	ids := e.ids(l)
	out := make([]answer, len(ids))
	var some, all []int // which of ids are asked for the rest of the rules, and for all of them
	for i, id := range ids {
		a := by[id]
		switch {
		case a == nil || a.err != nil:
			all = append(all, i)
		case a.said == nil && p.of(a).Scope:
			out[i] = a.again()
		case p.of(a).Scope && !p.of(a).Ask:
			out[i] = p.merge(l, a, nil)
		default:
			some = append(some, i)
		}
	}
	rest, err := e.answers(ctx, l, at(ids, some), true)
	if err != nil {
		return nil, err
	}
	for k, i := range some {
		switch a, r := by[ids[i]], &rest[k]; {
		case r.err == nil && r.said == nil && !p.of(a).Scope:
			out[i] = decide(l.joined, a.sub, nil, nil)
		case r.err != nil || r.said == nil || a.said == nil || !a.said.room(r.said):
			all = append(all, i)
		default:
			out[i] = p.merge(l, a, r.said)
		}
	}
	whole, err := e.answers(ctx, l, at(ids, all), false)
	for k, i := range all {
		if err == nil {
			out[i] = whole[k]
		}
	}
	return out, err
}

func (p *Pair) of(a *answer) share { return p.common[a.kind] }

func at(ids []string, which []int) []string {
	out := make([]string, len(which))
	for k, i := range which {
		out[k] = ids[i]
	}
	return out
}

// merge is the answer of the second engine: what the first said by rules that both have, and the rest that the second said. Nothing
// in it belongs to two rules, so that it is sorted as one answer is.
func (p *Pair) merge(l *look, a *answer, rest *said) answer {
	shared := p.of(a).Rules
	kept := func(rs []decision.Reason) []decision.Reason {
		return slices.DeleteFunc(slices.Clone(rs), func(r decision.Reason) bool { return !shared[r.Rule] })
	}
	s := said{findings: kept(a.said.findings), objections: kept(a.said.objections)}
	if rest != nil {
		s.findings, s.objections = sorted(append(s.findings, rest.findings...)), sorted(append(s.objections, rest.objections...))
	} else if len(s.findings) == len(a.said.findings) && len(s.objections) == len(a.said.objections) {
		return a.again()
	}
	return decide(l.joined, a.sub, &s, nil)
}

func sorted(rs []decision.Reason) []decision.Reason {
	slices.SortStableFunc(rs, func(a, b decision.Reason) int { return cmp.Compare(a.Rule, b.Rule) })
	return rs
}

// room reports whether all that two answers hold is surely no more than one may hold.
func (s *said) room(more *said) bool {
	return s.size+more.size <= policy.MaxSaid && len(s.findings)+len(more.findings) <= policy.MaxReasons &&
		len(s.objections)+len(more.objections) <= policy.MaxReasons
}

// share is what two engines have in common for a kind.
type share struct {
	// Rules are those of the second engine that say the same in the first.
	Rules map[string]bool `json:"rules"`
	// Scope: both have the same candidates in scope. Ask: the second has rules that say something else.
	Scope bool `json:"scope"`
	Ask   bool `json:"ask"`
}

// printed are the prints of an engine's rules.
func (e *Engine) printed(ctx context.Context) (prints, error) {
	if e.apart == nil {
		if err := e.policy.Build(); err != nil {
			return nil, err
		}
		return printsOf(e.policy), nil
	}
	last, err := e.apart.setUp(ctx, question{Print: true})
	return last.Prints, err
}

// beside prepares an engine to be asked for those rules alone that do not have the prints of the first one, and says what both have in common.
func (e *Engine) beside(ctx context.Context, first prints) (map[string]share, error) {
	if e.apart != nil {
		last, err := e.apart.setUp(ctx, question{Beside: first})
		if err == nil {
			e.apart.besides = first
		}
		return last.Common, err
	}
	if err := e.policy.Build(); err != nil {
		return nil, err
	}
	mine, out := printsOf(e.policy), map[string]share{}
	for kind, rules := range mine {
		sh := share{Rules: map[string]bool{}, Scope: true}
		for id, print := range rules {
			sh.Rules[id] = first[kind][id] == print
		}
		for _, r := range e.policy.Reap(kind) {
			sh.Scope = sh.Scope && sh.Rules[r.ID]
		}
		sh.Scope = sh.Scope && len(e.policy.Reap(kind)) == first.reaps(kind)
		out[kind] = sh
	}
	e.rest = map[string]*query{}
	for kind, sh := range out {
		e.rest[kind] = e.query(kind, func(_, rule string) bool { return !sh.Rules[rule] })
		sh.Ask = e.rest[kind].asks
		out[kind] = sh
	}
	return out, nil
}
