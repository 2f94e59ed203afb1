// Package keep reads and matches entries that say what is to be kept (snapshot.Keep), the same way wherever they are written.
package keep

import (
	"cmp"
	"fmt"
	"path"
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

// Source is where entries stand.
type Source struct {
	// Tree is the tree of policies, File the file as messages name it.
	Tree, File string
	// Bundled is true for a bundle, which may say of each entry the line that it had in the folder that the bundle was made of: lines of its own
	// mean nothing to a person.
	Bundled bool
	// Inside is true for a repository's own file: paths are relative to its checkout, and an entry may be such a path alone.
	Inside bool
}

// ReadExceptions reads a file of exceptions. With one mistake in it nothing of a file is used: the error is of the type strict.Problems.
func ReadExceptions(from Source, data []byte) ([]snapshot.Keep, error) {
	var doc file
	wrong := from.read(data, &doc)
	if len(wrong) == 0 {
		return doc.Exceptions, nil
	}
	for i := range wrong {
		if from.Bundled {
			wrong[i].Line = 0
		}
	}
	return nil, wrong
}

func (from Source) read(data []byte, doc *file) strict.Problems {
	if len(data) > maxFile {
		return strict.Problems{{File: from.File, Text: fmt.Sprintf("it has %d bytes, and %d are the most: say with fewer globs what is to be kept", len(data), maxFile)}}
	}
	f, err := strict.Read(from.File, data, strict.Shape{
		Type: reflect.TypeFor[file](), Leaf: from.Leaf, Empty: "write exceptions: [] into it, or remove it",
	}, doc)
	if wrong, ok := err.(strict.Problems); ok {
		return wrong
	}
	if err != nil { // a file that was not read is never one without entries
		return strict.Problems{{File: from.File, Text: err.Error()}}
	}
	return from.Check(f, "exceptions", doc.Exceptions)
}

// Check says what is wrong with the entries under a key of a file whose texts Leaf found right, and fills in where they stand.
func (from Source) Check(f *strict.File, key string, all []snapshot.Keep) (wrong strict.Problems) {
	if len(all) > maxList {
		return f.Bad(f.Line(key), "%s has %d entries, and %d are the most: say with fewer globs what is to be kept", key, len(all), maxList)
	}
	for i, line := range f.Lines(key) {
		k := &all[i]
		k.Tree, k.File = from.Tree, from.File
		if !from.Bundled {
			k.Line = line
		}
		slices.Sort(k.Rules)
		if text := wrongEntry(*k, all[:i]); text != "" {
			wrong = append(wrong, f.Bad(line, "%s[%d]: %s", key, i, text)...)
		}
	}
	return wrong
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
			return fmt.Sprintf("the entry on line %d keeps the same: remove one of the two", o.Line)
		}
	}
	return ""
}

// Leaf says what is wrong with a text of an entry, by its key, and puts it in its plain form (strict.Shape.Leaf): a sentence in one line, and a path
// without a last slash.
func (from Source) Leaf(t reflect.Type, n *yaml.Node, at string) (string, bool) {
	key, _, _ := strings.Cut(at[strings.LastIndexByte(at, '.')+1:], "[")
	switch {
	case key == "line" && !from.Bundled:
		return "winnow policy bundle alone writes it: remove it", true
	case from.Inside && t == reflect.TypeFor[snapshot.Keep]() && n.Kind == yaml.ScalarNode:
		glob := *n
		wrong := from.text("path", &glob)
		match := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "path"}, &glob}}
		*n = yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "match"}, match}}
		return wrong, true
	case t.Kind() != reflect.String:
		return "", false
	}
	return from.text(key, n), true
}

// text says what is wrong with the text of a key, "" for nothing, and puts it in its plain form.
func (from Source) text(key string, n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || !slices.Contains([]string{"!!str", "!!timestamp"}, n.ShortTag()) {
		return "it is no text: put quotes around it"
	}
	s := n.Value
	if key == "why" || key == "who" {
		s = strings.Join(strings.Fields(s), " ")
	}
	switch {
	case strings.TrimSpace(s) == "":
		return "it is empty: give it a value, or remove the key"
	case len(s) > maxText:
		return fmt.Sprintf("it has %d bytes, and %d are the most", len(s), maxText)
	case strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }):
		return "it has a character that cannot be printed: write it without"
	}
	wrong := from.wrongText(key, s)
	switch {
	case key == "path" && from.Inside:
		if s = path.Clean(s); s == "." {
			s = "**"
		}
	case key == "path":
		s = strings.TrimRight(s, "/")
	}
	n.SetString(s)
	return wrong
}

// wrongText says what is wrong with the text of a key, "" for nothing.
func (from Source) wrongText(key, s string) string {
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
		if wrong := from.wrongGlob(key, s); wrong != "" {
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
func (from Source) wrongGlob(key, s string) string {
	if strings.ContainsAny(s, special) {
		return `has one of []{}!\: only *, ** and ? are special here; write ? for such a character`
	}
	if from.Inside && key == "path" {
		return wrongInside(s)
	}
	matches := matcherFor(s, "")
	if key == "path" {
		if wrong := wrongPath(s); wrong != "" {
			return wrong
		}
		matches, _ = pathMatchers(cmp.Or(strings.TrimRight(s, "/"), "/**"), "")
	}
	if !from.Inside && !slices.ContainsFunc(probes[key], func(p string) bool { return !matches(p) }) {
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

// wrongInside says what is wrong with a glob over paths that are relative to a checkout; "" for nothing. ** may stand anywhere in it.
func wrongInside(s string) string {
	switch {
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~"):
		return "is not relative to the project: write the way from its main checkout"
	case slices.Contains(strings.Split(s, "/"), ".."):
		return "leads out of the project: write the way from its main checkout"
	}
	return ""
}
