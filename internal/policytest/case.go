package policytest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/saved"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// Own is a case that lies beside somebody's own rules, as YAML or JSON.
type Own struct {
	Case
	*strict.File
}

// ReadOwn reads a case. Every error is strict.Problems, with the file and the line of what is wrong; keys that no case has are refused.
func ReadOwn(file string, data []byte) (*Own, error) {
	o := &Own{}
	f, err := strict.Read(file, data, strict.Shape{Type: reflect.TypeFor[Case](), Null: reflect.TypeFor[*Want]()}, &o.Case)
	if err != nil {
		return nil, err
	}
	o.File = f
	return o, o.check()
}

// check refuses what no case can mean.
func (o *Own) check() error {
	worlds := worldNames()
	switch {
	case o.Sentence == "":
		return o.Bad(o.Line(), "sentence is missing: say in one what has to happen")
	case len(o.Want)+len(o.Remembered) == 0:
		return o.Bad(o.Line("want"), "want is missing or empty: name a candidate with its verdict")
	case o.World != "" && o.Snapshot != nil:
		return o.Bad(o.Line("world"), "world and snapshot are both there; leave one of the two out")
	case o.World != "" && !slices.Contains(worlds, o.World):
		return o.Bad(o.Line("world"), "world: there is no %q%s", o.World, spelling.Hint(o.World, worlds))
	}
	for id, w := range o.Want {
		if w != nil && w.Verdict != decision.Reap && w.Verdict != decision.Spare {
			return o.Bad(o.Line("want", id), "want: verdict of %s is %q; it is reap or spare, and ~ in place of all of it for what no rule claims", id, w.Verdict)
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

// Look is the case's snapshot. A fact in change that no snapshot has is refused: misspelt, it would change nothing.
func (o *Own) Look() (*snapshot.Snapshot, error) {
	doc, err := o.Document()
	if err != nil {
		return nil, o.misread(err)
	}
	for _, unknown := range unknownFacts(doc) {
		if o.Snapshot == nil || len(unknownFacts(o.Snapshot)) == 0 { // else another version of Winnow may have written it
			return nil, o.Bad(o.factLine(unknown), "a snapshot has no fact %q; winnow policy schema snapshot lists all", unknown)
		}
	}
	s, err := Parse(doc)
	if err != nil {
		return nil, o.misread(err)
	}
	return s, nil
}

// unknownFacts are the names in a document that no snapshot has.
func unknownFacts(doc Document) (names []string) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil
	}
	for _, at := range saved.Unknown(data) {
		at, _, _ = strings.Cut(at, " (the nearest is ")
		names = append(names, at[strings.LastIndexByte(at, '.')+1:])
	}
	return names
}

// misread says of an error in reading the snapshot where in the file it comes from.
func (o *Own) misread(err error) error {
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) {
		field := shape.Field[strings.LastIndexByte(shape.Field, '.')+1:]
		return o.Bad(o.factLine(field), "%s is a %s; it wants a value of the type %s", field, shape.Value, shape.Type)
	}
	return o.Bad(o.factLine(""), "%v", err)
}

// factLine is the line of the first key of that name in what the case says of the machine.
func (o *Own) factLine(name string) int {
	return cmp.Or(o.Find(name, "change"), o.Find(name, "snapshot"), o.Line("change"), o.Line("snapshot"))
}

// Configuration is the shipped configuration with what the case says of its rules section, read as config.yaml is. As for the incidents that
// ship, sessions named worker- are in scope.
func (o *Own) Configuration() (*config.Config, error) {
	rules := Merge(map[string]any{"session_names": map[string]any{"exact": []any{}, "prefix": []any{"worker-"}}}, o.Config)
	data, err := yaml.Marshal(map[string]any{"version": 1, "rules": rules})
	if err != nil {
		return nil, o.Bad(o.Line("config"), "%v", err)
	}
	c, err := config.Parse(o.Name, data, nil)
	if err != nil {
		return nil, o.InConfig(err)
	}
	return c, nil
}

// InConfig says of an error in the configuration where in the case it comes from.
func (o *Own) InConfig(err error) error {
	var wrong strict.Problems
	if !errors.As(err, &wrong) {
		words := strings.TrimSuffix(strings.TrimPrefix(err.Error(), o.Name+": "), "; nothing was done")
		return o.Bad(o.Line("config"), "config: %s", inText.ReplaceAllString(words, ""))
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
