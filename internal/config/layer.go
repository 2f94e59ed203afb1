package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Layer is what the layer.yaml of a tree of policies says: levels and parameters, which stand below the operator's configuration, and what
// the layers below may do.
type Layer struct {
	// Name is what messages call the tree, File its layer.yaml.
	Name, File string
	// Published is true for an organisation's bundle: the configuration may make milder what it says, and needs a grant for more.
	Published bool
	// Levels are all that it gives, on among them, for each kind. Grants are the names that it grants.
	Levels []subject.RuleLevel
	Grants []string
	// Held is true where all that it does not give stands at the program's defaults, and is held like what it gives.
	Held bool

	parameters map[string]any // as a section rules of a configuration, without custom
	own        []customValue
	lines      map[string]int // by the key from the top of the file
}

// layerFile is the shape of a layer.yaml.
type layerFile struct {
	Levels     []subject.RuleLevel `json:"levels"`
	Parameters Rules               `json:"parameters"`
	Grants     []string            `json:"grants"`
	Defaults   string              `json:"defaults"`
}

// The words of defaults: whether the layers below may change what the file does not give.
const (
	defaultsFree = "free"
	defaultsHeld = "held"
)

// The families of names that are granted: reasons to reap, levels of rules, parameters.
const (
	grantReap       = decision.ReapFamily
	grantLevels     = "levels."
	grantParameters = "parameters."
)

// ReadLayer reads the text of a layer.yaml, which messages call file. Every error is a UsageError with file and line.
func ReadLayer(name, file string, data []byte) (*Layer, error) {
	shape := strict.Shape{Type: reflect.TypeFor[layerFile](), Leaf: leaf, Empty: "write levels, parameters or grants into it, or remove it"}
	if _, err := strict.Read(file, data, shape, nil); err != nil {
		return nil, Usagef("%w; nothing was decided", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, Usagef("%s: %w", file, err)
	}
	l := &Layer{Name: name, File: file, parameters: map[string]any{}, lines: map[string]int{}}
	levels, own, again := cut(&doc, "levels"), cut(&doc, "parameters", "custom"), cut(&doc, "parameters", "levels")
	r := levelReader{file: file, levelsAt: "levels", customAt: "parameters.custom"}
	if at := cut(&doc, "defaults"); at != nil {
		l.Held, l.lines["defaults"] = at.Value == defaultsHeld, at.Line
		if words := []string{defaultsFree, defaultsHeld}; !slices.Contains(words, at.Value) {
			r.bad(at, "defaults", "unknown word %q%s", at.Value, spelling.Hint(at.Value, words))
		}
	}
	if again != nil {
		r.bad(again, "parameters.levels", "levels are no parameters: they stand under levels, at the top of the file")
	}
	if err := r.read(levels, own); err != nil {
		return nil, Usagef("%w; nothing was decided", err)
	}
	l.Levels, l.own = r.levels, r.own
	for rule, line := range r.lines {
		l.lines[grantLevels+rule] = line
	}
	for _, v := range r.own {
		l.lines[grantParameters+"custom."+v.name] = v.line
	}
	if at := cut(&doc, "parameters"); at != nil {
		l.leaves(at, reflect.TypeFor[Rules](), strings.TrimSuffix(grantParameters, "."))
		if err := at.Decode(&l.parameters); err != nil {
			return nil, Usagef("%s:%d: parameters: %w", file, at.Line, err)
		}
	}
	if at := cut(&doc, "grants"); at != nil {
		for _, n := range at.Content {
			l.Grants = append(l.Grants, n.Value)
			l.lines["grants."+n.Value] = n.Line
		}
	}
	// A value that no configuration may have is wrong here too.
	if _, err := load("", nil, nil, l); err != nil {
		return nil, joined(strict.Problems{l.value(err)})
	}
	return l, nil
}

// value says of a value that no configuration may have where it stands here. err is what load answered, as of the defaults.
func (l *Layer) value(err error) strict.Problem {
	said := strings.TrimSuffix(strings.TrimPrefix(err.Error(), "the environment: "), "; nothing was done")
	key := strict.KeyOf(said)
	if name, ok := strings.CutPrefix(key, "rules."); ok {
		key = grantParameters + name
		said = key + strings.TrimPrefix(said, "rules."+name)
	}
	return strict.Problem{File: l.File, Line: l.lines[key], Key: key, Text: said}
}

// leaves notes the line of every parameter below a node.
func (l *Layer) leaves(n *yaml.Node, t reflect.Type, at string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := at + "." + n.Content[i].Value
		if of, ok := sectionOf(t, n.Content[i].Value); ok {
			l.leaves(n.Content[i+1], of, key)
		} else {
			l.lines[key] = n.Content[i].Line
		}
	}
}

