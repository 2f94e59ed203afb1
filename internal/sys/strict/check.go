package strict

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/internal/sys/spelling"
)

type checker struct {
	file  string
	shape Shape
	tree  *keys
	found Problems
}

func (c *checker) bad(n *yaml.Node, key, format string, args ...any) {
	c.found = append(c.found, Problem{File: c.file, Line: n.Line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// value holds one value against its type; under are the keys that may stand in it.
func (c *checker) value(n *yaml.Node, t reflect.Type, under *keys, at string) {
	isNull := n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
	switch {
	case t.Kind() == reflect.Interface:
		c.plain(n, at)
		return
	case isNull && t == c.shape.Null:
		return
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		c.bad(n, at, "%san anchor or its alias (&, *): write it out, they are not read here", inKey(at))
		return
	case n.Style&yaml.TaggedStyle != 0:
		c.bad(n, at, "%sa tag (%s): leave it out, they are not read here", inKey(at), n.Tag)
		return
	case isNull:
		c.bad(n, at, "key %q has no value; give it one or remove it", at)
		return
	}
	if c.shape.Leaf != nil {
		if wrong, ok := c.shape.Leaf(t, n, at); ok {
			if wrong != "" {
				c.bad(n, at, "%s: %s", at, wrong)
			}
			return
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		c.value(n, t.Elem(), under, at)
	case reflect.Struct:
		c.section(n, t, under, at)
	case reflect.Map:
		c.table(n, t, at)
	case reflect.Slice:
		c.list(n, t, under, at)
	default:
		if wrong := scalar(n, t); wrong != "" {
			c.bad(n, at, "%s: %s", at, wrong)
		}
	}
}

// plain refuses anchors, aliases and tags anywhere in a value of any type.
func (c *checker) plain(n *yaml.Node, at string) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		c.bad(n, at, "%san anchor, its alias or a tag (&, *, !): write it out, they are not read here", inKey(at))
		return
	}
	for _, below := range n.Content {
		c.plain(below, at)
	}
}

func (c *checker) section(n *yaml.Node, t reflect.Type, under *keys, at string) {
	if n.Kind != yaml.MappingNode {
		if at == "" {
			c.bad(n, at, "the file is %s; it wants keys and values, such as version: 1", what(n))
			return
		}
		c.bad(n, at, "%s is %s; it wants keys of its own, such as %s", at, what(n), under.example())
		return
	}
	fields := fieldsOf(t)
	missing, misspelt := maps.Clone(fields), false
	c.pairs(n, at, func(key string, k, v *yaml.Node) {
		f, ok := fields[key]
		misspelt = misspelt || !ok
		delete(missing, key)
		if !ok && len(c.found) >= maxProblems { // it would not be read, and comparing takes time
			c.bad(k, join(at, key), "unknown key %q", join(at, key))
			return
		}
		if !ok {
			c.bad(k, join(at, key), "unknown key %q%s", join(at, key), c.tree.meant(at, under, key))
			return
		}
		c.value(v, f.Type, under.below[key], join(at, key))
	})
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		if fix := missing[key].Tag.Get("required"); fix != "" && (at == "" || !misspelt) { // else it may be that one
			c.found = append(c.found, Problem{c.file, n.Line, join(at, key), fmt.Sprintf("%s is missing: %s", join(at, key), fix)})
		}
	}
}

// table is a map of the operator's own keys.
func (c *checker) table(n *yaml.Node, t reflect.Type, at string) {
	if n.Kind != yaml.MappingNode {
		c.bad(n, at, "%s is %s; it wants names and values: {name: value}", at, what(n))
		return
	}
	c.pairs(n, at, func(key string, _, v *yaml.Node) { c.value(v, t.Elem(), &keys{}, join(at, key)) })
}

// pairs goes over a map's keys, each of which is a plain text and stands once.
func (c *checker) pairs(n *yaml.Node, at string, each func(key string, k, v *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind == yaml.AliasNode || k.Anchor != "" || k.ShortTag() == "!!merge":
			c.bad(k, at, "%san anchor, its alias or a merge (&, *, <<): write it out, they are not read here", inKey(at))
		case k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" || k.Style&yaml.TaggedStyle != 0 || k.Value == "":
			c.bad(k, at, "%sa key that is no plain text", inKey(at))
		case seen[k.Value] != 0:
			c.bad(k, join(at, k.Value), "key %q stands twice, on line %d too: one of them would be passed over", join(at, k.Value), seen[k.Value])
		default:
			seen[k.Value] = k.Line
			each(k.Value, k, v)
		}
	}
}

func (c *checker) list(n *yaml.Node, t reflect.Type, under *keys, at string) {
	if n.Kind != yaml.SequenceNode {
		hint := "[]"
		if n.Kind == yaml.ScalarNode {
			hint = "[" + n.Value + "]"
		}
		c.bad(n, at, "%s is %s; it wants a list: %s", at, what(n), hint)
		return
	}
	for i, x := range n.Content {
		one := fmt.Sprintf("%s[%d]", at, i)
		if x.Kind == yaml.ScalarNode && x.ShortTag() == "!!str" && x.Value == "" {
			c.bad(x, one, "%s is an empty text; give it a value or remove it", one)
			continue
		}
		c.value(x, t.Elem(), under, one)
	}
}

// scalar says what is wrong with a single value, "" for nothing.
func scalar(n *yaml.Node, t reflect.Type) string {
	if n.Kind != yaml.ScalarNode {
		return fmt.Sprintf("it is %s; it wants %s", what(n), wanted(t))
	}
	tags := map[reflect.Kind][]string{
		reflect.String: {"!!str"}, reflect.Bool: {"!!bool"}, reflect.Int: {"!!int"}, reflect.Int64: {"!!int"}, reflect.Uint64: {"!!int"},
		reflect.Float64: {"!!int", "!!float"},
	}
	x := reflect.New(t)
	right := slices.Contains(tags[t.Kind()], n.ShortTag()) && n.Decode(x.Interface()) == nil
	if right && (!x.Elem().CanFloat() || !math.IsNaN(x.Elem().Float()) && !math.IsInf(x.Elem().Float(), 0)) {
		return ""
	}
	return fmt.Sprintf("it is %q; it wants %s", n.Value, wanted(t))
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text: put quotes around it"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint64:
		return "a whole number that is not negative"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "a value of type " + t.String()
}

func what(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a section with keys"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("the single value %q", n.Value)
}

func inKey(at string) string {
	if at == "" {
		return ""
	}
	return at + ": "
}

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
