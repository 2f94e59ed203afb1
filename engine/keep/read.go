// Package keep reads and matches entries that say what is to be kept (snapshot.Keep), the same way wherever they are written.
package keep

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/gobwas/glob"
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

// Names are what a candidate is called. A list that is empty, or has "", is not wholly known.
type Names struct{ IDs, Paths, Labels, Owners []string }

// Matcher is a match that is ready to be compared.
type Matcher struct {
	id, label, owner matcher
	// place is for where a candidate is, folder for a folder.
	place, folder matcher
	// homeless has the keys of globs that begin with ~ where the home is not known: what they mean is not known either.
	homeless []string
}

// NewMatcher makes a match ready. home is the home folder, "" where it is not known.
func NewMatcher(m snapshot.Match, home string) Matcher {
	out := Matcher{id: matcherFor(m.ID, home), label: matcherFor(m.Label, home), owner: matcherFor(m.Owner, home)}
	out.place, out.folder = pathMatchers(m.Path, home)
	for key, pattern := range map[string]string{"path": m.Path, "label": m.Label, "owner": m.Owner} {
		if home == "" && strings.HasPrefix(pattern, "~") {
			out.homeless = append(out.homeless, key)
		}
	}
	return out
}

// Matches reports whether a match means a candidate, or may: unknown has the keys that could not be compared. folder is true for a folder, which does not
// go without what is in it.
func (m *Matcher) Matches(n Names, folder bool) (unknown []string, matches bool) {
	unknown = []string{}
	at := m.place
	if folder {
		at = m.folder
	}
	for _, one := range []struct {
		name  string
		asked matcher
		names []string
	}{{"id", m.id, n.IDs}, {"path", at, n.Paths}, {"label", m.label, n.Labels}, {"owner", m.owner, n.Owners}} {
		switch {
		case one.asked == nil || slices.ContainsFunc(one.names, one.asked):
		case len(one.names) == 0 || slices.Contains(one.names, "") || slices.Contains(m.homeless, one.name):
			unknown = append(unknown, one.name)
		default:
			return nil, false
		}
	}
	return unknown, true
}

// CheckGlob says why policies can match nothing with a pattern (glob.match).
func CheckGlob(pattern string) error {
	_, err := glob.Compile(pattern, '/')
	return err
}

// matcher says whether a text matches. It is nil where nothing is asked for.
type matcher func(string) bool

func always(string) bool { return true }

// compile gives what matches a regular expression as a whole. That takes time in proportion to both texts, whoever wrote the glob: the matcher of policies
// can take years for many wildcards in one. An expression that is too large keeps everything.
func compile(expression string) matcher {
	re, err := regexp.Compile("(?s)^(?:" + expression + ")$")
	if err != nil {
		return always
	}
	return re.MatchString
}

// special is what is special in a glob of policies, and refused in an entry. Where it was not refused the entry keeps everything.
const special = `[]{}!\`

// wildcards are what is special in the glob of an entry, quoted, with what it means. A slash of an expression always ends a name.
var wildcards = strings.NewReplacer(`\*\*`, `.*`, `\*`, `[^\x2f]*`, `\?`, `[^\x2f]`)

// expressions are a glob as a regular expression and, behind that, with the home folder in the place of a ~ at its beginning.
func expressions(pattern, home string) []string {
	all := []string{wildcards.Replace(regexp.QuoteMeta(pattern))}
	if rest, ok := strings.CutPrefix(all[0], "~"); ok && home != "" && (rest == "" || rest[0] == '/') {
		all = append(all, regexp.QuoteMeta(strings.TrimSuffix(home, "/"))+rest)
	}
	return all
}

// matcherFor matches one glob; nil where none is given. It may be one over ids, in which ~ has no meaning, or over owners, which may be folders.
func matcherFor(pattern, home string) matcher {
	switch {
	case pattern == "":
		return nil
	case strings.ContainsAny(pattern, special):
		return always
	}
	return compile(strings.Join(expressions(pattern, home), "|"))
}

// pathMatchers match a place with what lies below it, and a folder also for what it lies above: a folder does not go without what is in it.
func pathMatchers(pattern, home string) (place, folder matcher) {
	switch {
	case pattern == "":
		return nil, nil
	case strings.ContainsAny(pattern, special):
		return always, always
	}
	all := expressions(strings.TrimSuffix(pattern, "/**"), home) // the folder itself with what is in it
	const below = "(?:/.*)?"
	at := all[len(all)-1]
	names := strings.Split(at, "/")
	last := len(names) - 1
	above := names[last] + below
	for _, name := range slices.Backward(names[:last]) {
		if name == "" { // the root
			above = "/" + above
			continue
		}
		above = name + "(?:/" + above + ")?"
	}
	return compile(at + below), compile(above)
}
