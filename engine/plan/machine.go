package plan

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/subject"
)

var errCancelled = errors.New("the evaluation was cancelled")

// slot is a path into the input.
type slot struct {
	parent int // root for a field of the input itself
	key    *ast.Term
	// f is the field of a Go value, nil where it is only found in a document.
	f *field
	// shared says that all candidates of a snapshot have the same there.
	shared bool
}

// slot finds the slot of a member of what another slot holds, or makes one.
func (p *Program) slot(parent int, key *ast.Term, name string) int {
	for i, s := range p.slots {
		if s.parent == parent && s.key.Equal(key) {
			return i
		}
	}
	s := slot{parent: parent, key: key}
	if parent == root {
		s.f = shape().field(name)
		s.shared = s.f != nil && s.f.shared
	} else {
		above := p.slots[parent]
		s.shared = above.shared
		if above.f != nil && above.f.of != nil {
			s.f = above.f.of.field(name)
		}
	}
	p.slots = append(p.slots, s)
	return len(p.slots) - 1
}

// frame is one call of a function: its locals, and the value that it returns.
type frame struct {
	l   []*ast.Term
	m   *Machine
	out *ast.Term
}

// Machine asks rules of one document after the other. It is for one goroutine.
type Machine struct {
	slots []slot
	// gen counts documents, snap is the first one of the snapshot.
	gen, snap uint64
	values    []known[*ast.Term] // by function
	memo      map[memoKey]*ast.Term
	terms     []known[*ast.Term]     // by slot
	fields    []known[reflect.Value] // by slot
	stack     []*ast.Term
	top       int
	frames    []*frame // those of calls that are under way, and of earlier ones
	depth     int
	err       error
	cancel    topdown.Cancel
	context   topdown.BuiltinContext
	// take takes the result of a built-in function.
	take   func(*ast.Term) error
	result *ast.Term

	// desk and subject are what is read from, or else document. all is the whole document, once somebody asked for it.
	desk     *Encoder
	subject  *subject.Subject
	value0   reflect.Value
	document *ast.Term
	all      *ast.Term
}

// known is a value with the number of the document, or snapshot, that it is of.
type known[T any] struct {
	at uint64
	is T
}

// stackSize is for how many locals a machine has room at first.
const stackSize = 4096

// Release takes a machine that is not used any more. The next one is it, with what it remembers of calls.
func (p *Program) Release(m *Machine) { p.idle.Put(m) }

// Machine is one for the rules that are prepared.
func (p *Program) Machine() *Machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.slots)
	if m, ok := p.idle.Get().(*Machine); ok && len(m.terms) == n && len(m.values) == len(p.funcs) {
		return m
	}
	m := &Machine{
		slots: p.slots[:n:n], terms: make([]known[*ast.Term], n), fields: make([]known[reflect.Value], n),
		values: make([]known[*ast.Term], len(p.funcs)), stack: make([]*ast.Term, stackSize),
		context: topdown.BuiltinContext{Context: context.Background(), Metrics: metrics.NoOp()},
	}
	m.take = func(t *ast.Term) error { m.result = t; return nil }
	return m
}

// Subject has the machine ask of this subject from now on, of which it reads what the rules ask for. Encoder is one for its snapshot.
func (m *Machine) Subject(sub *subject.Subject, desk *Encoder) {
	m.begin()
	m.document, m.subject, m.value0 = nil, sub, reflect.ValueOf(sub).Elem()
	if m.desk != desk {
		m.desk, m.snap = desk, m.gen
	}
}

// Document has the machine ask of this document from now on.
func (m *Machine) Document(v ast.Value) {
	m.begin()
	m.subject, m.desk, m.document = nil, nil, ast.NewTerm(v)
	m.snap = m.gen
}

func (m *Machine) begin() {
	m.gen++
	m.all, m.err, m.top, m.depth = nil, nil, 0, 0
}

