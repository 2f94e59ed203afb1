package incidents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/strict"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Own is a case that lies beside somebody's own rules, as YAML or JSON.
type Own struct {
	Case
	// File is what messages call it.
	File string
	root *yaml.Node
}

// ReadOwn reads a case. Every error is strict.Problems, with the file and the line of what is wrong; keys that no case has are refused.
func ReadOwn(file string, data []byte) (*Own, error) {
	shape := strict.Shape{Type: reflect.TypeFor[Case](), Leaf: caseLeaf}
	if err := strict.Check(file, data, shape); err != nil {
		return nil, err
	}
	o := &Own{File: file}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, o.bad(0, "%v", err)
	}
	o.root = doc.Content[0]
	if n := alias(o.root); n != nil {
		return nil, o.bad(n.Line, "an anchor or its alias (&, *): write it out, they are not read here")
	}
	var v any
	if err := o.root.Decode(&v); err != nil {
		return nil, o.bad(0, "%v", err)
	}
	plain, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(plain, &o.Case)
	}
	if err != nil {
		return nil, o.bad(0, "it cannot be read as JSON: %v", err)
	}
	return o, o.check()
}

// check refuses what no case can mean.
func (o *Own) check() error {
	worlds := worldNames()
	switch {
	case o.Sentence == "":
		return o.bad(o.root.Line, "sentence is missing: say in one what has to happen")
	case len(o.Want)+len(o.Remembered) == 0:
		return o.bad(cmp.Or(o.Line("want"), o.root.Line), "want is missing or empty: name a candidate with its verdict")
	case o.World != "" && o.Snapshot != nil:
		return o.bad(o.Line("world"), "world and snapshot are both there; leave one of the two out")
	case o.World != "" && !slices.Contains(worlds, o.World):
		return o.bad(o.Line("world"), "world: there is no %q%s", o.World, text.Hint(o.World, worlds))
	}
	verdicts := []string{decision.Reap, decision.Spare}
	for id, w := range o.Want {
		if w != nil && !slices.Contains(verdicts, w.Verdict) {
			return o.bad(o.Line("want", id), "want: verdict of %s is %q; it is reap or spare, and ~ in place of all of it for what no rule claims", id, w.Verdict)
		}
	}
	return nil
}

// caseLeaf takes snapshots, changes and configurations as they are, which others read, and ~ for what is out of scope.
func caseLeaf(t reflect.Type, n *yaml.Node) (string, bool) {
	switch t {
	case reflect.TypeFor[map[string]any]():
		if n.Kind != yaml.MappingNode {
			return "it wants keys and values", true
		}
		return "", true
	case reflect.TypeFor[map[string]*Want]():
		for i := 1; i < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
			if n.Content[i].ShortTag() == "!!null" { // out of scope
				n.Content[i] = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Content[i].Line}
			}
		}
	}
	return "", false
}

func alias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	for _, c := range n.Content {
		if a := alias(c); a != nil {
			return a
		}
	}
	return nil
}

func worldNames() []string {
	files, err := fs.Glob(winnow.Incidents, folder+"/worlds/*.json")
	if err != nil {
		return nil
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".json")
	}
	return files
}

func (o *Own) bad(line int, format string, args ...any) strict.Problems {
	return strict.Problems{{File: o.File, Line: line, Text: fmt.Sprintf(format, args...)}}
}

// Line is the line of a key by the names that lead to it, or of the last of them that is there; 0 when it is missing.
func (o *Own) Line(keys ...string) int {
	line, at := 0, o.root
	for _, key := range keys {
		i := slices.IndexFunc(at.Content, func(n *yaml.Node) bool { return n.Value == key })
		if at.Kind != yaml.MappingNode || i < 0 || i+1 >= len(at.Content) {
			break
		}
		line, at = at.Content[i].Line, at.Content[i+1]
	}
	return line
}

// Look is the case's snapshot. A fact in change that no snapshot has is refused: misspelt, it would change nothing.
func (o *Own) Look() (*snapshot.Snapshot, error) {
	doc, err := o.Document()
	if err != nil {
		return nil, o.place(err)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, o.bad(0, "%v", err)
	}
	s, err := known(data)
	if err != nil && o.Snapshot != nil { // another version of Winnow may have written it
		if base, e := json.Marshal(o.Snapshot); e == nil {
			if _, e := known(base); e != nil {
				s, err = Parse(doc)
			}
		}
	}
	if err != nil {
		return nil, o.place(err)
	}
	return s, nil
}

func known(data []byte) (*snapshot.Snapshot, error) {
	var s snapshot.Snapshot
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&s)
	s.FillNull()
	return &s, err
}

var unknownField = regexp.MustCompile(`json: unknown field ("[^"]*")`)

// place says of an error in reading the snapshot where in the file it comes from.
func (o *Own) place(err error) error {
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		name, e := strconv.Unquote(m[1])
		if e != nil {
			name = m[1]
		}
		return o.bad(o.lineOf(name), "a snapshot has no fact %q; winnow policy schema snapshot lists all", name)
	}
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) {
		field := shape.Field[strings.LastIndexByte(shape.Field, '.')+1:]
		return o.bad(o.lineOf(field), "%s is a %s; it wants a value of the type %s", field, shape.Value, shape.Type)
	}
	return o.bad(cmp.Or(o.Line("change"), o.Line("snapshot")), "%v", err)
}

// lineOf is the line of the first key of that name in what the case says of the machine.
func (o *Own) lineOf(name string) int {
	for _, section := range []string{"change", "snapshot"} {
		i := slices.IndexFunc(o.root.Content, func(n *yaml.Node) bool { return n.Value == section })
		if i < 0 || i+1 >= len(o.root.Content) {
			continue
		}
		if line := find(o.root.Content[i+1], name); line > 0 {
			return line
		}
	}
	return cmp.Or(o.Line("change"), o.Line("snapshot"))
}

func find(n *yaml.Node, name string) int {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.Value == name {
			return c.Line
		}
		if line := find(c, name); line > 0 {
			return line
		}
	}
	return 0
}

// Configuration is the shipped configuration with what the case says of its rules section, read as config.yaml is. As for the incidents that
// ship, sessions named worker- are in scope.
func (o *Own) Configuration() (*config.Config, error) {
	rules := Merge(map[string]any{"session_names": map[string]any{"exact": []any{}, "prefix": []any{"worker-"}}}, o.Config)
	data, err := yaml.Marshal(map[string]any{"version": 1, "rules": rules})
	if err != nil {
		return nil, o.bad(o.Line("config"), "%v", err)
	}
	c, err := config.Parse(o.File, data, nil)
	if err != nil {
		return nil, o.InConfig(err)
	}
	return c, nil
}

// InConfig says of an error in the configuration where in the case it comes from.
func (o *Own) InConfig(err error) error {
	var wrong strict.Problems
	if !errors.As(err, &wrong) {
		words := strings.TrimSuffix(strings.TrimPrefix(err.Error(), o.File+": "), "; nothing was done")
		return o.bad(o.Line("config"), "config: %s", inText.ReplaceAllString(words, ""))
	}
	out := slices.Clone(wrong)
	for i, p := range wrong {
		keys := strings.Split(strings.TrimPrefix(p.Key, "rules."), ".")
		out[i].Line = o.Line(append([]string{"config"}, keys...)...)
		out[i].Text = strings.ReplaceAll(p.Text, "rules.", "config.")
	}
	return out
}

// inText is a line of the text that was made of the case, which says nothing to anybody.
var inText = regexp.MustCompile(`^[^ ]*:[0-9]+: `)
