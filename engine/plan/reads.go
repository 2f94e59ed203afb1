package plan

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Field is a path into a subject, as far as its Go value has fields: what lies below a list or a map belongs to that.
type Field struct {
	name string
	// steps lead to it, from the subject itself.
	steps  []*field
	shared bool
}

// Reads says which fields of a subject an answer rests on. It is nobody's to change: many answers have the same.
type Reads struct {
	// Whole are those that have to be the same, There those of which it only counts whether there is something, and Within those whose number was
	// compared with others, and nothing else: it must stay on the same side of these.
	Whole, There, Within []*Field
}

// Span is between what a number of Reads.Within has to stay. Both ends lie outside.
type Span struct{ Over, Under float64 }

// all is the span of a number that was compared with nothing.
var all = Span{math.Inf(-1), math.Inf(1)}

// named are the fields that were asked for once.
var named sync.Map

// FieldOf is the field that a path of names leads to, or the list or map on the way to it; nil for a path that leads nowhere.
func FieldOf(path string) *Field {
	if f, known := named.Load(path); known {
		return f.(*Field)
	}
	f := &Field{}
	at := shape()
	for name := range strings.SplitSeq(path, ".") {
		if at == nil {
			break
		}
		step := at.field(name)
		if step == nil {
			return nil
		}
		f.steps, at = append(f.steps, step), step.of
	}
	names := make([]string, len(f.steps))
	for i, s := range f.steps {
		names[i] = s.name
	}
	f.name, f.shared = strings.Join(names, "."), f.steps[0].shared
	if f.name != path {
		return FieldOf(f.name)
	}
	is, _ := named.LoadOrStore(path, f)
	return is.(*Field)
}

// Name is the path of names that leads to it.
func (f *Field) Name() string { return f.name }

// tracker notes what a machine reads of one document.
type tracker struct {
	program *Program
	// whole, there and within are slots, a bit each. What is in whole counts for that alone.
	whole, there, within []uint64
	spans                []Span // by slot
	// numbers are what was read of slots that are in within alone so far.
	numbers []number
	// common is what the rules rest on that ask for nothing but what all documents of a snapshot have in common, once they were asked.
	common []*noted
	// lost is true where it cannot be said what was read.
	lost bool
}

// number is a term that was read of a slot, and only compared.
type number struct {
	term *ast.Term
	slot int
}

// Track has the machine note what it reads of each document from now on. It must not have been asked yet.
func (m *Machine) Track(p *Program) {
	words := (len(m.slots) + 63) / 64
	m.track = &tracker{
		program: p, whole: make([]uint64, words), there: make([]uint64, words), within: make([]uint64, words), spans: make([]Span, len(m.slots)),
		common: make([]*noted, len(m.values)),
	}
}

func (t *tracker) begin() {
	clear(t.whole)
	clear(t.there)
	clear(t.within)
	t.numbers, t.lost = t.numbers[:0], false
}

func set(bits []uint64, id int)     { bits[id/64] |= 1 << (id % 64) }
func is(bits []uint64, id int) bool { return bits[id/64]&(1<<(id%64)) != 0 }
func add(to []uint64, more []uint64) {
	for i, w := range more {
		to[i] |= w
	}
}

// eachOf calls do for every slot in bits.
func eachOf(in []uint64, do func(id int)) {
	for i, w := range in {
		for ; w != 0; w &= w - 1 {
			do(i*64 + bits.TrailingZeros64(w))
		}
	}
}

// read gives the term at a slot to a rule. A number that may only be compared is a term of its own then, so that it is told from others of the same value.
func (m *Machine) read(id int) *ast.Term {
	out := m.slot(id)
	t, s := m.track, &m.slots[id]
	if t == nil || is(t.whole, id) {
		return out
	}
	if _, ok := numberIn(out); !ok || s.f == nil || s.fixed {
		set(t.whole, id)
		return out
	}
	t.narrow(id, all)
	if t.slotOf(out) != id {
		out = &ast.Term{Value: out.Value}
		m.terms[id].is = out
		t.numbers = append(t.numbers, number{out, id})
	}
	return out
}

// there tells a rule whether there is something at a slot.
func (m *Machine) there(id int) bool {
	if m.track != nil {
		set(m.track.there, id)
	}
	return m.has(id)
}

func numberIn(t *ast.Term) (n ast.Number, ok bool) {
	if t != nil {
		n, ok = t.Value.(ast.Number)
	}
	return n, ok
}

// narrow notes that the number of a slot has to stay within a span, beside what was noted before.
func (t *tracker) narrow(id int, s Span) {
	if !is(t.within, id) {
		set(t.within, id)
		t.spans[id] = all
	}
	have := &t.spans[id]
	have.Over, have.Under = max(have.Over, s.Over), min(have.Under, s.Under)
}

// slotOf is the slot of a number that was only compared so far, -1 for any other term.
func (t *tracker) slotOf(x *ast.Term) int {
	for _, n := range t.numbers {
		if n.term == x {
			return n.slot
		}
	}
	return -1
}

