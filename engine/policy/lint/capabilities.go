package lint

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// builtins are what policies may call, and no others. None reads a clock, the network, the environment or chance, and none
// runs for long without looking at the deadline: bits.lsh, numbers.range, graph.*, strings.render_template and mul did (minutes
// and gigabytes, with OPA 1.22.0). object.get is left out because it hides a misspelt field from the schema check. The ones
// that start with internal are what the compiler writes for `in` and template strings.
var builtins = []string{
	"eq", "equal", "neq", "gt", "gte", "lt", "lte", "assign",
	"internal.member_2", "internal.member_3", "internal.template_string", "rego.metadata.rule",
	"plus", "minus", "div", "abs", "round", "floor", "ceil", "count", "max", "min", "sort",
	"and", "or", "union", "intersection", "array.concat", "array.slice", "object.keys",
	"concat", "contains", "startswith", "endswith", "lower", "upper", "split", "replace", "sprintf", "format_int",
	"trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix", "trim_space", "substring", "indexof",
	"strings.any_prefix_match", "strings.any_suffix_match", "regex.match", "glob.match",
	"is_number", "is_string", "is_boolean", "is_array", "is_set", "is_object", "is_null",
	"time.parse_rfc3339_ns", "time.parse_duration_ns", "time.diff",
}

// Capabilities is the whitelist as OPA takes it. An AllowNet of nil would let a schema be fetched from any host.
func Capabilities() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool { return !slices.Contains(builtins, b.Name) })
	c.AllowNet = []string{}
	return c
}

// knownBuiltin reports whether OPA itself has a built-in of that name.
func knownBuiltin(name string) bool {
	_, ok := ast.BuiltinMap[name]
	return ok
}

// IsForbidden reports whether a name is a built-in that policies may not call.
func IsForbidden(name string) bool { return knownBuiltin(name) && !slices.Contains(builtins, name) }

// IsWord reports whether a name means something in Rego already: a keyword, a document, a built-in.
func IsWord(name string) bool {
	return ast.IsKeyword(name) || knownBuiltin(name) || slices.Contains([]string{"input", "data", "contains", "every", "if", "in"}, name)
}
