package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// object is a part of a JSON Schema.
type object = map[string]any

// What a duration looks like, days first, and a size.
const (
	durationPattern = `^(0|\+?([0-9]+(\.[0-9]+)?d)?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*)$`
	nothingAtAll    = `^\+?$`
)

// JSONSchema is the JSON Schema of config.yaml or of an agent's file, for editors: all keys, what values they take, their meaning as the comments of
// config.yaml and internal/config/defaults say it, and their defaults. It refuses unknown keys. What only the program can tell, such as whether a pattern
// is one, it does not say.
func JSONSchema(of reflect.Type, title string, required ...string) ([]byte, error) {
	base, err := shipped()
	if err != nil {
		return nil, err
	}
	s := schemaOf(of, base.root)
	s["$schema"], s["title"], s["required"] = "http://json-schema.org/draft-07/schema#", title, required
	if v, ok := s["properties"].(object)["version"].(object); ok {
		v["const"] = 1
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(s)
	return out.Bytes(), err
}

// schemaOf describes the values of a type; shipped is the default in config.yaml, nil for none.
func schemaOf(t reflect.Type, shipped *yaml.Node) object {
	if s := ownForm(t); s != nil {
		return s
	}
	if is, _ := isDuration(t); is {
		return object{"anyOf": []object{{"type": "string", "pattern": durationPattern, "not": object{"pattern": nothingAtAll}}, {"const": 0}}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), shipped)
	case reflect.Struct:
		properties := object{}
		fields(t, func(name string, of reflect.Type) {
			key, value := entry(shipped, name)
			s := schemaOf(of, value)
			if words := comment(key, value); words != "" {
				s["description"] = words
			}
			if v, ok := single(value); ok {
				s["default"] = v
			}
			properties[name] = s
		})
		return object{"type": "object", "additionalProperties": false, "properties": properties}
	case reflect.Slice:
		items := schemaOf(t.Elem(), nil)
		if items["type"] == "string" {
			items["minLength"] = 1
		}
		return object{"type": "array", "items": items}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem(), nil)}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	}
	return object{"type": "integer"}
}

// ownForm describes what is written in a way of its own; nil for all else.
func ownForm(t reflect.Type) object {
	levels := []string{decision.On, decision.Ask, decision.Observe, decision.Off}
	switch t {
	case reflect.TypeFor[Size](), reflect.TypeFor[subject.Bytes]():
		return object{"anyOf": []object{{"type": "string", "pattern": "^0$|" + sizes.String()}, {"const": 0}}}
	case reflect.TypeFor[subject.Marker]():
		s := object{"type": "object", "additionalProperties": false, "properties": object{}}
		fields(t, func(name string, of reflect.Type) { s["properties"].(object)[name] = schemaOf(of, nil) })
		return object{"anyOf": []object{{"type": "string", "minLength": 1}, s}}
	case reflect.TypeFor[[]subject.RuleLevel]():
		level := object{"enum": levels}
		kinds := object{"type": "object", "additionalProperties": level, "propertyNames": object{"enum": snapshot.KindNames()}}
		return object{"type": "object", "additionalProperties": object{"anyOf": []object{level, kinds}}}
	case reflect.TypeFor[map[string]any]():
		return object{"type": "object", "additionalProperties": object{"not": object{"type": "null"}}}
	}
	return nil
}

// fields yields a struct's keys with their types, those that a file may have.
func fields(t reflect.Type, each func(string, reflect.Type)) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || f.Type == reflect.TypeFor[subject.Markers]() || f.Type == reflect.TypeFor[subject.Forge]():
		case f.Anonymous && name == "":
			fields(f.Type, each)
		case name != "":
			each(name, f.Type)
		}
	}
}

// entry is a key of a section with its value; nil for none.
func entry(section *yaml.Node, name string) (key, value *yaml.Node) {
	if section == nil || section.Kind != yaml.MappingNode {
		return nil, nil
	}
	i := slices.IndexFunc(section.Content, func(n *yaml.Node) bool { return n.Value == name })
	if i < 0 || i%2 == 1 {
		return nil, nil
	}
	return section.Content[i], section.Content[i+1]
}

// comment is what stands above a key, or behind it, without the signs and the line breaks.
func comment(key, value *yaml.Node) string {
	if key == nil {
		return ""
	}
	above := key.HeadComment
	if i := strings.LastIndex(above, "\n\n"); i >= 0 { // what stands apart is about the file
		above = above[i+2:]
	}
	var words []string
	for line := range strings.Lines(above + "\n" + key.LineComment + "\n" + value.LineComment) {
		words = append(words, strings.Fields(strings.TrimLeft(strings.TrimSpace(line), "#"))...)
	}
	return strings.Join(words, " ")
}

// single is a default that is one value.
func single(n *yaml.Node) (v any, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode {
		return nil, false
	}
	return v, n.Decode(&v) == nil
}