// used notes that a rule does more with a term than to compare it.
func (t *tracker) used(x *ast.Term) {
	if id := t.slotOf(x); id >= 0 {
		set(t.whole, id)
	}
}

// use is used, where anything is noted.
func (m *Machine) use(x *ast.Term) *ast.Term {
	if m.track != nil && len(m.track.numbers) > 0 {
		m.track.used(x)
	}
	return x
}

// compared notes that the order of two terms was asked for, and what it was.
func (m *Machine) compared(x, y *ast.Term, order int) {
	t := m.track
	if t == nil || len(t.numbers) == 0 {
		return
	}
	switch a, b := t.slotOf(x), t.slotOf(y); {
	case a >= 0 && b >= 0:
		set(t.whole, a)
		set(t.whole, b)
	case a >= 0:
		t.bound(a, y, order)
	case b >= 0:
		t.bound(b, x, -order)
	}
}

// bound notes that the number of a slot stands in that order to another one.
func (t *tracker) bound(id int, to *ast.Term, order int) {
	text, ok := numberIn(to)
	if !ok { // any number stands so to it
		return
	}
	n, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil || order == 0:
		set(t.whole, id)
	case order < 0:
		t.narrow(id, Span{all.Over, n})
	default:
		t.narrow(id, Span{n, all.Under})
	}
}

// noted is what one rule rests on.
type noted struct {
	whole, there, within []uint64
	spans                []Span // of within, in its order
}

// commonly asks a rule that rests on nothing but what all documents of a snapshot have in common, and notes on what.
func (t *tracker) commonly(r *Rule, ask func() bool) bool {
	before := t.noted()
	clear(t.whole)
	clear(t.there)
	clear(t.within)
	ok := ask()
	t.common[r.n] = t.noted()
	t.add(before)
	return ok
}

// again notes what a rule rests on that commonly asked for an earlier document.
func (t *tracker) again(r *Rule) {
	if t.common[r.n] == nil {
		t.lost = true
		return
	}
	t.add(t.common[r.n])
}

func (t *tracker) noted() *noted {
	n := &noted{whole: slices.Clone(t.whole), there: slices.Clone(t.there), within: slices.Clone(t.within)}
	eachOf(n.within, func(id int) { n.spans = append(n.spans, t.spans[id]) })
	return n
}

func (t *tracker) add(n *noted) {
	add(t.whole, n.whole)
	add(t.there, n.there)
	i := 0
	eachOf(n.within, func(id int) {
		t.narrow(id, n.spans[i])
		i++
	})
}

// Reads says what the answers to all that was asked of this document rest on, and within which spans the numbers of Reads.Within have to stay. ok is false where
// that cannot be said.
func (m *Machine) Reads() (r *Reads, spans []Span, ok bool) {
	t := m.track
	if t == nil || t.lost {
		return nil, nil, false
	}
	for i := range t.whole {
		t.within[i] &^= t.whole[i]
		t.there[i] &^= t.whole[i] | t.within[i]
	}
	r = t.program.reads(m.slots, t)
	if r == nil {
		return nil, nil, false
	}
	if len(r.Within) > 0 {
		spans = make([]Span, 0, len(r.Within))
		eachOf(t.within, func(id int) { spans = append(spans, t.spans[id]) })
	}
	return r, spans, true
}

// maxReads is how many different Reads a program keeps. Rules have some hundred.
const maxReads = 4096

// reads is what a tracker noted, the same value for the same slots; nil where there are too many.
func (p *Program) reads(slots []slot, t *tracker) *Reads {
	key := make([]byte, 0, 24*len(t.whole))
	for _, bits := range [][]uint64{t.whole, t.there, t.within} {
		for _, w := range bits {
			for range 8 {
				key, w = append(key, byte(w)), w>>8
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.kept[string(key)]; r != nil || len(p.kept) >= maxReads {
		return r
	}
	r := &Reads{}
	eachOf(t.whole, func(id int) { r.Whole = with(r.Whole, fieldAt(slots, id)) })
	eachOf(t.there, func(id int) {
		if f := fieldAt(slots, id); f == nil || slots[id].f != nil {
			r.There = with(r.There, f)
		} else {
			r.Whole = with(r.Whole, f) // whether a map has something is for the map to say
		}
	})
	eachOf(t.within, func(id int) { r.Within = append(r.Within, fieldAt(slots, id)) }) // each has a span of its own
	if p.kept == nil {
		p.kept = map[string]*Reads{}
	}
	p.kept[string(key)] = r
	return r
}

func with(fs []*Field, f *Field) []*Field {
	if f == nil || slices.Contains(fs, f) {
		return fs
	}
	return append(fs, f)
}

// fieldAt is the field of a slot, or the list or map that it lies in; nil where no subject has anything there.
func fieldAt(slots []slot, id int) *Field {
	for id != root && slots[id].f == nil {
		id = slots[id].parent
	}
	var names []string
	for ; id != root; id = slots[id].parent {
		names = append(names, slots[id].f.name)
	}
	if len(names) == 0 {
		return nil
	}
	slices.Reverse(names)
	return FieldOf(strings.Join(names, "."))
}
