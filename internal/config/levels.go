package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// levelsKey is where the levels of rules stand. Viper would take a rule's name apart at its dots, so it is read from the file itself.
const levelsKey = "rules.levels"

// words are the levels that a rule may have; a rule that protects is either on or off.
var words = []string{decision.On, decision.Ask, decision.Observe, decision.Off}

// takeRules takes what is named by rules out of a file that was held against its shape: their levels, sorted, each for every kind that it is
// so for, and the parameters of one's own rules. What is left of the file has neither. The error is of the type strict.Problems.
func (c *Config) takeRules(file string, data []byte) (rest []byte, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	levels, own := cut(&doc, strings.Split(levelsKey, ".")...), cut(&doc, strings.Split(policy.CustomKey, ".")...)
	if levels == nil && own == nil {
		return data, nil
	}
	r := levelReader{file: file, levelsAt: levelsKey, customAt: policy.CustomKey}
	if err := r.read(levels, own); err != nil {
		return nil, err
	}
	c.levels, c.levelLines, c.custom = r.levels, r.lines, r.own
	return yaml.Marshal(&doc)
}

// read reads both sections; nil is one that is not there. The error is of the type strict.Problems.
func (r *levelReader) read(levels, own *yaml.Node) error {
	r.lines = map[string]int{}
	if levels != nil {
		for _, at := range r.pairs(levels, r.levelsAt) {
			r.lines[at.key.Value] = at.key.Line
			r.rule(at.key, at.value)
		}
	}
	if own != nil {
		r.readCustom(own)
	}
	if len(r.wrong) > 0 {
		return r.wrong
	}
	sortLevels(r.levels)
	return nil
}

func sortLevels(levels []subject.RuleLevel) {
	slices.SortFunc(levels, func(a, b subject.RuleLevel) int {
		return strings.Compare(a.Rule+" "+a.Kind, b.Rule+" "+b.Kind)
	})
}

// SetLevels puts levels, each written RULE=LEVEL, over those of the configuration and of layers.
func (c *Config) SetLevels(written []string) error {
	r := levelReader{file: "--level", levelsAt: "--level", lines: map[string]int{}}
	for _, w := range written {
		rule, level, ok := strings.Cut(w, "=")
		if !ok {
			return Usagef("--level: %q is no rule with its level, such as reap.dirs.landed=on; nothing was done", w)
		}
		r.rule(&yaml.Node{Kind: yaml.ScalarNode, Value: rule}, &yaml.Node{Kind: yaml.ScalarNode, Value: level})
	}
	if len(r.wrong) > 0 {
		return Usagef("%w; nothing was done", r.wrong)
	}
	c.setLevels = r.levels
	c.levels = slices.DeleteFunc(slices.Clone(c.levels), func(l subject.RuleLevel) bool {
		return slices.ContainsFunc(c.setLevels, func(u subject.RuleLevel) bool { return u.Rule == l.Rule && u.Kind == l.Kind })
	})
	c.levels = append(c.levels, c.setLevels...)
	sortLevels(c.levels)
	c.Rules.Levels = notOn(c.levels)
	return nil
}

// GivenLevels are the levels that SetLevels was given.
func (c *Config) GivenLevels() []subject.RuleLevel { return c.setLevels }

// notOn are the levels of the rules that are not on, as policies see them.
func notOn(levels []subject.RuleLevel) []subject.RuleLevel {
	return slices.DeleteFunc(slices.Clone(levels), func(l subject.RuleLevel) bool { return l.Level == decision.On })
}

// cut takes what is at a path out of a document, and gives it; nil where nothing is there.
func cut(n *yaml.Node, path ...string) *yaml.Node {
	if n.Kind == yaml.DocumentNode {
		return cut(n.Content[0], path...)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch {
		case n.Content[i].Value != path[0]:
		case len(path) > 1:
			return cut(n.Content[i+1], path[1:]...)
		default:
			found := n.Content[i+1]
			n.Content = slices.Delete(n.Content, i, i+2)
			return found
		}
	}
	return nil
}

// levelReader reads the levels of rules.
type levelReader struct {
	file string
	// levelsAt and customAt are the keys under which levels and parameters of one's own stand in the file.
	levelsAt, customAt string
	// levels are all that the file gives, on among them.
	levels []subject.RuleLevel
	// lines are where rules stand, own the parameters of one's own rules.
	lines map[string]int
	own   []customValue
	wrong strict.Problems
}

type pair struct{ key, value *yaml.Node }

func (r *levelReader) bad(n *yaml.Node, key, format string, args ...any) {
	r.wrong = append(r.wrong, strict.Problem{File: r.file, Line: n.Line, Key: key, Text: key + ": " + fmt.Sprintf(format, args...)})
}

// pairs are the entries of a section, each key once.
func (r *levelReader) pairs(n *yaml.Node, key string) (out []pair) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if slices.ContainsFunc(out, func(p pair) bool { return p.key.Value == k.Value }) {
			r.bad(k, key+"."+k.Value, "it stands twice")
			continue
		}
		out = append(out, pair{k, n.Content[i+1]})
	}
	return out
}

