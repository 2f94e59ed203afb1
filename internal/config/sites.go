package config

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// sites finds where a value stands that is wrong: a line of the file, or a variable of the environment.
type sites struct {
	file string
	data []byte
	// set are the keys that the environment gives.
	set map[string]bool
}

// placeOf is the place of what a message is about. The message begins with the key; of a list it is the entry that the message quotes, where there is
// one.
func (p sites) placeOf(message string) string {
	if key := strict.KeyOf(message); p.set[key] {
		return EnvName(key)
	}
	if line := strict.Line(p.data, message, expanded); line > 0 {
		return p.file + ":" + strconv.Itoa(line)
	}
	return cmp.Or(p.file, "the environment")
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
