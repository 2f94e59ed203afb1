package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
	"github.com/winnow-reaper/winnow/internal/text"
)

// customValue is a value for a parameter of one's own rules, as a file or a variable of the environment gives it. What it must be is known only
// when the rules that declare it were loaded.
type customValue struct {
	name  string
	value any
	// at is the key of its section. file and line are where it stands; line 0 is the environment, and file then the variable.
	at   string
	file string
	line int
}

func (v customValue) bad(format string, args ...any) strict.Problem {
	key := v.at + "." + v.name
	return strict.Problem{File: v.file, Line: v.line, Key: key, Text: key + ": " + fmt.Sprintf(format, args...)}
}

// readCustom reads the section of one's own parameters.
func (r *levelReader) readCustom(section *yaml.Node) {
	for _, at := range r.pairs(section, r.customAt) {
		v := customValue{name: at.key.Value, at: r.customAt, file: r.file, line: at.key.Line}
		switch {
		case at.value.ShortTag() == "!!null":
			r.wrong = append(r.wrong, v.bad("it has no value; give it one or remove it"))
		case at.value.Decode(&v.value) != nil:
			r.wrong = append(r.wrong, v.bad("it cannot be read"))
		default:
			r.own = append(r.own, v)
		}
	}
}

// customEnv begins the variables for parameters of one's own: WINNOW_RULES_CUSTOM_SCRATCH_AFTER=3d.
var customEnv = EnvName(policy.CustomKey) + "_"

// customFromEnv adds what the environment says; it stands over the file. A value is read as one in YAML would be, and a list is split at commas.
func (c *Config) customFromEnv(env []string) {
	for _, e := range env {
		name, val, ok := strings.Cut(e, "=")
		if key, own := strings.CutPrefix(name, customEnv); own && ok && val != "" {
			c.custom = append(c.custom, customValue{name: strings.ToLower(key), value: val, at: policy.CustomKey, file: name})
		}
	}
}

// SetCustom gives the parameters that the loaded rules declare their values: the configuration's, or their defaults. A value for a parameter that
// no rule declares, or of another type, is a UsageError.
func (c *Config) SetCustom(declared []policy.Parameter) error {
	values, names := map[string]any{}, []string{}
	for _, p := range declared {
		values[p.Name] = p.Default
		names = append(names, p.Name)
	}
	var wrong strict.Problems
	for _, v := range slices.Concat(c.layersOwn, c.custom) {
		i := slices.IndexFunc(declared, func(p policy.Parameter) bool { return p.Name == v.name })
		if i < 0 {
			none := spelling.Hint(v.name, names)
			if len(names) == 0 {
				none = "; no loaded rule declares any (METADATA custom.own; see docs/guides/write-a-rule.md)"
			}
			wrong = append(wrong, v.bad("no loaded rule has a parameter of this name%s", none))
			continue
		}
		value, err := declared[i].Read(v.typed(declared[i].Type))
		if err != nil {
			wrong = append(wrong, v.bad("%v", err))
			continue
		}
		values[v.name] = value
	}
	if len(wrong) > 0 {
		return Usagef("%w; nothing was done", wrong)
	}
	c.Rules.Custom = values
	return nil
}

// typed is what a text from the environment stands for where another type is wanted.
func (v customValue) typed(as string) any {
	s, ok := v.value.(string)
	if v.line != 0 || !ok {
		return v.value
	}
	switch as {
	case "list":
		return text.Map(strings.Split(s, ","), func(x string) any { return x })
	case "number", "boolean":
		var out any
		if yaml.Unmarshal([]byte(s), &out) == nil {
			return out
		}
	}
	return s
}
