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
	f := finder{message, other}
	return f.key(doc.Content[0], strings.Split(KeyOf(message), "."))
}

type finder struct {
	message string
	other   func(string) string
}

func (f finder) key(n *yaml.Node, path []string) int {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		switch k, v := n.Content[i], n.Content[i+1]; {
		case k.Value != path[0]:
		case len(path) > 1:
			return cmp.Or(f.key(v, path[1:]), k.Line)
		default:
			return cmp.Or(f.quoted(v), k.Line)
		}
	}
	return 0
}

func (f finder) quoted(n *yaml.Node) int {
	if n.Kind == yaml.ScalarNode {
		for _, s := range []string{n.Value, f.other(n.Value)} {
			if s != "" && strings.Contains(f.message, strconv.Quote(s)) {
				return n.Line
			}
		}
		return 0
	}
	for _, x := range n.Content {
		if line := f.quoted(x); line > 0 {
			return line
		}
	}
	return 0
}
