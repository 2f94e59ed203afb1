package strict

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
