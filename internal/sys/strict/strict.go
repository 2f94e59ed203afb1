// Package strict holds a YAML file against the Go type that it is to become, before anything is made of it: every key must be known,
// every value of its kind, and the whole file one document. What it refuses it names by line and key, with the nearest right key.
package strict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/internal/sys/spelling"
)

// Shape is what a file must be.
type Shape struct {
	// Type is the struct that it becomes. Its keys are the json names of the fields; fields of embedded structs are its own, and a
	// field that is called - has no key. A key whose field has a tag required must be there: the tag says what to write. A file of no type is
	// read as it is.
	Type reflect.Type
	// Empty says what to do where nothing is in the file.
	Empty string
	// Null is a type whose values may be null. Values of any type (interfaces) may be null too.
	Null reflect.Type
	// Leaf says what is wrong with a value of a type that is written in a way of its own, such as a duration; "" is nothing. It is
	// asked for the types for which it says ok, before their kind is looked at. at is the key, with dots. It may write the value in its plain form.
	Leaf func(t reflect.Type, n *yaml.Node, at string) (wrong string, ok bool)
}

// Problem is one thing that is wrong with a file.
type Problem struct {
	File string
	// Line counts from 1; 0 is the file as a whole.
	Line int
	// Key is the path of the key, with dots, or of the section in which something is wrong; "" at the top.
	Key  string
	Text string
}

// Error is "file:line: text".
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems is everything that is wrong, in the order of the file, at most as many as a person reads at once.
type Problems []Problem

const maxProblems = 10

// Error has a line for each.
func (ps Problems) Error() string { return errors.Join(ps.Unwrap()...).Error() }

// Unwrap gives each as an error of its own, so that who prints them knows where a line ends.
func (ps Problems) Unwrap() []error {
	var lines []error
	for _, p := range ps[:min(len(ps), maxProblems)] {
		lines = append(lines, p)
	}
	if more := len(ps) - maxProblems; more > 0 {
		lines = append(lines, fmt.Errorf("and %d more like these", more))
	}
	return lines
}

// File is a file that was held against its shape.
type File struct {
	// Name is what messages call it.
	Name string
	root *yaml.Node
}

// Root is the mapping at the top.
func (f *File) Root() *yaml.Node { return f.root }

// Read holds data, which messages call file, against a shape, and reads it into v unless that is nil. The error is of the type Problems.
func Read(file string, data []byte, s Shape, v any) (*File, error) {
	root, wrong := document(data, cmp.Or(s.Empty, "write version: 1 into it, or remove it and the defaults hold"))
	if wrong != nil {
		wrong.File = file
		return nil, Problems{*wrong}
	}
	if s.Type != nil {
		c := &checker{file: file, shape: s, tree: keysOf(s.Type)}
		c.value(root, s.Type, c.tree, "")
		if len(c.found) > 0 {
			slices.SortStableFunc(c.found, func(a, b Problem) int { return a.Line - b.Line })
			return nil, c.found
		}
	}
	f := &File{file, root}
	if v == nil {
		return f, nil
	}
	var plain any
	err := root.Decode(&plain)
	if err == nil {
		data, err = json.Marshal(plain)
	}
	if err == nil {
		err = json.Unmarshal(data, v) // by the json names of its fields
	}
	if err != nil {
		return nil, f.Bad(0, "it cannot be read: %v", err)
	}
	return f, nil
}

// Bad says what is wrong on a line, 0 for the file as a whole.
func (f *File) Bad(line int, format string, args ...any) Problems {
	return Problems{{File: f.Name, Line: line, Text: fmt.Sprintf(format, args...)}}
}

