package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// ExceptionsName is the file of a tree that says what is to be kept although rules would reap it. It lies in the tree's topmost folder.
const ExceptionsName = "exceptions.yaml"

// Never is how an exception without an end is written.
const Never = "never"

// The bounds of such a file: bytes, entries, rules of an entry, bytes of a glob and of a sentence.
const (
	maxExceptionsFile = 256 << 10
	maxExceptions     = 500
	maxExceptionRules = 50
	maxGlob           = 500
	maxSentence       = 500
)

// LineKey is what a bundle says of the line that an entry had in the folder that the bundle was made of.
const LineKey = "line"

// The keys of a file, of an entry and of its what.
var (
	fileKeys  = []string{"exceptions"}
	entryKeys = []string{"what", "why", "who", "until", "rules"}
	whatKeys  = []string{"id", "path", "label", "owner", "kind"}
)

// exceptionsHelp is where the form is described.
const exceptionsHelp = "see docs/guides/keep-things.md"

// IsExceptions reports whether a file may be meant to hold exceptions: by its name, in any folder and with any ending of data.
func IsExceptions(p string) bool {
	base := strings.ToLower(path.Base(p))
	stem := strings.TrimSuffix(base, path.Ext(base))
	return isData(base) && (stem == "exceptions" || stem == "exception")
}

// misplacedExceptions says of a file that may be meant to hold exceptions, and is not the one that is read, what to do.
func misplacedExceptions(p string) error {
	return fmt.Errorf("%s: %w: exceptions are read from %s in the topmost folder of the policies, and nowhere else: move it there, or give it another name", p, errExceptions, ExceptionsName)
}

var errExceptions = errors.New("it would be passed over")

// exceptionsReader reads one file.
type exceptionsReader struct {
	file    File
	bundled bool
	out     []subject.Exception
	refused Refusals
}

// readExceptions reads the exceptions of a tree. With one mistake in it nothing of a file is used.
func (r *read) readExceptions() Refusals {
	i := slices.IndexFunc(r.files, func(f File) bool { return f.Path == ExceptionsName })
	if i < 0 {
		return nil
	}
	x := &exceptionsReader{file: r.files[i], bundled: r.tree.Bundled}
	x.read()
	if len(x.refused) > 0 {
		return x.refused
	}
	r.exceptions = x.out
	return nil
}

// ReadExceptions reads what the exceptions of a tree of that name hold, which messages call name. The error wraps Refusals.
func ReadExceptions(tree, name string, data []byte) ([]subject.Exception, error) {
	r := &read{files: []File{{Tree: tree, Path: ExceptionsName, Name: name, data: data}}}
	err := r.readExceptions().Err()
	return r.exceptions, err
}

func (x *exceptionsReader) bad(line int, problem, fix string) {
	if x.bundled { // what was made of a bundle's data has lines that no person wrote
		line = 0
	}
	x.refused = append(x.refused, Refusal{Class: ClassException, File: x.file.Name, Line: line, Problem: problem, Fix: fix})
}

func (x *exceptionsReader) read() {
	root := x.document()
	if root == nil {
		return
	}
	top, lines := x.section(root, "the file", fileKeys)
	if top == nil {
		return
	}
	list := top["exceptions"]
	switch {
	case list == nil:
		if len(lines) == 0 {
			x.bad(0, "it has no key exceptions", "write exceptions: and below it a list of entries, or exceptions: [] where there are none; "+exceptionsHelp)
		}
		return
	case list.Kind != yaml.SequenceNode:
		x.bad(list.Line, "exceptions is no list", "begin each entry with a dash: - what: {path: ~/code/acme}; "+exceptionsHelp)
		return
	case len(list.Content) > maxExceptions:
		x.bad(list.Line, fmt.Sprintf("%d exceptions, and %d are the most", len(list.Content), maxExceptions), "say with fewer globs what is to be kept, or write a rule below protect")
		return
	}
	for _, n := range list.Content {
		if len(x.refused) > maxRefusals {
			return
		}
		x.entry(n)
	}
}

