package engine

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

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
	name      string
	key       *ast.Term
	index     int
	omitEmpty bool
	write     encode
}

// encode writes a value as a term; nil for one that omitempty leaves out is decided before.
type encode func(reflect.Value) *ast.Term

// shared are the terms that many subjects of a snapshot have in common. It belongs to one goroutine; the terms themselves may be
// read by many.
type shared struct {
	// terms are those that all subjects have in common, by the field's place.
	terms []*ast.Term
	// sources are those of the evidence sources, by the address of the map: the join gives candidates of one kind and source
	// the same map. It grows while it is used.
	sources map[uintptr]*ast.Term
}

func (s *shared) clone() *shared { return &shared{terms: s.terms, sources: map[uintptr]*ast.Term{}} }

func newPlan() *plan {
	return &plan{subject: structPlan(reflect.TypeFor[subject.Subject](), map[reflect.Type]*object{})}
}

// input is the document of a subject: the same as that of its JSON.
func (p *plan) input(sub *subject.Subject, s *shared) ast.Value {
	return p.subject.write(reflect.ValueOf(sub).Elem(), s)
}

// share writes what all subjects of a joined snapshot have in common.
func (p *plan) share(j *subject.Joined) *shared {
	s := &shared{terms: make([]*ast.Term, len(p.subject.fields))}
	common := reflect.ValueOf(j.Common()).Elem()
	for i, f := range p.subject.fields {
		switch f.name {
		case "schema", "now", "host", "config":
			s.terms[i] = f.write(common.Field(f.index))
		}
	}
	return s
}

func (o *object) write(v reflect.Value, s *shared) ast.Value {
	out := ast.NewObjectWithCapacity(len(o.fields))
	for i := range o.fields {
		f := &o.fields[i]
		if s != nil && s.terms[i] != nil {
			out.Insert(f.key, s.terms[i])
			continue
		}
		value := v.Field(f.index)
		switch {
		case f.omitEmpty && empty(value):
		case s != nil && value.Kind() == reflect.Map:
			out.Insert(f.key, s.source(value, f.write))
		default:
			out.Insert(f.key, f.write(value))
		}
	}
	return out
}

func (s *shared) source(v reflect.Value, write encode) *ast.Term {
	t := s.sources[v.Pointer()]
	if t == nil {
		t = write(v)
		s.sources[v.Pointer()] = t
	}
	return t
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

func structPlan(t reflect.Type, known map[reflect.Type]*object) *object {
	if o := known[t]; o != nil {
		return o
	}
	o := &object{}
	known[t] = o
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		o.fields = append(o.fields, field{
			name: name, key: ast.StringTerm(name), index: i,
			omitEmpty: options == "omitempty", write: encoder(t.Field(i).Type, known),
		})
	}
	return o
}

var timeType = reflect.TypeFor[time.Time]()

// encoder is the way to write a type. The types of a subject are those below and no others; a test holds that.
func encoder(t reflect.Type, known map[reflect.Type]*object) encode {
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(encoder(t.Elem(), known), reflect.Value.Elem)
	case reflect.Slice:
		return orNull(list(encoder(t.Elem(), known)), nil)
	case reflect.Map:
		return orNull(writeMap, nil)
	case reflect.Struct:
		if t == timeType {
			return writeTime
		}
		o := structPlan(t, known)
		return func(v reflect.Value) *ast.Term { return ast.NewTerm(o.write(v, nil)) }
	case reflect.String:
		return func(v reflect.Value) *ast.Term { return ast.InternedTerm(v.String()) }
	case reflect.Bool:
		return func(v reflect.Value) *ast.Term { return ast.InternedTerm(v.Bool()) }
	case reflect.Float64:
		return writeFloat
	default:
		if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
			return func(v reflect.Value) *ast.Term { return number(strconv.FormatUint(v.Uint(), 10)) }
		}
		return func(v reflect.Value) *ast.Term { return number(strconv.FormatInt(v.Int(), 10)) }
	}
}

func orNull(inner encode, step func(reflect.Value) reflect.Value) encode {
	return func(v reflect.Value) *ast.Term {
		if v.IsNil() {
			return ast.InternedNullTerm
		}
		if step != nil {
			v = step(v)
		}
		return inner(v)
	}
}

func list(one encode) encode {
	return func(v reflect.Value) *ast.Term {
		terms := make([]*ast.Term, v.Len())
		for i := range terms {
			terms[i] = one(v.Index(i))
		}
		return ast.ArrayTerm(terms...)
	}
}

func writeMap(v reflect.Value) *ast.Term {
	out := ast.NewObjectWithCapacity(v.Len())
	for k, value := range v.Interface().(map[string]string) {
		out.Insert(ast.InternedTerm(k), ast.InternedTerm(value))
	}
	return ast.NewTerm(out)
}

// writeTime writes the text that encoding/json writes: RFC 3339 with nanoseconds.
func writeTime(v reflect.Value) *ast.Term {
	return ast.StringTerm(v.Interface().(time.Time).Format(time.RFC3339Nano))
}

// writeFloat writes the digits that encoding/json writes, which change their form at both ends of the range.
func writeFloat(v reflect.Value) *ast.Term {
	f := v.Float()
	if f == float64(int64(f)) && f > -1e15 && f < 1e15 {
		return number(strconv.FormatInt(int64(f), 10))
	}
	text, err := json.Marshal(f)
	if err != nil { // not a number, or infinite: no fact, and no document either
		return ast.InternedNullTerm
	}
	return number(string(text))
}

func number(text string) *ast.Term {
	if t := ast.InternedIntNumberTermFromString(text); t != nil {
		return t
	}
	return ast.NewTerm(ast.Number(text))
}
