// Package keep reads and matches entries that say what is to be kept (snapshot.Keep), the same way wherever they are written.
package keep

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// The bounds of a file of entries: bytes, entries, rules of an entry, bytes of a text.
const (
	maxFile  = 256 << 10
	maxList  = 500
	maxRules = 50
	maxText  = 500
)

// file is the shape of a file of exceptions.
type file struct {
	Exceptions []snapshot.Keep `json:"exceptions" required:"write exceptions: and below it a list of entries, or exceptions: [] without any"`
}

// Source is where entries stand: the tree of policies and the file, as messages name them. A bundle may say of each entry the line that it had in
// the folder that the bundle was made of; lines of its own mean nothing to a person.
type Source struct {
	Tree, File string
	Bundled    bool
}

// ReadExceptions reads a file of exceptions. With one mistake in it nothing of a file is used: the error is of the type strict.Problems.
func ReadExceptions(from Source, data []byte) ([]snapshot.Keep, error) {
	out, wrong := from.read(data)
	if len(wrong) == 0 {
		return out, nil
	}
	for i := range wrong {
		if from.Bundled {
			wrong[i].Line = 0
		}
	}
	return nil, wrong
}

func (from Source) read(data []byte) ([]snapshot.Keep, strict.Problems) {
	var doc file
	if len(data) > maxFile {
		return nil, strict.Problems{{File: from.File, Text: fmt.Sprintf("it has %d bytes, and %d are the most: say with fewer globs what is to be kept", len(data), maxFile)}}
	}
	f, err := strict.Read(from.File, data, strict.Shape{
		Type: reflect.TypeFor[file](), Leaf: from.leaf, Empty: "write exceptions: [] into it, or remove it",
	}, &doc)
	if wrong, ok := err.(strict.Problems); ok {
		return nil, wrong
	}
	if err != nil { // a file that was not read is never one without entries
		return nil, strict.Problems{{File: from.File, Text: err.Error()}}
	}
	if n := len(doc.Exceptions); n > maxList {
		return nil, f.Bad(f.Line("exceptions"), "%d exceptions, and %d are the most: say with fewer globs what is to be kept, or write a rule below protect", n, maxList)
	}
	var wrong strict.Problems
	for i, line := range f.Lines("exceptions") {
		k := &doc.Exceptions[i]
		k.Tree, k.File = from.Tree, from.File
		if !from.Bundled {
			k.Line = line
		}
		slices.Sort(k.Rules)
		if text := wrongEntry(*k, doc.Exceptions[:i]); text != "" {
			wrong = append(wrong, f.Bad(line, "exceptions[%d]: %s", i, text)...)
		}
	}
	return doc.Exceptions, wrong
}

// wrongEntry says what is wrong with an entry as a whole, "" for nothing.
func wrongEntry(k snapshot.Keep, before []snapshot.Keep) string {
	if m := k.Match; m.ID+m.Path+m.Label+m.Owner == "" {
		return "match has no id, path, label or owner: say with one of them, a glob, what is kept; kind alone would be all of that kind"
	}
	if k.Rules != nil && (len(k.Rules) == 0 || len(k.Rules) > maxRules || len(slices.Compact(slices.Clone(k.Rules))) < len(k.Rules)) {
		return fmt.Sprintf("rules is no list of 1 to %d rules, each once: write rules: [reap.dirs.landed], or leave it out, and it keeps against all rules", maxRules)
	}
	for _, o := range before {
		if o.Match == k.Match && slices.Equal(o.Rules, k.Rules) {
			return fmt.Sprintf("the exception of %s on line %d keeps the same: remove one of the two", o.Who, o.Line)
		}
	}
	return ""
}

// leaf says what is wrong with a text of an entry, by its key, and puts it in its plain form: in one line, and a path without a last slash.
func (from Source) leaf(t reflect.Type, n *yaml.Node, at string) (string, bool) {
	key, _, _ := strings.Cut(at[strings.LastIndexByte(at, '.')+1:], "[")
	if key == "line" && !from.Bundled {
		return "winnow policy bundle alone writes it: remove it", true
	}
	if t.Kind() != reflect.String {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains([]string{"!!str", "!!timestamp"}, n.ShortTag()) {
		return "it is no text: put quotes around it", true
	}
	s := strings.Join(strings.Fields(n.Value), " ")
	switch {
	case s == "":
		return "it is empty: give it a value, or remove the key", true
	case len(s) > maxText:
		return fmt.Sprintf("it has %d bytes, and %d are the most", len(s), maxText), true
	case strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }):
		return "it has a character that cannot be printed: write it without", true
	}
	wrong := wrongText(key, s)
	if key == "path" {
		s = strings.TrimRight(s, "/")
	}
	n.SetString(s)
	return wrong, true
}

// wrongText says what is wrong with the text of a key, "" for nothing.
func wrongText(key, s string) string {
	switch key {
	case "kind":
		if kinds := snapshot.KindNames(); !slices.Contains(kinds, s) {
			return fmt.Sprintf("%.100q is no kind%s", s, spelling.Hint(s, kinds))
		}
	case "until":
		if _, known := (snapshot.Keep{Until: s}).Ends(); !known {
			return fmt.Sprintf("%.100q is no time: write a day (2026-12-01), a time (2026-12-01T18:00:00Z), or never", s)
		}
	case "rules":
		if !decision.Reaps(s) {
			return fmt.Sprintf("%.100q is no rule that reaps: write ids such as reap.dirs.landed; winnow doctor lists all rules", s)
		}
	case "why", "who":
	default:
		if wrong := wrongGlob(key, s); wrong != "" {
			return fmt.Sprintf("%.100q %s", s, wrong)
		}
	}
	return ""
}

// probes are names that no glob matches together but one for everything.
var probes = map[string][]string{
	"id":    {"process:7@70", "dir:/q7w/zx", "session:tmux/q7w/$3"},
	"path":  {"/q7w/zx", "/8/kv.j"},
	"label": {"q7w zx", "8"},
	"owner": {"q7w", "8-kv"},
}

// wrongGlob says what is wrong with a glob, and what to write; "" for nothing.
func wrongGlob(key, s string) string {
	if strings.ContainsAny(s, `[]{}!\`) {
		return `has one of []{}!\: only *, ** and ? are special here; write ? for such a character`
	}
	if err := CheckGlob(s); err != nil {
		return fmt.Sprintf("is no glob (%v): write a name, with * for any text without a slash and ** for any text", err)
	}
	matches := globs(s)
	if key == "path" {
		if wrong := wrongPath(s); wrong != "" {
			return wrong
		}
		matches = globs(s, strings.TrimRight(s, "/")+"/**")
	}
	if !slices.ContainsFunc(probes[key], func(p string) bool { return !matches(p) }) {
		return "matches everything: say what is kept; to stop a rule, write its level into rules.levels of config.yaml"
	}
	return ""
}

// wrongPath says what is wrong with a glob over paths, and what to write; "" for nothing.
func wrongPath(s string) string {
	above, _ := strings.CutSuffix(s, "/**")
	switch {
	case !strings.HasPrefix(s, "/") && s != "~" && !strings.HasPrefix(s, "~/"):
		return "does not begin with / or ~/: write the whole path: ~/code/acme; a name alone is a label"
	case slices.ContainsFunc(strings.Split(s, "/"), func(part string) bool { return part == "." || part == ".." }) || strings.Contains(s, "//"):
		return "has . or .. or an empty name in it: write the plain path"
	case strings.Contains(above, "**"):
		return "has ** before its end: name the folder that it is in, or the thing by its label: every folder could hold something of such a path"
	}
	return ""
}
