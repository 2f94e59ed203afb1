package eval

import (
	"reflect"

	"github.com/open-policy-agent/opa/v1/ast"

	"winnow/engine/subject"
)

// plan says how the fields of each type become a document. It is made once and read-only: keys are terms that all documents
// share, and what encoding/json would find out by reflection for every value is found out here once.
type plan struct {
	subject *object
}

// object is the plan of a struct.
type object struct{ fields []field }

type field struct {
	name  string
	key   *ast.Term
	index int
	// omit says which values are left out; nil leaves none out.
	omit  func(reflect.Value) bool
	write encode
}

func (f *field) leftOut(v reflect.Value) bool { return f.omit != nil && f.omit(v) }

// desk is where one goroutine writes documents: the terms that many of them have in common, and room for those that they do
// not. The terms themselves may be read by many.
type desk struct {
	// common are the terms that all subjects of a snapshot have in common, by the field's place.
	common []*ast.Term
	// sources are those of the evidence sources, by the address of the map: the join gives candidates of one kind and source
	// the same map.
	sources map[uintptr]*ast.Term
	// terms is room for terms, made for many at once; pairs are the fields of an object on their way into it.
	terms []ast.Term
	pairs [][2]*ast.Term
}

// room is for how many terms a desk makes room at once: about one document.
const room = 64

func newPlan() *plan {
	return &plan{subject: structPlan(reflect.TypeFor[subject.Subject](), map[reflect.Type]*object{})}
}

// desk is a place to write the subjects of a joined snapshot at; nil for single ones, which have nothing in common.
func (p *plan) desk(j *subject.Joined) *desk {
	d := &desk{sources: map[uintptr]*ast.Term{}}
	if j == nil {
		return d
	}
	common := make([]*ast.Term, len(p.subject.fields))
	of := reflect.ValueOf(j.Common()).Elem()
	for i, f := range p.subject.fields {
		switch f.name {
		case "schema", "now", "host", "config", "records_read":
			if value := of.Field(f.index); !f.leftOut(value) {
				common[i] = f.write(value, d)
			}
		}
	}
	d.common = common
	return d
}

// beside is another desk for the same snapshot.
func (d *desk) beside() *desk { return &desk{common: d.common, sources: map[uintptr]*ast.Term{}} }

// input is the document of a subject: the same as that of its JSON.
func (p *plan) input(sub *subject.Subject, d *desk) ast.Value {
	v := reflect.ValueOf(sub).Elem()
	from := len(d.pairs)
	for i := range p.subject.fields {
		f := &p.subject.fields[i]
		value := v.Field(f.index)
		switch {
		case d.common != nil && d.common[i] != nil:
			d.pairs = append(d.pairs, [2]*ast.Term{f.key, d.common[i]})
		case f.leftOut(value):
		case value.Kind() == reflect.Map && d.common != nil:
			d.pairs = append(d.pairs, [2]*ast.Term{f.key, d.source(value, f.write)})
		default:
			d.add(f, value)
		}
	}
	return d.object(from)
}

// term is a term in the room that is left.
func (d *desk) term(v ast.Value) *ast.Term {
	if len(d.terms) == 0 {
		d.terms = make([]ast.Term, room)
	}
	t := &d.terms[0]
	d.terms = d.terms[1:]
	t.Value = v
	return t
}

func (d *desk) add(f *field, v reflect.Value) {
	t := f.write(v, d)
	d.pairs = append(d.pairs, [2]*ast.Term{f.key, t})
}

// object takes the pairs that were added since from.
func (d *desk) object(from int) ast.Value {
	o := ast.NewObject(d.pairs[from:]...)
	d.pairs = d.pairs[:from]
	return o
}

func (d *desk) source(v reflect.Value, write encode) *ast.Term {
	t := d.sources[v.Pointer()]
	if t == nil {
		t = write(v, d)
		d.sources[v.Pointer()] = t
	}
	return t
}

func (o *object) write(v reflect.Value, d *desk) *ast.Term {
	from := len(d.pairs)
	for i := range o.fields {
		f := &o.fields[i]
		if value := v.Field(f.index); !f.leftOut(value) {
			d.add(f, value)
		}
	}
	return d.term(d.object(from))
}

// empty is what encoding/json leaves out under omitempty.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}