// rule reads what stands for one rule: a level, or a level by kind.
func (r *levelReader) rule(name, value *yaml.Node) {
	key := r.levelsAt + "." + name.Value
	kinds := snapshot.KindNames()
	family, rest, _ := strings.Cut(name.Value, ".")
	if of, _, _ := strings.Cut(rest, "."); family == "reap" {
		kind, ok := snapshot.KindOfRules(of)
		if !ok {
			r.bad(name, key, "%q is no folder under reap%s", of, spelling.Hint(of, snapshot.RuleFolders()))
			return
		}
		kinds = []string{kind.Name}
	} else if family != "protect" {
		r.bad(name, key, "it wants the name of a rule, such as reap.dirs.landed or protect.young")
		return
	}
	if value.Kind != yaml.MappingNode {
		r.add(name.Value, key, value, kinds...)
		return
	}
	for _, by := range r.pairs(value, key) {
		if !slices.Contains(kinds, by.key.Value) {
			r.bad(by.key, key+"."+by.key.Value, "%q is no kind that the rule is about; it wants one of %s", by.key.Value, strings.Join(kinds, ", "))
			continue
		}
		r.add(name.Value, key+"."+by.key.Value, by.value, by.key.Value)
	}
}

func (r *levelReader) add(rule, key string, value *yaml.Node, kinds ...string) {
	switch {
	case value.Kind != yaml.ScalarNode:
		r.bad(value, key, "it wants one of %s, or these by kind: {process: off}", strings.Join(words, ", "))
	case !slices.Contains(words, value.Value):
		r.bad(value, key, "it is %q; it wants one of %s", value.Value, strings.Join(words, ", "))
	case decision.Protects(rule) && value.Value != decision.On && value.Value != decision.Off:
		r.bad(value, key, "a rule that protects cannot be at %s: write on or off", value.Value)
	default:
		for _, kind := range kinds {
			r.levels = append(r.levels, subject.RuleLevel{Rule: rule, Kind: kind, Level: value.Value})
		}
	}
}

// CheckLevels refuses a level for a rule that is not among those that were loaded.
func (c *Config) CheckLevels(rules []string) error {
	for _, l := range c.levels {
		if !slices.Contains(rules, l.Rule) {
			return Usagef("%w; nothing was done", strict.Problem{File: c.File, Line: c.levelLines[l.Rule], Key: levelsKey,
				Text: fmt.Sprintf("%s: there is no rule %q%s", levelsKey, l.Rule, spelling.Hint(l.Rule, rules))})
		}
	}
	return nil
}

// direction says in which direction a parameter keeps more.
type direction string

const (
	// unknown is one without a known direction: every change may reap more.
	unknown direction = "unknown"
	// larger keeps more where the number is larger, smaller where it is smaller.
	larger  direction = "larger"
	smaller direction = "smaller"
	// more keeps more with every entry that is added to the list, fewer with every one that is taken out of it.
	more  direction = "more"
	fewer direction = "fewer"
	// yes keeps more where it is true.
	yes direction = "yes"
	// neither changes no verdict.
	neither direction = "neither"
)

// directions are those of all parameters, by their keys below rules, as the tags (keeps) of their fields say them. A parameter of one's own rules has none,
// so it is unknown. A test of the shipped policies moves each of them both ways in worlds of the cases, and holds that nothing goes with the value that
// keeps more and stays with the other one. Of lists that collectors go by (rebuildable, tool_files, scaffold, own_sockets, opaque_processes) no saved
// snapshot can show it: an entry less there is one thing more that is work, or that could not be read.
var directions = sync.OnceValue(func() map[string]direction {
	out := map[string]direction{}
	var walk func(t reflect.Type, at string)
	walk = func(t reflect.Type, at string) {
		for f := range t.Fields() {
			if keeps, ok := f.Tag.Lookup("keeps"); ok {
				out[at+f.Tag.Get("json")] = direction(keeps)
			} else if f.Type.Kind() == reflect.Struct {
				walk(f.Type, strings.TrimPrefix(at+f.Tag.Get("json")+".", "."))
			}
		}
	}
	walk(reflect.TypeFor[Rules](), "")
	return out
})

// harsher reports whether a parameter may reap more at now than at said. Both are as JSON has them.
func (d direction) harsher(said, now any) bool {
	switch d {
	case larger:
		return !(number(now) >= number(said))
	case smaller:
		return !(number(now) <= number(said))
	case more:
		return !holds(now, said)
	case fewer:
		return !holds(said, now)
	case yes:
		return now != true && said != now
	case neither:
		return false
	}
	return !reflect.DeepEqual(said, now)
}

// than says what is wrong with a value that is harsher than another one.
func (d direction) than(said string) string {
	switch d {
	case more:
		return "leaves out entries of " + said
	case fewer:
		return "adds entries to " + said
	case unknown, "":
		return "is another value than " + said + ", and of this parameter it is not known which value keeps more"
	}
	return "reaps more than " + said
}

func number(v any) float64 {
	f, _ := v.(float64)
	return f
}

// holds reports whether a list has all entries of another one.
func holds(list, all any) bool {
	has := texts(list)
	return !slices.ContainsFunc(texts(all), func(t string) bool { return !slices.Contains(has, t) })
}

// texts are the entries of a list, each as JSON.
func texts(list any) (out []string) {
	entries, _ := list.([]any)
	for _, e := range entries {
		if data, err := json.Marshal(e); err == nil {
			out = append(out, string(data))
		}
	}
	return out
}

// Direction is in which direction a parameter keeps more, in a word: larger, smaller, more, fewer, yes, neither or unknown.
func Direction(key string) string { return string(cmp.Or(directions()[key], unknown)) }
