package eval

import (
	"context"
	"hash/maphash"
	"reflect"
	"slices"
	"sync"

	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Memory decides snapshots of one world, one after the other, and keeps what the policies said: they are asked again only of candidates of which something changed that their answer rests
// on. What that is, is noted while they are asked: which facts they read, and of a number that they only compared, as an age with a wait, between which others it has to stay.
//
// What may be reaped is never kept: it is asked of each snapshot anew. So a mistake in here can only have a thing stay until it is asked again.
//
// It must not decide two snapshots at the same time.
type Memory struct {
	engine *Engine
	seed   maphash.Seed
	// decided is by candidate, guessed the same of Foregone.
	decided, guessed map[string]*kept
	all              bool
	sum              Recall
}

// kept is what was said of a candidate, and what that rests on.
type kept struct {
	reads  *plan.Reads
	digest uint64
	spans  []plan.Span
	said   *said
}

// Memory is one that keeps nothing yet.
func (e *Engine) Memory() *Memory { return &Memory{engine: e, seed: maphash.MakeSeed()} }

// Use has an engine asked from now on that has the same policies as the one before.
func (m *Memory) Use(e *Engine) { m.engine = e }

// Recall says how much of what was decided had been said before.
type Recall struct {
	// Asked are the candidates in scope that the policies were asked of, Kept those of which what they said before stands. A folder that the dear questions about it were weighed for counts
	// once more.
	Asked, Kept int
	// Otherwise are the candidates that would have been decided otherwise by what was kept, sorted, where all were asked.
	Otherwise []string
}

// Begin begins what Recall counts. Where all is true every candidate is asked of, and what was kept is only held against what is said now.
func (m *Memory) Begin(all bool) { m.all, m.sum = all, Recall{} }

// Recall counts since Begin.
func (m *Memory) Recall() Recall { return m.sum }

// Decide is Engine.Decide.
func (m *Memory) Decide(ctx context.Context, s *snapshot.Snapshot, c *subject.Config) (Result, error) {
	l := joined(s, m.engine.withExceptions(c))
	l.recall = m.recall(m.decided)
	res, err := m.engine.decide(ctx, l)
	if err == nil {
		m.decided = m.count(l.recall)
	}
	return res, err
}

// Foregone is Engine.Foregone.
func (m *Memory) Foregone(ctx context.Context, s *snapshot.Snapshot, c *subject.Config, keeps func(rule string) bool) (map[string]Foregone, error) {
	r := m.recall(m.guessed)
	out, err := m.engine.foregone(ctx, s, c, keeps, r)
	if err == nil {
		m.guessed = m.count(r)
	}
	return out, err
}

// count adds what a decision recalled, and gives what it keeps.
func (m *Memory) count(r *recall) map[string]*kept {
	m.sum.Asked, m.sum.Kept = m.sum.Asked+r.Asked, m.sum.Kept+r.Kept
	m.sum.Otherwise = append(m.sum.Otherwise, r.Otherwise...)
	slices.Sort(m.sum.Otherwise)
	m.sum.Otherwise = slices.Compact(m.sum.Otherwise)
	return r.next
}

func (m *Memory) recall(before map[string]*kept) *recall {
	return &recall{seed: m.seed, before: before, next: make(map[string]*kept, len(before)), all: m.all}
}

// recall is one decision of a memory. Many may ask it at once, each with a reader of its own.
type recall struct {
	Recall
	seed   maphash.Seed
	before map[string]*kept
	all    bool

	mu   sync.Mutex
	next map[string]*kept
}

func (r *recall) reader() *plan.Reader {
	if r == nil {
		return nil
	}
	return plan.NewReader(r.seed)
}

// of is what was said of a candidate before, where that stands; nil where the policies are to be asked.
func (r *recall) of(reader *plan.Reader, sub *subject.Subject) *said {
	if r == nil || r.all {
		return nil
	}
	k := r.before[sub.ID]
	if k == nil || !k.stands(reader, sub) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Kept++
	r.next[sub.ID] = k
	return k.said.again()
}

// stands reports whether the policies would say the same now. What they said may let it be reaped now where levels came since: no rule reads them.
func (k *kept) stands(reader *plan.Reader, sub *subject.Subject) bool {
	return !mayGo(k.said, len(sub.Config.Levels) > 0) && reader.Within(k.reads, k.spans, sub) && reader.Digest(k.reads, sub) == k.digest
}

// asked takes what was said of a candidate now, and what that rests on.
func (r *recall) asked(reader *plan.Reader, sub *subject.Subject, said *said, rests rests) {
	if r == nil {
		return
	}
	differs := false
	if k := r.before[sub.ID]; r.all && k != nil && k.stands(reader, sub) {
		differs = said == nil || !reflect.DeepEqual(k.said, said)
	}
	var k *kept
	if said != nil && rests.reads != nil && !mayGo(said, len(sub.Config.Levels) > 0) {
		k = &kept{rests.reads, reader.Digest(rests.reads, sub), rests.spans, said.again()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if said != nil {
		r.Asked++
	}
	if differs {
		r.Otherwise = append(r.Otherwise, sub.ID)
	}
	if k != nil {
		r.next[sub.ID] = k
	}
}

// mayGo reports whether a candidate may be reaped by what was said of it: where rules have levels an objection need not count.
func mayGo(s *said, leveled bool) bool {
	return len(s.findings) > 0 && (len(s.objections) == 0 || leveled)
}

// rests is what an answer rests on; the zero value where that is not known.
type rests struct {
	reads *plan.Reads
	spans []plan.Span
}

// again is the same in lists of its own: what decides adds to them.
func (s *said) again() *said {
	return &said{findings: slices.Clone(s.findings), objections: slices.Clone(s.objections), size: s.size}
}
