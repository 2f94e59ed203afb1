// Package stamps tells cheaply whether what a look read may have changed: by what stat says of files and folders, and by a digest over what a source gave. It reads no content, and
// what it calls equal is no evidence for an act: that a whole look may be left out is all that may be concluded from it.
package stamps

import (
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// File is what stat says of a name; the zero File is that of one that is missing, or that could not be asked about.
type File struct {
	Device, Inode   uint64
	Size            int64
	Modified, Moved int64 // mtime and ctime, in nanoseconds
}

// Read asks for each of the paths, without following a link at its end.
func Read(paths []string) map[string]File {
	out := make(map[string]File, len(paths))
	for _, p := range paths {
		if _, done := out[p]; !done {
			out[p] = stat(p)
		}
	}
	return out
}

// Changed gives the first of the paths that is no longer as it was, "" where all are.
func Changed(was map[string]File) string {
	for p, f := range was {
		if stat(p) != f {
			return p
		}
	}
	return ""
}

// Since gives one that was changed at the time at or later, "" where none was. A file that is written twice within one tick of the clock has the same stamp both times, so
// that a stamp which is as young as the reading proves nothing.
func Since(files map[string]File, at time.Time) string {
	for p, f := range files {
		if max(f.Modified, f.Moved) >= at.UnixNano() {
			return p
		}
	}
	return ""
}

func stat(path string) File {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return File{}
	}
	return File{st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

var seed = maphash.MakeSeed()

// Digest is a digest over a value, of which this process alone can make the same again. Of times it takes whether there is one, and with times what they are. Fields of the names in
// without are left out.
func Digest(v any, times bool, without ...string) uint64 {
	d := digest{times: times, without: without}
	d.SetSeed(seed)
	d.value(reflect.ValueOf(v))
	return d.Sum64()
}

type digest struct {
	maphash.Hash
	times   bool
	without []string
}

var timeType = reflect.TypeFor[time.Time]()

func (d *digest) value(v reflect.Value) {
	if !v.IsValid() {
		_ = d.WriteByte(0)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			_ = d.WriteByte(0)
			return
		}
		_ = d.WriteByte(1)
		d.value(v.Elem())
	case reflect.Struct:
		if v.Type() == timeType {
			_ = d.WriteByte(2)
			if d.times {
				maphash.WriteComparable(&d.Hash, v.Interface().(time.Time).UnixNano())
			}
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(d.without, f.Name) && f.Type.Kind() != reflect.Func {
				d.value(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			_ = d.WriteByte(0)
			return
		}
		maphash.WriteComparable(&d.Hash, v.Len())
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		maphash.WriteComparable(&d.Hash, len(keys))
		for _, k := range keys {
			d.value(k)
			d.value(v.MapIndex(k))
		}
	case reflect.String:
		maphash.WriteComparable(&d.Hash, v.String())
	default:
		maphash.WriteComparable(&d.Hash, v.Interface())
	}
}
