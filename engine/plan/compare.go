package plan

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/engine/subject"
)

// Reader compares what the subjects of one snapshot have at their fields with what others had. It is for one goroutine.
type Reader struct {
	seed maphash.Seed
	h    maphash.Hash
	// common are the digests of what all subjects of the snapshot have in common, maps those of maps that many of them have.
	common map[*Field]uint64
	maps   map[uintptr]uint64
}

// NewReader compares digests that were made with this seed. It is not known to others, so that nobody can give a thing a name by which it looks like another.
func NewReader(seed maphash.Seed) *Reader {
	r := &Reader{seed: seed, common: map[*Field]uint64{}, maps: map[uintptr]uint64{}}
	r.h.SetSeed(seed)
	return r
}

// Digest is that of what an answer with these reads rests on, but for the numbers in Within. Two subjects with the same digest, whose numbers lie within the same spans, get the same
// answer, but for one case in some 2^64.
func (r *Reader) Digest(of *Reads, sub *subject.Subject) uint64 {
	v := reflect.ValueOf(sub).Elem()
	var sum digest
	sum.h.SetSeed(r.seed)
	for _, f := range of.Whole {
		sum.number(r.field(f, v))
	}
	for _, f := range of.There {
		sum.bool(f.of(v).IsValid())
	}
	return sum.h.Sum64()
}

// Within reports whether the numbers of a subject lie within these spans.
func (r *Reader) Within(of *Reads, spans []Span, sub *subject.Subject) bool {
	v := reflect.ValueOf(sub).Elem()
	for i, f := range of.Within {
		n, ok := numberOf(f.of(v))
		if !ok || !(n > spans[i].Over && n < spans[i].Under) {
			return false
		}
	}
	return true
}

func numberOf(v reflect.Value) (float64, bool) {
	for v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return 0, false
	case v.CanFloat():
		return v.Float(), true
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	default:
		return 0, false
	}
}

// of is what a subject has at a field; not valid where its document has nothing there.
func (f *Field) of(v reflect.Value) reflect.Value {
	for _, s := range f.steps {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if !v.IsValid() {
			return v
		}
		if v = v.Field(s.index); s.leftOut(v) {
			return reflect.Value{}
		}
	}
	return v
}

func (r *Reader) field(f *Field, sub reflect.Value) uint64 {
	if f.shared {
		d, known := r.common[f]
		if !known {
			d = r.digest(f.of(sub))
			r.common[f] = d
		}
		return d
	}
	v := f.of(sub)
	if len(f.steps) > 1 || !v.IsValid() || v.Kind() != reflect.Map || v.IsNil() { // a map of the subject itself is the snapshot's, and so lives as long as its address is taken for it
		return r.digest(v)
	}
	d, known := r.maps[v.Pointer()]
	if !known {
		d = r.digest(v)
		r.maps[v.Pointer()] = d
	}
	return d
}

func (r *Reader) digest(v reflect.Value) uint64 {
	d := digest{}
	d.h.SetSeed(r.seed)
	d.value(v)
	return d.h.Sum64()
}

// digest is one on its way.
type digest struct{ h maphash.Hash }

func (d *digest) number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = d.h.Write(b[:])
}

func (d *digest) bool(b bool) {
	if b {
		d.number(1)
	} else {
		d.number(0)
	}
}

func (d *digest) text(s string) {
	d.number(uint64(len(s)))
	_, _ = d.h.WriteString(s)
}

// value adds all that a document has of a value, and nothing that it does not have.
func (d *digest) value(v reflect.Value) {
	if !v.IsValid() {
		d.number(0)
		return
	}
	d.number(uint64(v.Kind()))
	switch v.Kind() {
	case reflect.Bool:
		d.bool(v.Bool())
	case reflect.String:
		d.text(v.String())
	case reflect.Float32, reflect.Float64:
		d.number(math.Float64bits(v.Float()))
	case reflect.Pointer, reflect.Interface:
		d.value(v.Elem())
	case reflect.Slice, reflect.Array:
		d.bool(v.Kind() == reflect.Slice && v.IsNil())
		d.number(uint64(v.Len()))
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Map:
		d.members(v)
	case reflect.Struct:
		d.fields(v)
	default:
		switch {
		case v.CanInt():
			d.number(uint64(v.Int()))
		case v.CanUint():
			d.number(v.Uint())
		default: // no document has such a value
			d.number(math.MaxUint64)
		}
	}
}

// members adds a map, in whatever order its members come.
func (d *digest) members(v reflect.Value) {
	d.bool(v.IsNil())
	var sum uint64
	for it := v.MapRange(); it.Next(); {
		one := digest{}
		one.h.SetSeed(d.h.Seed())
		one.value(it.Key())
		one.value(it.Value())
		sum += one.h.Sum64()
	}
	d.number(uint64(v.Len()))
	d.number(sum)
}

func (d *digest) fields(v reflect.Value) {
	if v.Type() == timeType {
		t, _ := v.Interface().(time.Time)
		_, offset := t.Zone()
		d.number(uint64(t.Unix()))
		d.number(uint64(t.Nanosecond()))
		d.number(uint64(offset))
		return
	}
	for _, i := range written(v.Type()) {
		d.value(v.Field(i))
	}
}

// writtenBy are the places of a struct's fields that documents have, by its type.
var writtenBy sync.Map

func written(t reflect.Type) []int {
	if is, known := writtenBy.Load(t); known {
		return is.([]int)
	}
	is := []int{}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
			is = append(is, i)
		}
	}
	writtenBy.Store(t, is)
	return is
}
