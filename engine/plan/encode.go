package plan

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

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
			return writeCustom
		}
		return writeMap
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

func writeMap(v reflect.Value, d *Encoder) *ast.Term {
	if v.IsNil() {
		return ast.InternedNullTerm
	}
	from := len(d.pairs)
	for i := v.MapRange(); i.Next(); {
		key := writeString(i.Key(), d)
		d.pairs = append(d.pairs, [2]*ast.Term{key, writeString(i.Value(), d)})
	}
	return d.term(d.object(from))
}

// writeCustom writes parameters of rules of one's own: numbers, texts, booleans, and lists of texts.
func writeCustom(v reflect.Value, d *Encoder) *ast.Term {
	if v.IsNil() {
		return ast.InternedNullTerm
	}
	from := len(d.pairs)
	for i := v.MapRange(); i.Next(); {
		key, value := writeString(i.Key(), d), i.Value().Elem()
		write, known := ownTypes[value.Type()]
		if !known {
			continue // policy.Parameter.Read makes no other; what is left out is unknown to the rule
		}
		term := write(value, d)
		d.pairs = append(d.pairs, [2]*ast.Term{key, term})
	}
	return d.term(d.object(from))
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
