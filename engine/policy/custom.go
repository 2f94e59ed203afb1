package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/internal/sys/duration"
)

// Parameter is one that rules of one's own declare in the METADATA of their package, under custom.own:
//
//	own: {scratch_after: {type: duration, default: 3d, description: how long it must not have changed}}
//
// The configuration gives it a value as rules.custom.scratch_after, and rules read input.config.custom.scratch_after.
type Parameter struct {
	Name string `json:"name"`
	// Type is duration, number, text, boolean or list (of texts).
	Type string `json:"type"`
	// Default is its value where the configuration gives none, as rules see it: a duration is a number of seconds.
	Default     any    `json:"default"`
	Description string `json:"description,omitempty"`
	// Package declares it, below policies, in a file and line.
	Package string `json:"package"`
	File    string `json:"file"`
	Line    int    `json:"line"`
}

// CustomKey begins the names of parameters of one's own in a configuration.
const CustomKey = "rules.custom"

// types are what a parameter may be, each with what is written for it and how the input's schema says it.
var types = map[string]struct {
	wants  string
	schema map[string]any
}{
	"duration": {"a duration: 90s, 15m, 48h or 2d", map[string]any{"type": "number"}},
	"number":   {"a number", map[string]any{"type": "number"}},
	"text":     {"a text that is not empty: put quotes around it", map[string]any{"type": "string"}},
	"boolean":  {"true or false", map[string]any{"type": "boolean"}},
	"list":     {"a list of texts: [one, two]", map[string]any{"type": "array", "items": map[string]any{"type": "string"}}},
}

// Read makes of what a file says the value that rules see. It takes what a YAML decoder gives: string, int, float64, bool, []any.
func (p Parameter) Read(v any) (any, error) {
	wrong := fmt.Errorf("it is %s; it wants %s", shown(v), types[p.Type].wants)
	switch p.Type {
	case "duration":
		if n, ok := v.(json.Number); ok && n == "0" {
			v = 0
		}
		d, err := duration.Value(v)
		return d.Seconds(), err
	case "number":
		var f float64
		switch x := v.(type) {
		case int:
			f = float64(x)
		case float64:
			f = x
		case json.Number:
			n, err := x.Float64()
			if err != nil {
				return nil, wrong
			}
			f = n
		default:
			return nil, wrong
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, wrong
		}
		return f, nil
	case "text":
		if s, ok := v.(string); ok && s != "" {
			return s, nil
		}
	case "boolean":
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case "list":
		list, ok := v.([]any)
		if !ok {
			return nil, wrong
		}
		texts := make([]string, 0, len(list))
		for _, x := range list {
			s, ok := x.(string)
			if !ok || s == "" {
				return nil, wrong
			}
			texts = append(texts, s)
		}
		return texts, nil
	}
	return nil, wrong
}

// shown is a value as a message shows it.
func shown(v any) string {
	switch x := v.(type) {
	case map[string]any:
		return "a section with keys"
	case []any:
		return "a list"
	case nil:
		return "empty"
	case string:
		return fmt.Sprintf("%q", x)
	}
	return lint.Shorten(fmt.Sprint(v), 100)
}

var parameterName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Parameters are those that the loaded rules declare, sorted by name.
func (p *Policy) Parameters() []Parameter {
	by := map[string]Parameter{}
	for _, id := range slices.Sorted(maps.Keys(p.rules)) {
		for _, own := range p.rules[id].Custom {
			if list, ok := own.Default.([]any); ok { // it came as JSON from the process that built the policy
				own.Default, _ = own.Read(list)
			}
			if _, known := by[own.Name]; !known {
				by[own.Name] = own
			}
		}
	}
	out := make([]Parameter, 0, len(by))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[name])
	}
	return out
}

// declared are the parameters of all modules by name. Two rules may share one, declared by both in the same way.
func declared(modules []module) (map[string]Parameter, lint.Refusals) {
	all := map[string]Parameter{}
	var refused lint.Refusals
	for _, m := range modules {
		own, rs := m.parameters()
		refused = append(refused, rs...)
		for _, p := range own {
			first, taken := all[p.Name]
			if taken && (first.Type != p.Type || !reflect.DeepEqual(first.Default, p.Default)) {
				refused = append(refused, lint.Refusal{Class: lint.ClassCustom, File: p.File, Line: p.Line,
					Problem: fmt.Sprintf("own: %s is declared otherwise in %s:%d", p.Name, first.File, first.Line), Fix: "write the same type and default, or choose another name"})
			}
			if !taken {
				all[p.Name] = p
			}
		}
	}
	return all, refused
}

