package herdr

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// check says what is wrong with a value, "" when nothing is. Where names the value for the message.
type check func(value any, where string) string

// compiler turns the schemas of a document into checks. It knows the keywords that herdr's document uses and refuses any other, so that no
// rule of the document is passed over.
type compiler struct {
	root any
	done map[string]*check // by reference; a check refers to itself through this
	err  error
}

// resolve gives the check for a reference into the whole document, like "#/schemas/event".
func (c *compiler) resolve(ref string) check {
	if found := c.done[ref]; found != nil {
		return func(v any, where string) string { return (*found)(v, where) }
	}
	slot := new(check)
	c.done[ref] = slot
	at := c.root
	path, ok := strings.CutPrefix(ref, "#/")
	for name := range strings.SplitSeq(path, "/") {
		parent, isObject := at.(map[string]any)
		if at = parent[name]; !ok || !isObject || at == nil {
			c.fail("%s leads nowhere", ref)
			return nil
		}
	}
	*slot = c.compile(at)
	return func(v any, where string) string { return (*slot)(v, where) }
}

func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("read herdr's schema: "+format, args...)
	}
}

// silent are the keywords that say nothing about whether a value is right. The numeric formats among them are implied by minimum, maximum
// and type, and no client depends on more.
var silent = []string{"$schema", "$defs", "title", "description", "default", "format", "maximum", "minimum"}