// sectionOf is the type of a field that has keys of its own.
func sectionOf(t reflect.Type, key string) (reflect.Type, bool) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			if of, ok := sectionOf(f.Type, key); ok {
				return of, true
			}
		case name == key && f.Type.Kind() == reflect.Struct:
			return f.Type, true
		}
	}
	return nil, false
}

// placeOf is where a key of the file stands.
func (l *Layer) placeOf(key string) string {
	line, given := l.lines[key]
	if !given {
		line = l.lines["defaults"]
	}
	return fmt.Sprintf("%s:%d", l.File, line)
}

func (l *Layer) bad(key, format string, args ...any) strict.Problem {
	return strict.Problem{File: l.File, Line: l.lines[key], Key: key, Text: key + ": " + fmt.Sprintf(format, args...)}
}

// Stated are the parameters that it gives, by their keys below rules, sorted.
func (l *Layer) Stated() (out []string) {
	for key := range l.lines {
		if name, ok := strings.CutPrefix(key, grantParameters); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Grant reports whether it grants a name: itself, or all names that begin so (reap.dirs.*).
func (l *Layer) Grant(name string) bool {
	return slices.ContainsFunc(l.Grants, func(g string) bool { return g == name || wildcard(g) && strings.HasPrefix(name, g[:len(g)-1]) })
}

func wildcard(grant string) bool { return strings.HasSuffix(grant, ".*") }

// Check refuses names in a layer that stand for nothing: a level of no loaded rule, a parameter that none declares, a grant of no rule, folder or parameter. rules are the ids of the
// loaded rules, own the parameters that they declare.
func (l *Layer) Check(rules []string, own []policy.Parameter) error {
	var wrong strict.Problems
	for _, v := range l.Levels {
		if key := grantLevels + v.Rule; !slices.Contains(rules, v.Rule) {
			wrong = append(wrong, l.bad(key, "there is no rule %q%s", v.Rule, spelling.Hint(v.Rule, rules)))
		}
	}
	parameters, declared := Parameters(), []string{}
	for _, p := range own {
		parameters, declared = append(parameters, "custom."+p.Name), append(declared, p.Name)
	}
	for _, v := range l.own {
		if !slices.Contains(declared, v.name) {
			wrong = append(wrong, v.bad("no loaded rule has a parameter of this name%s", spelling.Hint(v.name, declared)))
		}
	}
	for _, g := range l.Grants {
		problem := ""
		switch family, rest, _ := strings.Cut(g, "."); family + "." {
		case grantReap:
			problem = grantedFinding(rest)
		case grantLevels:
			problem = unnamed(rest, "rule", rules)
		case grantParameters:
			problem = unnamed(rest, "parameter", parameters)
		case decision.ProtectFamily:
			problem = "reasons to keep need no grant: every layer may add them"
		default:
			problem = "it wants reap.FOLDER.NAME for a reason to reap, levels.RULE or parameters.KEY. A .* at the end stands for all names that begin so"
		}
		if problem != "" {
			wrong = append(wrong, strict.Problem{File: l.File, Line: l.lines["grants."+g], Key: "grants", Text: fmt.Sprintf("grants: %q: %s", g, problem)})
		}
	}
	return joined(wrong)
}

func joined(wrong strict.Problems) error {
	if len(wrong) == 0 {
		return nil
	}
	return Usagef("%w; nothing was decided", slices.Compact(wrong))
}

// grantedFinding says what is wrong with what comes after reap. in a grant. The rule itself need not be there: it is for others to add.
func grantedFinding(rest string) string {
	folder, name, named := strings.Cut(rest, ".")
	switch {
	case rest == "*":
		return ""
	case !slices.Contains(snapshot.RuleFolders(), folder):
		return fmt.Sprintf("%q is no folder under reap%s", folder, spelling.Hint(folder, snapshot.RuleFolders()))
	case !named || name == "":
		return "it wants the name of a rule behind it, or * for all: reap." + folder + ".*"
	case strings.Contains(name, "."):
		return "a rule has one name behind its folder: reap." + folder + ".NAME"
	}
	return ""
}

// unnamed says that what a grant names is not there.
func unnamed(name, what string, there []string) string {
	begins := func(n string) bool { return strings.HasPrefix(n, name[:len(name)-1]) }
	if name == "*" || wildcard(name) && slices.ContainsFunc(there, begins) || slices.Contains(there, name) {
		return ""
	}
	return fmt.Sprintf("there is no %s %q%s", what, name, spelling.Hint(name, there))
}

// Stand puts what layers of policies say of levels and parameters below the configuration: the topmost layer first, each over the one before, and
// the operator's file and environment over all. It refuses what reaps more than an organisation's layer says and does not grant by name; layers of
// one height that say different things are refused too. Stand begins again each time.
func (c *Config) Stand(layers []*Layer) error {
	if len(layers) == 0 && c.layered == 0 {
		return nil
	}
	c.layered = len(layers)
	again, err := load(c.read.path, c.read.data, c.read.env, layers...)
	if err != nil {
		return err
	}
	again.layersOwn = nil
	levels := map[[2]string]string{}
	for _, l := range layers {
		again.layersOwn = append(again.layersOwn, l.own...)
		for _, v := range l.Levels {
			levels[[2]string{v.Rule, v.Kind}] = v.Level
		}
	}
	for _, v := range slices.Concat(again.levels, c.setLevels) {
		levels[[2]string{v.Rule, v.Kind}] = v.Level
	}
	var all []subject.RuleLevel
	for _, k := range slices.SortedFunc(maps.Keys(levels), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		all = append(all, subject.RuleLevel{Rule: k[0], Kind: k[1], Level: levels[k]})
	}
	again.Rules.Levels = notOn(all)
	if err := again.checkLayers(layers, levels); err != nil {
		return err
	}
	c.Rules, c.layersOwn = again.Rules, again.layersOwn
	return nil
}

// checkLayers refuses what says more than an organisation's layers, or contradicts them among themselves.
func (c *Config) checkLayers(layers []*Layer, levels map[[2]string]string) error {
	var wrong strict.Problems
	now := withOwn(flat(c.Rules), slices.Concat(c.layersOwn, c.custom))
	for i, l := range layers {
		for _, other := range layers[:i] {
			if other.Published == l.Published {
				wrong = append(wrong, l.contradicts(other)...)
			}
		}
		if !l.Published {
			continue
		}
		for _, v := range l.heldLevels(levels) {
			key := grantLevels + v.Rule
			if is := levels[[2]string{v.Rule, v.Kind}]; rank(v.Rule, is) > rank(v.Rule, v.Level) && !l.Grant(key) {
				wrong = append(wrong, c.overruled(layers, l, key,
					"%s for the kind %s reaps more than %s, which %s says (%s)", is, v.Kind, v.Level, l.Name, l.placeOf(key)))
			}
		}
		said, names := l.values(), l.Stated()
		if l.Held {
			names = slices.Compact(slices.Sorted(slices.Values(append(names, Parameters()...))))
		}
		for _, name := range names {
			key := grantParameters + name
			is, has := now[name], said[name]
			if direction := directions()[name]; direction.harsher(has, is) && !l.Grant(key) {
				wrong = append(wrong, c.overruled(layers, l, key,
					"%s %s, which %s says (%s)", shortly(is), direction.than(shortly(has)), l.Name, l.placeOf(key)))
			}
		}
	}
	return joined(wrong)
}

// heldLevels are the levels that a layer holds: those that it gives, and, where it holds the defaults, on for all others that anybody gives a level.
func (l *Layer) heldLevels(levels map[[2]string]string) []subject.RuleLevel {
	out := slices.Clone(l.Levels)
	if !l.Held {
		return out
	}
	for k := range levels {
		if !slices.ContainsFunc(l.Levels, func(v subject.RuleLevel) bool { return v.Rule == k[0] && v.Kind == k[1] }) {
			out = append(out, subject.RuleLevel{Rule: k[0], Kind: k[1], Level: decision.On})
		}
	}
	sortLevels(out)
	return out
}

// contradicts are what two layers of one height say differently.
func (l *Layer) contradicts(other *Layer) (wrong strict.Problems) {
	for _, v := range l.Levels {
		for _, o := range other.Levels {
			if o.Rule == v.Rule && o.Kind == v.Kind && o.Level != v.Level {
				key := grantLevels + v.Rule
				wrong = append(wrong, l.bad(key, "%s, and %s says %s: two layers of one height must agree", v.Level, other.placeOf(key), o.Level))
			}
		}
	}
	mine, theirs := l.values(), other.values()
	for _, name := range l.Stated() {
		if slices.Contains(other.Stated(), name) && !reflect.DeepEqual(mine[name], theirs[name]) {
			key := grantParameters + name
			wrong = append(wrong, l.bad(key, "%s, and %s says %s: two layers of one height must agree",
				shortly(mine[name]), other.placeOf(key), shortly(theirs[name])))
		}
	}
	return wrong
}

// values are the parameters as they would be by this layer alone.
func (l *Layer) values() map[string]any {
	c, err := load("", nil, nil, l)
	if err != nil { // ReadLayer did the same
		return map[string]any{}
	}
	return withOwn(flat(c.Rules), l.own)
}

// withOwn adds values of parameters of one's own to those of the others, a later one over an earlier one.
func withOwn(values map[string]any, own []customValue) map[string]any {
	for _, v := range own {
		values["custom."+v.name] = v.value
	}
	return values
}

// overruled is the problem that what stands over a layer says something else of a key: the environment, the file, or another layer.
func (c *Config) overruled(layers []*Layer, below *Layer, key, format string, args ...any) strict.Problem {
	p := c.speaker(layers, below, key)
	ways := fmt.Sprintf(": take it out, or have %s grant it (in its layer.yaml: grants: [%s])", below.Name, key)
	p.Text = p.Key + ": " + fmt.Sprintf(format, args...) + ways
	return p
}

// speaker finds where a parameter or a level that is over a layer's got its value, and under which key.
func (c *Config) speaker(layers []*Layer, below *Layer, key string) strict.Problem {
	name, parameter := strings.CutPrefix(key, grantParameters)
	if !parameter {
		if line := c.levelLines[strings.TrimPrefix(key, grantLevels)]; line > 0 {
			return strict.Problem{File: c.read.path, Line: line, Key: "rules." + key}
		}
	} else {
		for _, v := range slices.Backward(c.custom) {
			if "custom."+v.name == name {
				return strict.Problem{File: v.file, Line: v.line, Key: "rules." + name}
			}
		}
		variable := EnvName("rules." + name)
		if slices.ContainsFunc(c.read.env, func(e string) bool { return strings.HasPrefix(e, variable+"=") && e != variable+"=" }) {
			return strict.Problem{File: variable, Key: "rules." + name}
		}
		if line := strict.Line(c.read.data, "rules."+name, func(string) string { return "" }); line > 0 {
			return strict.Problem{File: c.read.path, Line: line, Key: "rules." + name}
		}
	}
	for _, l := range slices.Backward(layers) {
		if l != below && l.lines[key] > 0 {
			return strict.Problem{File: l.File, Line: l.lines[key], Key: key}
		}
	}
	return strict.Problem{File: c.read.path, Key: key}
}

// rank orders the levels of a rule: a greater one reaps more.
func rank(rule, level string) int {
	order := []string{decision.Off, decision.Observe, decision.Ask, decision.On}
	if decision.Protects(rule) {
		order = []string{decision.On, decision.Off}
	}
	return slices.Index(order, level)
}

// flat are the parameters of the rules by their keys with dots, as JSON has them; without levels and those of one's own.
func flat(r Rules) map[string]any {
	r.Levels, r.Custom = nil, nil
	data, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("the rules are no JSON: %v", err)) // they were read from YAML
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		panic(fmt.Sprintf("the rules are no JSON: %v", err))
	}
	out := map[string]any{}
	flatten(tree, "", out)
	for _, key := range []string{"levels", "custom", "markers"} { // markers are described in collect.processes.markers
		delete(out, key)
	}
	return out
}

func flatten(tree map[string]any, at string, out map[string]any) {
	for key, v := range tree {
		if below, ok := v.(map[string]any); ok {
			flatten(below, at+key+".", out)
		} else {
			out[at+key] = v
		}
	}
}

// Parameters are the keys of all parameters below rules, sorted; without those of one's own rules.
func Parameters() []string { return slices.Sorted(maps.Keys(directions())) }

// shortly is a value in a message.
func shortly(v any) string { return text.Value(v, 80) }
