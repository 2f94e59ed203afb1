package strict

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/winnow-reaper/winnow/internal/sys/spelling"
)

// keys are the keys that may stand in a section.
type keys struct{ below map[string]*keys }

func keysOf(t reflect.Type) *keys {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	k := &keys{below: map[string]*keys{}}
	if t.Kind() != reflect.Struct {
		return k
	}
	for name, of := range fieldsOf(t) {
		k.below[name] = keysOf(of.Type)
	}
	return k
}

// fieldsOf are a struct's fields by their keys.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	out := map[string]reflect.StructField{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			maps.Copy(out, fieldsOf(f.Type))
		case name != "":
			out[name] = f
		}
	}
	return out
}

func (k *keys) example() string {
	if names := slices.Sorted(maps.Keys(k.below)); len(names) > 0 {
		return names[0]
	}
	return "name"
}

// all lists the paths of all keys below a section.
func (k *keys) all(at string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(k.below)) {
		out = append(append(out, join(at, name)), k.below[name].all(join(at, name))...)
	}
	return out
}

// slip is how many letters of a key may be wrong for one beside it to be meant.
const slip = 2

// meant says which key was most likely meant by one that stands in a section and is not known there: one beside it of almost that name, else
// one of that very name elsewhere, else one below this section or the path that is nearest by its letters, as far as it is near. Where none is, it
// says which keys may stand in the section.
func (k *keys) meant(at string, section *keys, key string) string {
	lower := strings.ToLower(key)
	if beside, far := closest(lower, slices.Collect(maps.Keys(section.below)), func(s string) string { return s }); beside != "" && far <= slip {
		return fmt.Sprintf("; the nearest is %q", join(at, beside))
	}
	all := k.all("")
	last := func(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
	if same, far := closest(lower, all, last); far == 0 {
		return fmt.Sprintf("; the nearest is %q", same)
	}
	if at != "" { // a user who wrote a section's name means something in it
		if beside, _ := closest(lower, section.all(at), last); spelling.IsNear(key, last(beside)) {
			return fmt.Sprintf("; the nearest is %q", beside)
		}
	}
	if near, far := closest(lower, all, last); far <= slip && spelling.IsNear(key, last(near)) {
		return fmt.Sprintf("; the nearest is %q", near)
	}
	if near, _ := closest(lower, all, func(s string) string { return s }); at == "" && spelling.IsNear(key, near) { // a path with dots
		return fmt.Sprintf("; the nearest is %q", near)
	}
	return section.list(at)
}

// list says which keys may stand in a section.
func (k *keys) list(at string) string {
	const most = 12
	names := slices.Sorted(maps.Keys(k.below))
	more := ""
	if len(names) > most {
		names, more = names[:most], ", ..."
	}
	if len(names) == 0 {
		return ""
	}
	where := "at the top"
	if at != "" {
		where = "in " + at
	}
	return fmt.Sprintf("; %s there are %s%s", where, strings.Join(names, ", "), more)
}

// closest is the first of the nearest of names, and how far it is.
func closest(s string, names []string, by func(string) string) (string, int) {
	best, far := "", 1<<30
	if len(s) > maxKey {
		s = s[:maxKey]
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if d := levenshtein.ComputeDistance(s, by(name)); d < far {
			best, far = name, d
		}
	}
	return best, far
}

// maxKey is how much of a key is compared: the comparison takes time by the product of two lengths.
const maxKey = 200

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}