func (c *compiler) compile(schema any) check {
	if yes, ok := schema.(bool); ok {
		return func(_ any, where string) string {
			if yes {
				return ""
			}
			return where + " must not be there"
		}
	}
	words, ok := schema.(map[string]any)
	if !ok {
		c.fail("a schema is a %T", schema)
		return nil
	}
	var all []check
	// Constants and types come first: they tell most alternatives apart.
	order := []string{"const", "type", "enum", "required"}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if !slices.Contains(order, word) {
			order = append(order, word)
		}
	}
	for _, word := range order {
		if arg, there := words[word]; there {
			if one := c.keyword(word, arg, words); one != nil {
				all = append(all, one)
			}
		}
	}
	if words["minimum"] != nil || words["maximum"] != nil {
		all = append(all, bounds(words))
	}
	return func(v any, where string) string {
		for _, one := range all {
			if wrong := one(v, where); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

func (c *compiler) keyword(word string, arg any, words map[string]any) check {
	switch word {
	case "$ref":
		return c.resolve(arg.(string))
	case "const":
		return oneOfValues([]any{arg})
	case "enum":
		return oneOfValues(arg.([]any))
	case "type":
		return ofType(arg)
	case "required":
		return required(arg.([]any))
	case "properties":
		return c.properties(arg.(map[string]any))
	case "additionalProperties":
		named, _ := words["properties"].(map[string]any)
		return c.others(arg, named)
	case "propertyNames":
		return c.names(arg)
	case "maxProperties":
		return atMost(arg.(json.Number))
	case "items":
		return c.items(arg)
	case "pattern":
		return matches(regexp.MustCompile(arg.(string)))
	case "anyOf":
		return c.some(arg.([]any), false)
	case "oneOf":
		return c.some(arg.([]any), true)
	}
	if !slices.Contains(silent, word) {
		c.fail("the keyword %q is not known here", word)
	}
	return nil
}

func oneOfValues(wanted []any) check {
	return func(v any, where string) string {
		for _, w := range wanted {
			if reflect.DeepEqual(v, w) {
				return ""
			}
		}
		return fmt.Sprintf("%s is %v, not one of %v", where, v, wanted)
	}
}

func ofType(arg any) check {
	wanted, many := arg.([]any)
	if !many {
		wanted = []any{arg}
	}
	return func(v any, where string) string {
		for _, w := range wanted {
			if is(v, w.(string)) {
				return ""
			}
		}
		return fmt.Sprintf("%s is a %T, not %v", where, v, arg)
	}
}

func is(v any, kind string) bool {
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	case json.Number:
		f, err := v.Float64()
		return kind == "number" || kind == "integer" && err == nil && f == math.Trunc(f)
	}
	return false
}

func bounds(words map[string]any) check {
	low, high := math.Inf(-1), math.Inf(1)
	if n, ok := words["minimum"].(json.Number); ok {
		low, _ = n.Float64()
	}
	if n, ok := words["maximum"].(json.Number); ok {
		high, _ = n.Float64()
	}
	return func(v any, where string) string {
		n, ok := v.(json.Number)
		if !ok {
			return ""
		}
		if f, _ := n.Float64(); f < low || f > high {
			return fmt.Sprintf("%s is %s, outside %v to %v", where, n, low, high)
		}
		return ""
	}
}

func required(keys []any) check {
	return func(v any, where string) string {
		o, ok := v.(map[string]any)
		for _, key := range keys {
			if _, there := o[key.(string)]; ok && !there {
				return fmt.Sprintf("%s has no %v", where, key)
			}
		}
		return ""
	}
}

func (c *compiler) properties(schemas map[string]any) check {
	keys := slices.Sorted(maps.Keys(schemas))
	// What tells alternatives apart is looked at first.
	slices.SortStableFunc(keys, func(a, b string) int { return telling(b, schemas) - telling(a, schemas) })
	all := make([]check, len(keys))
	for i, key := range keys {
		all[i] = c.compile(schemas[key])
	}
	return func(v any, where string) string {
		o, _ := v.(map[string]any)
		for i, key := range keys {
			if value, there := o[key]; there {
				if wrong := all[i](value, where+"."+key); wrong != "" {
					return wrong
				}
			}
		}
		return ""
	}
}

func telling(key string, schemas map[string]any) int {
	if o, ok := schemas[key].(map[string]any); ok && o["const"] != nil {
		return 1
	}
	return 0
}

func (c *compiler) others(schema any, named map[string]any) check {
	other := c.compile(schema)
	return func(v any, where string) string {
		o, _ := v.(map[string]any)
		for key, value := range o {
			if _, known := named[key]; !known {
				if wrong := other(value, where+"."+key); wrong != "" {
					return wrong
				}
			}
		}
		return ""
	}
}

func (c *compiler) names(schema any) check {
	name := c.compile(schema)
	return func(v any, where string) string {
		o, _ := v.(map[string]any)
		for key := range o {
			if wrong := name(key, where+" key"); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

func atMost(limit json.Number) check {
	n, _ := limit.Int64()
	return func(v any, where string) string {
		if o, ok := v.(map[string]any); ok && int64(len(o)) > n {
			return fmt.Sprintf("%s has %d members, more than %d", where, len(o), n)
		}
		return ""
	}
}

func (c *compiler) items(schema any) check {
	item := c.compile(schema)
	return func(v any, where string) string {
		list, _ := v.([]any)
		for i, value := range list {
			if wrong := item(value, where+"["+itoa(i)+"]"); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

func matches(pattern *regexp.Regexp) check {
	return func(v any, where string) string {
		if text, ok := v.(string); ok && !pattern.MatchString(text) {
			return fmt.Sprintf("%s is %q, which %s does not match", where, text, pattern)
		}
		return ""
	}
}

// some is satisfied by one of the alternatives, and when it must be the only one, by no second.
func (c *compiler) some(schemas []any, only bool) check {
	var all []check
	for _, schema := range schemas {
		all = append(all, c.compile(schema))
	}
	return func(v any, where string) string {
		right, closest := 0, ""
		for _, one := range all {
			wrong := one(v, where)
			if wrong == "" {
				right++
			}
			// The deepest complaint is about the alternative that was meant.
			if strings.Count(wrong, ".") >= strings.Count(closest, ".") {
				closest = wrong
			}
			if right > 0 && !only {
				return ""
			}
		}
		switch {
		case right == 0:
			return fmt.Sprintf("%s is none of the alternatives: %s", where, closest)
		case right > 1:
			return fmt.Sprintf("%s is several of the alternatives", where)
		}
		return ""
	}
}