// Ask gives the value of a rule; nil where it is undefined. It ends when it is cancelled.
func (m *Machine) Ask(cancel topdown.Cancel, r *Rule) (*ast.Term, error) {
	m.cancel, m.context.Cancel = cancel, cancel
	out, ok := m.value(r)
	if !ok {
		return nil, fmt.Errorf("run the plan: %w", m.err)
	}
	return out, nil
}

// value is that of a rule, asked once a document; false where there is no answer.
func (m *Machine) value(r *Rule) (*ast.Term, bool) {
	at := m.gen
	if r.common {
		at = m.snap
	}
	have := &m.values[r.n]
	if have.at == at {
		return have.is, true
	}
	ok := m.run(r, have, at)
	return have.is, ok
}

// run finds the value of a rule; false where there is no answer.
func (m *Machine) run(r *Rule, have *known[*ast.Term], at uint64) bool {
	if m.cancel.Cancelled() {
		m.err = errCancelled
		return false
	}
	f := m.push(r.locals)
	end := runAll(f, r.blocks)
	out := f.out
	m.pop(r.locals)
	if end == failed {
		return false
	}
	have.at, have.is = at, out
	return true
}

// push begins a call with n locals, all of them undefined; pop ends it, and after that the frame is another call's.
func (m *Machine) push(n int) *frame {
	if m.depth == len(m.frames) {
		m.frames = append(m.frames, &frame{m: m})
	}
	f := m.frames[m.depth]
	m.depth++
	from := m.top
	m.top += n
	if m.top > len(m.stack) { // those of the calls before keep what they have
		f.l = make([]*ast.Term, n)
	} else {
		f.l = m.stack[from:m.top:m.top]
		clear(f.l)
	}
	f.out = nil
	return f
}

func (m *Machine) pop(n int) {
	m.depth--
	m.top -= n
}

// stampOf is the number that a slot's value must have to be of now.
func (m *Machine) stampOf(s *slot) uint64 {
	if s.shared {
		return m.snap
	}
	return m.gen
}

// field is the Go value at a slot; not valid when it is missing.
func (m *Machine) field(id int) reflect.Value {
	s := &m.slots[id]
	have, at := &m.fields[id], m.stampOf(s)
	if have.at == at {
		return have.is
	}
	in := m.value0
	if s.parent != root {
		in = m.field(s.parent)
	}
	var out reflect.Value
	if in.IsValid() && in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	if in.IsValid() {
		if v := in.Field(s.f.index); !s.f.leftOut(v) {
			out = v
		}
	}
	have.at, have.is = at, out
	return out
}

// has reports whether there is something at a slot.
func (m *Machine) has(id int) bool {
	if m.document == nil && m.slots[id].f != nil {
		return m.field(id).IsValid()
	}
	return m.slot(id) != nil
}

// slot is the term at a slot; nil when it is missing.
func (m *Machine) slot(id int) *ast.Term {
	s := &m.slots[id]
	have, at := &m.terms[id], m.stampOf(s)
	if have.at == at {
		return have.is
	}
	out := m.find(id, s)
	have.at, have.is = at, out
	return out
}

func (m *Machine) find(id int, s *slot) *ast.Term {
	switch {
	case m.document != nil && s.parent == root:
		return dot(m.document, s.key)
	case m.document != nil || s.f == nil && s.parent != root:
		return dot(m.slot(s.parent), s.key)
	case s.f == nil:
		return nil
	}
	if s.parent == root && s.shared && m.desk.common != nil {
		return m.desk.common[s.f.index]
	}
	v := m.field(id)
	switch {
	case !v.IsValid():
		return nil
	case s.parent == root && v.Kind() == reflect.Map && m.desk.common != nil:
		return m.desk.source(v, s.f.write)
	default:
		return s.f.write(v, m.desk)
	}
}

// wholeDocument is the whole document.
func (m *Machine) wholeDocument() *ast.Term {
	switch {
	case m.document != nil:
		return m.document
	case m.all == nil:
		m.all = ast.NewTerm(m.desk.Document(m.subject))
	}
	return m.all
}
