package config

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// sites finds where a value stands that is wrong: a line of the file, or a variable of the environment.
type sites struct {
	file string
	data []byte
	// set are the keys that the environment gives.
	set map[string]bool
	// agents are the agents' files of the operator.
	agents []sites
}

// folder is that from which a path counts that is not absolute: that of the file, or "" for one from the environment.
func (p sites) folder(key string) string {
	if p.file == "" || p.set[key] {
		return ""
	}
	return filepath.Dir(p.file)
}

// placeOf is the place of what a message is about. The message begins with the key; of a list it is the entry that the message quotes, where there is
// one.
func (p sites) placeOf(message string) string {
	key := strict.KeyOf(message)
	if p.set[key] {
		return EnvName(key)
	}
	in := p
	for _, f := range p.agents {
		quoted := strict.Line(f.data, message, expanded) != strict.Line(f.data, key, expanded)
		if f.has(key) && !p.has(key) && (quoted || !in.has(key)) { // a list of the file would stand in its place
			in = f
		}
	}
	if line := strict.Line(in.data, message, expanded); line > 0 {
		return in.file + ":" + strconv.Itoa(line)
	}
	return cmp.Or(in.file, "the environment")
}

// has reports whether a key stands in the file.
func (p sites) has(key string) bool {
	var at yaml.Node
	if yaml.Unmarshal(p.data, &at) != nil || len(at.Content) == 0 {
		return false
	}
	value := at.Content[0]
	for name := range strings.SplitSeq(key, ".") {
		if _, value = strict.Pair(value, name); value == nil {
			return false
		}
	}
	return true
}

var quotedKey = regexp.MustCompile(`'([a-z_]+(?:\.[a-z_]+)*)(?:\[[0-9]+\])*'`)

// variable is the variable that the decoder's error is about.
func (p sites) variable(message string) string {
	for _, m := range quotedKey.FindAllStringSubmatch(message, -1) {
		for key := range p.set { // an error may name what is below a key
			if m[1] == key || strings.HasPrefix(m[1], key+".") {
				return EnvName(key)
			}
		}
	}
	return "the environment"
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
