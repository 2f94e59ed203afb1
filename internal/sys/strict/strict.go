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
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Shape is what a file must be.
type Shape struct {
	// Type is the struct that it becomes. Its keys are the json names of the fields; fields of embedded structs are its own, and a
	// field that is called - has no key. A key whose field has a tag required must be there: the tag says what to write.
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
	c := &checker{file: file, shape: s, tree: keysOf(s.Type)}
	root, wrong := document(data, cmp.Or(s.Empty, "write version: 1 into it, or remove it and the defaults hold"))
	if wrong != nil {
		wrong.File = file
		return nil, Problems{*wrong}
	}
	c.value(root, s.Type, c.tree, "")
	if len(c.found) > 0 {
		slices.SortStableFunc(c.found, func(a, b Problem) int { return a.Line - b.Line })
		return nil, c.found
	}
	f := &File{file, root}
	if v == nil {
		return f, nil
	}
	if err := f.decode(v); err != nil {
		return nil, f.Bad(0, "it cannot be read: %v", err)
	}
	return f, nil
}

// decode reads a file into v, by the json names of its fields.
func (f *File) decode(v any) error {
	var plain any
	if err := f.root.Decode(&plain); err != nil {
		return err
	}
	data, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
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