// document is the one document of the file, nil when it is missing.
func (x *exceptionsReader) document() (root *yaml.Node) {
	const fix = "correct the file; " + exceptionsHelp
	switch data := x.file.data; {
	case len(data) > maxExceptionsFile:
		x.bad(0, fmt.Sprintf("%d bytes, and %d are the most", len(data), maxExceptionsFile), "say with fewer globs what is to be kept")
		return nil
	case !utf8.Valid(data) || bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		x.bad(0, "it is not UTF-8 text, or begins with a byte order mark", "save it as UTF-8 without one")
		return nil
	}
	defer func() { // what the parser did not foresee is a file that cannot be read, and no crash
		if r := recover(); r != nil {
			x.bad(0, fmt.Sprintf("it cannot be read as YAML (%v)", r), fix)
			root = nil
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(x.file.data))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		x.bad(0, "nothing is in it", "write exceptions: [] where there are none, or remove the file")
		return nil
	case err != nil:
		x.syntax(err, fix)
		return nil
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		x.syntax(err, fix)
		return nil
	default:
		x.bad(second.Line, "a second document begins here (---)", "write one document: a second one would be passed over")
		return nil
	}
	if len(doc.Content) != 1 || doc.Content[0].ShortTag() == "!!null" {
		x.bad(0, "nothing is in it", "write exceptions: [] where there are none, or remove the file")
		return nil
	}
	return doc.Content[0]
}

// syntax takes the line out of what the parser says: "yaml: line 3: found character ...".
func (x *exceptionsReader) syntax(err error, fix string) {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	var name string
	if n, _ := fmt.Sscanf(text, "unknown anchor '%s referenced", &name); n == 1 { // the parser says no line of it
		name = "*" + strings.TrimSuffix(name, "'")
		before, _, _ := bytes.Cut(x.file.data, []byte(name))
		line = bytes.Count(before, []byte("\n")) + 1
		text, fix = name+" is an alias in YAML", "put quotes around a glob that begins with *"
	}
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ":")
	}
	x.bad(line, "it is not YAML: "+strings.TrimSpace(text), fix)
}

// plain refuses what is not read: anchors, aliases, tags, and keys without a value.
func (x *exceptionsReader) plain(n *yaml.Node, what string) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0:
		x.bad(n.Line, what+" has an anchor, an alias or a tag (&, *, !)", "write it out, or put quotes around a glob that begins with *")
		return false
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		x.bad(n.Line, what+" has no value", "give it one, or remove the key")
		return false
	}
	return true
}

// section is a map with some of those keys, each once; nil where it cannot be read at all. lines has the keys that are there, also those whose value cannot be read.
func (x *exceptionsReader) section(n *yaml.Node, what string, keys []string) (of map[string]*yaml.Node, lines map[string]int) {
	if !x.plain(n, what) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		x.bad(n.Line, what+" is no section with keys", "write its keys: "+strings.Join(keys, ", ")+"; "+exceptionsHelp)
		return nil, nil
	}
	of, lines = map[string]*yaml.Node{}, map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0:
			x.bad(k.Line, what+" has a key that is no plain text", "write one of "+strings.Join(keys, ", "))
		case !slices.Contains(keys, k.Value):
			x.bad(k.Line, fmt.Sprintf("unknown key %.100q", k.Value), nearestText(k.Value, keys))
		case lines[k.Value] != 0:
			x.bad(k.Line, fmt.Sprintf("key %q stands twice, on line %d too", k.Value, lines[k.Value]), "remove one: it would be passed over")
		case x.plain(v, k.Value):
			of[k.Value] = v
		}
		lines[k.Value] = k.Line
	}
	return of, lines
}

// nearestText is nearest for texts.
func nearestText(written string, oneOf []string) string {
	values := make([]ast.Value, len(oneOf))
	for i, s := range oneOf {
		values[i] = ast.String(s)
	}
	return strings.Replace(nearest(written, values), "It has", "There are", 1)
}

// text is a value as it is written, in one line: false where it is no text or too long.
func (x *exceptionsReader) text(n *yaml.Node, what string, most int) (string, bool) {
	if n.Kind != yaml.ScalarNode || !slices.Contains([]string{"!!str", "!!timestamp"}, n.ShortTag()) {
		x.bad(n.Line, what+" is no text", "put quotes around it")
		return "", false
	}
	s := strings.Join(strings.Fields(n.Value), " ")
	switch {
	case s == "":
		x.bad(n.Line, what+" is empty", "give it a value, or remove the key")
	case len(s) > most:
		x.bad(n.Line, fmt.Sprintf("%s has %d bytes, and %d are the most", what, len(s), most), "write less")
	case strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }):
		x.bad(n.Line, what+" has a character that cannot be printed", "write it without")
	default:
		return s, true
	}
	return "", false
}

