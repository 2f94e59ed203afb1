package strict

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
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
