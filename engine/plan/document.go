package plan

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/subject"
)

// object is how the fields of a struct become a document. It is made once and read-only: keys are terms that all documents
// share, and what encoding/json would find out by reflection for every value is found out here once.
type object struct{ fields []field }

type field struct {
	name  string
	key   *ast.Term
	index int
	// omit says which values are left out; nil leaves none out.
	omit  func(reflect.Value) bool
	write encode
	// of is what the field holds, where that is a struct or a pointer to one.
	of *object
	// shared says that all subjects of a snapshot have the same value.
	shared bool
}

func (f *field) leftOut(v reflect.Value) bool { return f.omit != nil && f.omit(v) }

func (o *object) field(name string) *field {
	for i := range o.fields {
		if o.fields[i].name == name {
			return &o.fields[i]
		}
	}
	return nil
}

// shape is that of a subject.
var shape = sync.OnceValue(func() *object {
	o := structShape(reflect.TypeFor[subject.Subject](), map[reflect.Type]*object{})
	for i := range o.fields {
		switch o.fields[i].name {
		case "schema", "now", "host", "config", "records_read":
			o.fields[i].shared = true
		}
	}
	return o
})

// Encoder is where one goroutine writes documents: the terms that many of them have in common, and room for those that they do
// not. The terms themselves may be read by many.
type Encoder struct {
	// common are the terms that all subjects of a snapshot have in common, by the field's index.
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

// NewEncoder is a place to write subjects of a snapshot at, which all have what common has; nil for single ones, which have nothing in common.
func NewEncoder(common *subject.Subject) *Encoder {
	d := &Encoder{sources: map[uintptr]*ast.Term{}}
	if common == nil {
		return d
	}
	from := reflect.ValueOf(common).Elem()
	d.common = make([]*ast.Term, from.NumField())
	for _, f := range shape().fields {
		if value := from.Field(f.index); f.shared && !f.leftOut(value) {
			d.common[f.index] = f.write(value, d)
		}
	}
	return d
}

// Fork is another desk for the same snapshot.
func (d *Encoder) Fork() *Encoder {
	return &Encoder{common: d.common, sources: map[uintptr]*ast.Term{}}
}

// Document is the document of a subject: the same as that of its JSON.
func (d *Encoder) Document(sub *subject.Subject) ast.Value {
	v := reflect.ValueOf(sub).Elem()
	from := len(d.pairs)
	fields := shape().fields
	for i := range fields {
		f := &fields[i]
		value := v.Field(f.index)
		switch {
		case d.common != nil && d.common[f.index] != nil:
			d.pairs = append(d.pairs, [2]*ast.Term{f.key, d.common[f.index]})
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
func (d *Encoder) term(v ast.Value) *ast.Term {
	if len(d.terms) == 0 {
		d.terms = make([]ast.Term, room)
	}
	t := &d.terms[0]
	d.terms = d.terms[1:]
	t.Value = v
	return t
}

func (d *Encoder) add(f *field, v reflect.Value) {
	t := f.write(v, d)
	d.pairs = append(d.pairs, [2]*ast.Term{f.key, t})
}

// object takes the pairs that were added since from.
func (d *Encoder) object(from int) ast.Value {
	o := ast.NewObject(d.pairs[from:]...)
	d.pairs = d.pairs[:from]
	return o
}

func (d *Encoder) source(v reflect.Value, write encode) *ast.Term {
	t := d.sources[v.Pointer()]
	if t == nil {
		t = write(v, d)
		d.sources[v.Pointer()] = t
	}
	return t
}

func (o *object) write(v reflect.Value, d *Encoder) *ast.Term {
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

func structShape(t reflect.Type, known map[reflect.Type]*object) *object {
	if o := known[t]; o != nil {
		return o
	}
	o := &object{}
	known[t] = o
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "-" || !t.Field(i).IsExported() { // no part of the document
			continue
		}
		f := field{
			name: name, key: ast.StringTerm(name), index: i,
			omit: omissions[options], write: encoder(t.Field(i).Type, known),
		}
		inner := t.Field(i).Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.of = known[inner]; f.of == nil && inner.Kind() == reflect.Struct && inner != timeType {
			f.of = structShape(inner, known)
		}
		o.fields = append(o.fields, f)
	}
	return o
}

var timeType = reflect.TypeFor[time.Time]()

// encode writes a value as a term.
type encode func(reflect.Value, *Encoder) *ast.Term

// omissions are encoding/json's own.
var omissions = map[string]func(reflect.Value) bool{"omitempty": empty, "omitzero": reflect.Value.IsZero}

// encoder is the way to write a type. The types of a subject are those below and no others; a test holds that.
func encoder(t reflect.Type, known map[reflect.Type]*object) encode {
	switch t.Kind() {
	case reflect.Pointer:
		return pointer(encoder(t.Elem(), known))
	case reflect.Slice:
		return list(encoder(t.Elem(), known))
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return entries(writeOwn)
		}
		return entries(writeString)
	case reflect.Struct:
		if t == timeType {
			return writeTime
		}
		return structShape(t, known).write
	case reflect.String:
		return writeString
	case reflect.Bool:
		return func(v reflect.Value, _ *Encoder) *ast.Term { return ast.InternedTerm(v.Bool()) }
	case reflect.Float64:
		return writeFloat
	case reflect.Uint64:
		return func(v reflect.Value, d *Encoder) *ast.Term { return d.number(strconv.FormatUint(v.Uint(), 10)) }
	default:
		return func(v reflect.Value, d *Encoder) *ast.Term { return d.integer(v.Int()) }
	}
}

func pointer(inner encode) encode {
	return func(v reflect.Value, d *Encoder) *ast.Term {
		if v.IsNil() {
			return ast.InternedNullTerm
		}
		return inner(v.Elem(), d)
	}
}

func list(one encode) encode {
	return func(v reflect.Value, d *Encoder) *ast.Term {
		if v.IsNil() {
			return ast.InternedNullTerm
		}
		if v.Len() == 0 {
			return ast.InternedEmptyArray
		}
		terms := make([]*ast.Term, v.Len())
		for i := range terms {
			terms[i] = one(v.Index(i), d)
		}
		return d.term(ast.NewArray(terms...))
	}
}

// entries writes a map by texts; what one gives nil for is left out.
func entries(one encode) encode {
	return func(v reflect.Value, d *Encoder) *ast.Term {
		if v.IsNil() {
			return ast.InternedNullTerm
		}
		from := len(d.pairs)
		for i := v.MapRange(); i.Next(); {
			key := writeString(i.Key(), d)
			if value := one(i.Value(), d); value != nil {
				d.pairs = append(d.pairs, [2]*ast.Term{key, value})
			}
		}
		return d.term(d.object(from))
	}
}

// writeOwn writes a parameter of a rule of one's own: a number, a text, a boolean, or a list of texts.
func writeOwn(v reflect.Value, d *Encoder) *ast.Term {
	if write, known := ownTypes[v.Elem().Type()]; known {
		return write(v.Elem(), d)
	}
	return nil // policy.Parameter.Read makes no other; what is left out is unknown to the rule
}

var ownTypes = map[reflect.Type]encode{
	reflect.TypeFor[float64]():  writeFloat,
	reflect.TypeFor[string]():   writeString,
	reflect.TypeFor[bool]():     func(v reflect.Value, _ *Encoder) *ast.Term { return ast.InternedTerm(v.Bool()) },
	reflect.TypeFor[[]string](): list(writeString),
}

func writeString(v reflect.Value, d *Encoder) *ast.Term {
	if s := v.String(); s != "" {
		return d.term(ast.String(s))
	}
	return ast.InternedEmptyString
}

// writeTime writes the text that encoding/json writes: RFC 3339 with nanoseconds.
func writeTime(v reflect.Value, d *Encoder) *ast.Term {
	t, ok := reflect.TypeAssert[time.Time](v)
	if !ok {
		return ast.InternedNullTerm
	}
	return d.term(ast.String(t.Format(time.RFC3339Nano)))
}

// writeFloat writes the digits that encoding/json writes, which change their form at both ends of the range.
func writeFloat(v reflect.Value, d *Encoder) *ast.Term {
	f := v.Float()
	if f == float64(int64(f)) && f > -1e15 && f < 1e15 {
		return d.integer(int64(f))
	}
	text, err := json.Marshal(f)
	if err != nil { // not a number, or infinite: no fact, and no document either
		return ast.InternedNullTerm
	}
	return d.number(string(text))
}

func (d *Encoder) integer(i int64) *ast.Term {
	if ast.HasInternedIntNumberTerm(int(i)) {
		return ast.InternedTerm(int(i))
	}
	return d.number(strconv.FormatInt(i, 10))
}

func (d *Encoder) number(text string) *ast.Term { return d.term(ast.Number(text)) }