func (x *exceptionsReader) entry(n *yaml.Node) {
	before := len(x.refused)
	keys := entryKeys
	if x.bundled {
		keys = append(slices.Clone(keys), LineKey)
	}
	of, lines := x.section(n, "an exception", keys)
	if of == nil {
		return
	}
	e := subject.Exception{Tree: x.file.Tree, File: x.file.Name, Line: n.Line}
	if x.bundled {
		e.Line = 0
		if l := of[LineKey]; l != nil && (l.ShortTag() != "!!int" || l.Decode(&e.Line) != nil || e.Line < 0) {
			x.bad(0, "line is no number of a line", "make the bundle again with winnow policy bundle")
		}
	}
	misspelt := slices.ContainsFunc(slices.Collect(maps.Keys(lines)), func(key string) bool { return !slices.Contains(keys, key) })
	for _, must := range []struct{ key, fix string }{
		{"what", "say what is kept: what: {path: ~/code/acme}"},
		{"why", "say why it is kept, for who reads it later"},
		{"who", "say who asked for it"},
		{"until", "write a day (2026-12-01), a time (2026-12-01T18:00:00Z), or never"},
	} {
		if lines[must.key] == 0 && !misspelt { // it may be that one
			x.bad(n.Line, "an exception has no "+must.key, must.fix)
		}
	}
	for key, read := range map[string]func(*yaml.Node){
		"why":   func(v *yaml.Node) { e.Why, _ = x.text(v, "why", maxSentence) },
		"who":   func(v *yaml.Node) { e.Who, _ = x.text(v, "who", maxSentence) },
		"what":  func(v *yaml.Node) { e.What = x.what(v) },
		"until": func(v *yaml.Node) { e.Until, e.End = x.until(v) },
		"rules": func(v *yaml.Node) { e.Rules = x.rules(v) },
	} {
		if v := of[key]; v != nil {
			read(v)
		}
	}
	if len(x.refused) > before {
		return
	}
	for _, o := range x.out {
		if o.What == e.What && slices.Equal(o.Rules, e.Rules) {
			x.bad(n.Line, fmt.Sprintf("the exception of %s on line %d keeps the same", o.Who, o.Line), "remove one of the two")
		}
	}
	if len(x.refused) == before {
		x.out = append(x.out, e)
	}
}

func (x *exceptionsReader) what(n *yaml.Node) (w subject.What) {
	of, lines := x.section(n, "what", whatKeys)
	if of == nil {
		return w
	}
	globs := 0
	for key := range lines {
		if of[key] == nil && key != "kind" { // it was said what is wrong with it
			globs++
		}
	}
	for _, key := range whatKeys {
		v := of[key]
		if v == nil {
			continue
		}
		s, ok := x.text(v, key, maxGlob)
		if !ok {
			globs++ // it was said
			continue
		}
		switch key {
		case "id":
			w.ID = s
		case "path":
			w.Path = strings.TrimRight(s, "/")
		case "label":
			w.Label = s
		case "owner":
			w.Owner = s
		case "kind":
			w.Kind = s
			if _, known := snapshot.KindOf(s); !known {
				var kinds []string
				for _, k := range snapshot.Kinds {
					kinds = append(kinds, k.Name)
				}
				x.bad(v.Line, fmt.Sprintf("%.100q is no kind", s), nearestText(s, kinds))
			}
			continue
		}
		globs++
		if problem, fix := wrongGlob(key, s); problem != "" {
			x.bad(v.Line, fmt.Sprintf("%s: %.100q %s", key, s, problem), fix)
		}
	}
	if globs == 0 {
		x.bad(n.Line, "what has no id, path, label or owner", "say with one of them, a glob, what is kept; kind alone would be all of that kind")
	}
	return w
}

// probes are names that no glob matches together but one for everything.
var probes = map[string][]string{
	"id":    {"process:7@70", "dir:/q7w/zx", "session:tmux/q7w/$3"},
	"path":  {"/q7w/zx", "/8/kv.j"},
	"label": {"q7w zx", "8"},
	"owner": {"q7w", "8-kv"},
}

