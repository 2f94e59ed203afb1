package config

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sites finds where a value stands that is wrong: a line of the file, or a variable of the environment.
type sites struct {
	file string
	data []byte
	// set are the keys that the environment gives.
	set map[string]bool
}

var (
	leadingKey = regexp.MustCompile(`^[a-z]+(?:[._][a-z]+)*`)
	quotedKey  = regexp.MustCompile(`'([a-z_]+(?:\.[a-z_]+)*)(?:\[[0-9]+\])*'`)
)

// of is the place of what a message is about. The message begins with the key; of a list it is the entry that the message quotes, where there is
// one.
func (p sites) of(message string) string {
	key := leadingKey.FindString(message)
	if p.set[key] {
		return EnvName(key)
	}
	var doc yaml.Node
	if yaml.Unmarshal(p.data, &doc) == nil && doc.Kind == yaml.DocumentNode {
		if line := lineOf(doc.Content[0], strings.Split(key, "."), message); line > 0 {
			return p.file + ":" + strconv.Itoa(line)
		}
	}
	return cmp.Or(p.file, "the environment")
}

// variable is the variable that the decoder's error is about.
func (p sites) variable(message string) string {
	for _, m := range quotedKey.FindAllStringSubmatch(message, -1) {
		if p.set[m[1]] {
			return EnvName(m[1])
		}
		for key := range p.set { // an error may name what is below a key
			if strings.HasPrefix(m[1], key+".") {
				return EnvName(key)
			}
		}
	}
	return "the environment"
}

// lineOf is the line of the key, or of a value below it that the message quotes; 0 where the file has no such key.
func lineOf(n *yaml.Node, key []string, message string) int {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value != key[0] {
			continue
		}
		if len(key) > 1 {
			return cmp.Or(lineOf(n.Content[i+1], key[1:], message), n.Content[i].Line)
		}
		return cmp.Or(quotedIn(n.Content[i+1], message), n.Content[i].Line)
	}
	return 0
}

func quotedIn(n *yaml.Node, message string) int {
	if n.Kind == yaml.ScalarNode {
		for _, s := range []string{n.Value, expanded(n.Value)} {
			if s != "" && (strings.Contains(message, strconv.Quote(s)) || strings.Contains(message, "`"+s+"`")) {
				return n.Line
			}
		}
		return 0
	}
	if i := slices.IndexFunc(n.Content, func(x *yaml.Node) bool { return quotedIn(x, message) > 0 }); i >= 0 {
		return quotedIn(n.Content[i], message)
	}
	return 0
}

// expanded is a path as it is shown after ~ and variables were resolved.
func expanded(s string) string {
	if !isPath(s) {
		return ""
	}
	abs, err := expandFrom("", s)
	if err != nil {
		return ""
	}
	return abs
}