// document is the one document of a file. empty says what to do where there is nothing in it.
func document(data []byte, empty string) (root *yaml.Node, wrong *Problem) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return nil, &Problem{Line: 1, Text: "it begins with a byte order mark: save it as UTF-8 without one"}
	case !utf8.Valid(data):
		return nil, &Problem{Text: "it is not UTF-8 text: save it as UTF-8"}
	case len(bytes.TrimSpace(data)) == 0:
		return nil, &Problem{Text: "it is empty: " + empty}
	}
	defer func() { // what the parser did not foresee is a file that cannot be read, and no crash
		if r := recover(); r != nil {
			root, wrong = nil, &Problem{Text: fmt.Sprintf("it cannot be read as YAML: %v", r)}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, &Problem{Text: "it has comments only: " + empty}
	case err != nil:
		return nil, syntax(err, data)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].ShortTag() == "!!null" {
		return nil, &Problem{Text: "it has comments only: " + empty}
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntax(err, data)
	default:
		return nil, &Problem{Line: second.Line, Text: "a second document begins here (---): write one, for the second would be passed over"}
	}
	return doc.Content[0], nil
}

// syntax takes the line out of what the parser says: "yaml: line 3: found character ...".
func syntax(err error, data []byte) *Problem {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	var name string
	if n, _ := fmt.Sscanf(text, "unknown anchor '%s referenced", &name); n == 1 { // the parser says no line of it
		name = "*" + strings.TrimSuffix(name, "'")
		before, _, _ := bytes.Cut(data, []byte(name))
		return &Problem{Line: bytes.Count(before, []byte("\n")) + 1, Text: name + " is an alias in YAML: put quotes around a text that begins with *"}
	}
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ":")
		text = strings.TrimSpace(text)
	}
	if strings.Contains(text, "cannot start any token") {
		text += "; indent with spaces, never with tabs, and put quotes around a text that begins with @, ` or %"
	}
	return &Problem{Line: line, Text: text}
}

var leadingKey = regexp.MustCompile(`^[a-z]+(?:[._][a-z]+)*`)

// KeyOf is the key, with dots, that a message begins with.
func KeyOf(message string) string { return leadingKey.FindString(message) }

// Line is where a value of a file stands that a second look refused: the line of the key that the message begins with, or below it of the entry that
// the message quotes. other gives another form in which a value may be quoted, "" for none. It is 0 where the file has no such key.
func Line(data []byte, message string, other func(string) string) int {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || doc.Kind != yaml.DocumentNode {
		return 0
	}
	line, at := lookup(doc.Content[0], strings.Split(KeyOf(message), "."))
	if at == nil {
		return line
	}
	return cmp.Or(quoted(at, message, other), line)
}

// Line is the line of a key by the names that lead to it, or of the last of them that is there; 0 when the first is missing. Without names it is
// that of the whole.
func (f *File) Line(keys ...string) int {
	line, _ := lookup(f.root, keys)
	if len(keys) == 0 {
		return f.root.Line
	}
	return line
}

// Lines are those of the entries of the list that keys lead to.
func (f *File) Lines(keys ...string) (lines []int) {
	if _, at := lookup(f.root, keys); at != nil {
		for _, n := range at.Content {
			lines = append(lines, n.Line)
		}
	}
	return lines
}

// Find is the line of the first key of that name below the key that others lead to, 0 when it is missing.
func (f *File) Find(name string, below ...string) int {
	if _, at := lookup(f.root, below); at != nil {
		return keyLine(at, name)
	}
	return 0
}

func keyLine(n *yaml.Node, name string) int {
	for i, x := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && x.Value == name {
			return x.Line
		}
		if line := keyLine(x, name); line > 0 {
			return line
		}
	}
	return 0
}

// lookup is what stands under keys, nil where one is missing, and the line of the last key that is there.
func lookup(n *yaml.Node, keys []string) (line int, at *yaml.Node) {
	for _, key := range keys {
		k, v := Pair(n, key)
		if k == nil {
			return line, nil
		}
		line, n = k.Line, v
	}
	return line, n
}

// Pair is a key of a mapping with its value, nil where it is missing.
func Pair(n *yaml.Node, key string) (k, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// quoted is the line of the value that a message quotes, 0 where it quotes none.
func quoted(n *yaml.Node, message string, other func(string) string) int {
	if n.Kind == yaml.ScalarNode {
		for _, s := range []string{n.Value, other(n.Value)} {
			if s != "" && strings.Contains(message, strconv.Quote(s)) {
				return n.Line
			}
		}
		return 0
	}
	for _, x := range n.Content {
		if line := quoted(x, message, other); line > 0 {
			return line
		}
	}
	return 0
}

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