// wrongGlob says what is wrong with a glob, and what to write.
func wrongGlob(key, s string) (problem, fix string) {
	if strings.ContainsAny(s, `[]{}!\`) {
		return `has one of []{}!\`, "only *, ** and ? are special here; write ? for such a character"
	}
	if err := CheckGlob(s); err != nil {
		return fmt.Sprintf("is no glob (%v)", err), "write a name, with * for any text without a slash and ** for any text"
	}
	if key == "path" {
		switch above, _ := strings.CutSuffix(s, "/**"); {
		case !strings.HasPrefix(s, "/") && s != "~" && !strings.HasPrefix(s, "~/"):
			return "does not begin with / or ~/", "write the whole path: ~/code/acme; a name alone is a label"
		case slices.ContainsFunc(strings.Split(s, "/"), func(part string) bool { return part == "." || part == ".." }) || strings.Contains(s, "//"):
			return "has . or .. or an empty name in it", "write the plain path"
		case strings.Contains(above, "**"):
			return "has ** before its end", "name the folder that it is in, or the thing by its label: every folder could hold something of such a path"
		}
	}
	matches := func(probe string) bool {
		here, _ := matchGlob(s, probe)
		below, _ := matchGlob(strings.TrimRight(s, "/")+"/**", probe)
		return here || key == "path" && below
	}
	if !slices.ContainsFunc(probes[key], func(p string) bool { return !matches(p) }) {
		return "matches everything", "say what is kept; to stop a rule, write its level into rules.levels of config.yaml"
	}
	return "", ""
}

// until reads when an exception ends. A day is over at its end, in UTC, so that all machines agree on it.
func (x *exceptionsReader) until(n *yaml.Node) (string, *time.Time) {
	s, ok := x.text(n, "until", maxSentence)
	if !ok || s == Never {
		return s, nil
	}
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return s, new(day.AddDate(0, 0, 1))
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return s, new(at.UTC())
	}
	x.bad(n.Line, fmt.Sprintf("until: %.100q is no time", s), "write a day (2026-12-01), a time (2026-12-01T18:00:00Z), or never")
	return "", nil
}

func (x *exceptionsReader) rules(n *yaml.Node) (out []string) {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > maxExceptionRules {
		x.bad(n.Line, fmt.Sprintf("rules is no list of 1 to %d rules", maxExceptionRules), "write rules: [reap.dirs.landed], or leave it out: then it keeps against all rules")
		return nil
	}
	for _, one := range n.Content {
		if !x.plain(one, "rules") {
			continue
		}
		id, ok := x.text(one, "a rule", maxGlob)
		switch {
		case !ok:
		case !decision.Reaps(id):
			x.bad(one.Line, fmt.Sprintf("%.100q is no rule that reaps", id), "write ids such as reap.dirs.landed; winnow doctor lists all rules")
		case slices.Contains(out, id):
			x.bad(one.Line, fmt.Sprintf("%s stands twice", id), "remove one")
		default:
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// Exceptions are those that the trees bring, in the order of the trees and of each file. The list must not be changed.
func (p *Policy) Exceptions() []subject.Exception { return p.exceptions }

// Exceptions are those that were read, in the order of the trees and of each file.
func (s *Sources) Exceptions() (out []subject.Exception) {
	for _, t := range s.trees {
		i := slices.IndexFunc(t.files, func(f File) bool { return f.Path == ExceptionsName })
		for _, e := range t.exceptions {
			e.File = t.files[i].Name // another one than when it was read, where two trees have the same
			out = append(out, e)
		}
	}
	return out
}

var exceptionsRef = ast.MustParseRef("input.exceptions")

// idle refuses exceptions that no rule would ask for, and those against rules that there are not: they would keep nothing, without a word.
func (s *Sources) idle(modules []module, rules map[string]Rule) (refused Refusals) {
	all := s.Exceptions()
	if len(all) == 0 {
		return nil
	}
	asked := false
	for _, m := range modules {
		if folder := m.Package.Path; len(folder) > 2 && folder[2].Equal(ast.StringTerm("protect")) {
			ast.WalkRefs(m.Module, func(r ast.Ref) bool {
				asked = asked || r.HasPrefix(exceptionsRef)
				return asked
			})
		}
	}
	if !asked {
		refused = append(refused, Refusal{
			Class: ClassException, File: all[0].File, Line: all[0].Line,
			Problem: "no rule below protect reads input.exceptions, so that no exception would keep anything",
			Fix:     "load the embedded policies too, or add their folder protect/excepted (winnow init writes it)",
		})
	}
	var ids []string
	for id := range rules {
		if decision.Reaps(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, e := range all {
		for _, id := range e.Rules {
			if _, known := rules[id]; !known {
				refused = append(refused, Refusal{
					Class: ClassException, File: e.File, Line: e.Line, Problem: fmt.Sprintf("it keeps against %s, and no such rule is loaded", id), Fix: nearestText(id, ids),
				})
			}
		}
	}
	return refused
}