// parameters are the parameters that the package's METADATA in this file declares, and what is wrong with them.
func (m module) parameters() (own []Parameter, refused lint.Refusals) {
	for _, a := range m.Annotations {
		said, ok := a.Custom["own"]
		if !ok {
			continue
		}
		path := policyPath(m.Package)
		bad := func(problem, fix string, args ...any) {
			refused = append(refused, m.refuse(lint.ClassCustom, a.Location, "own: "+fmt.Sprintf(problem, args...), fix))
		}
		if a.Scope != "package" || len(path) == 0 || outputs[path[0]].set == "" {
			bad("parameters are declared by a package under reap or protect and by nothing else", "move them to the METADATA of such a package, or take them out")
			continue
		}
		fields, ok := said.(map[string]any)
		if !ok {
			bad("%s is no section of parameters", "write own: {scratch_after: {type: duration, default: 3d}}", shown(said))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			p := Parameter{Name: name, Package: strings.Join(path, "."), File: m.file.Name, Line: a.Location.Row}
			if problem, fix := p.declare(fields[name]); problem != "" {
				bad("%s", fix, problem)
				continue
			}
			own = append(own, p)
		}
	}
	return own, refused
}

// declare fills a parameter from its declaration.
func (p *Parameter) declare(said any) (problem, fix string) {
	const like = "write {type: duration, default: 3d}, and if you like a description"
	if !parameterName.MatchString(p.Name) {
		return fmt.Sprintf("%q is no name of a parameter", p.Name), "begin with a small letter, and use small letters, digits and _"
	}
	fields, ok := said.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s is %s", p.Name, shown(said)), like
	}
	for key := range fields {
		if key != "type" && key != "default" && key != "description" {
			return fmt.Sprintf("%s has an unknown key %q", p.Name, key), like
		}
	}
	p.Type, _ = fields["type"].(string)
	if _, known := types[p.Type]; !known {
		return fmt.Sprintf("%s has the type %s", p.Name, shown(fields["type"])), "write one of " + strings.Join(slices.Sorted(maps.Keys(types)), ", ")
	}
	value, ok := fields["default"]
	if !ok {
		return p.Name + " has no default", like
	}
	var err error
	if p.Default, err = p.Read(value); err != nil {
		return fmt.Sprintf("the default of %s: %v", p.Name, err), like
	}
	if p.Description, ok = fields["description"].(string); !ok && fields["description"] != nil {
		return "the description of " + p.Name + " is no text", like
	}
	return "", ""
}

// closed puts the declared parameters into the input's schema, each of its type; all others are then unknown fields. Without any there is no such
// section.
func closed(schema any, own map[string]Parameter) any {
	properties := map[string]any{}
	for name, p := range own {
		properties[name] = types[p.Type].schema
	}
	at, _ := schema.(map[string]any)
	for _, key := range []string{"properties", "config", "properties"} {
		at, _ = at[key].(map[string]any)
	}
	if len(own) == 0 { // OPA takes an object without properties for one of any
		delete(at, "custom")
	} else if at != nil {
		at["custom"] = map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	}
	return schema
}

// wrongOwn refuses what reads a parameter of one's own by a name that only an evaluation knows, or all of them: a misspelt one would be a condition
// that never holds. It also refuses reading one where none is declared; where some are, the schema knows them.
func wrongOwn(modules []module, own map[string]Parameter) lint.Refusals {
	var refused lint.Refusals
	prefix := ast.MustParseRef("input.config.custom")
	for _, m := range modules {
		ast.WalkRefs(m.Module, func(r ast.Ref) bool {
			if !r.HasPrefix(prefix) {
				return false
			}
			switch name, constant := r[min(len(prefix), len(r)-1)].Value.(ast.String); {
			case !constant || len(r) == len(prefix):
				refused = append(refused, m.refuse(lint.ClassCustom, r[0].Location, fmt.Sprintf("%s is no single parameter", r), "name it: input.config.custom.scratch_after"))
			case len(own) == 0:
				refused = append(refused, m.refuse(lint.ClassCustom, r[0].Location, fmt.Sprintf("no rule declares %s", r),
					fmt.Sprintf("declare it in the METADATA of the package: custom: {own: {%s: {type: duration, default: 3d}}}", string(name))))
			}
			return false
		})
	}
	return refused
}
