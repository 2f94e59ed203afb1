package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/open-policy-agent/opa/v1/ast"
)

// farthest is how many single-character edits away a name may be to be offered as what was meant, near how many to be offered alone.
const farthest, near = 4, 2

// FromOPA turns the parser's and compiler's errors into refusals that say what to do.
func FromOPA(file string, err error) Refusals {
	var many ast.Errors
	if one := (*ast.Error)(nil); errors.As(err, &one) {
		many = ast.Errors{one}
	} else if !errors.As(err, &many) {
		return Refusals{{Class: ClassSyntax, File: file, Problem: err.Error(), Fix: "correct the file, or remove it"}}
	}
	var refused Refusals
	for _, e := range many {
		r := Refusal{Class: classOf(e), File: file, Problem: e.Message, Fix: fix(e)}
		if e.Location != nil && e.Location.File != "" {
			r.File, r.Line, r.Column = e.Location.File, e.Location.Row, e.Location.Col
		}
		if problem, ok := problemOf(e); ok {
			r.Problem = problem
		} else if problem, fix := plainWords(e); problem != "" {
			r.Problem, r.Fix = problem, fix
		}
		refused = append(refused, r)
	}
	return refused
}

// IsEmpty reports whether the parser found nothing in a file.
func IsEmpty(err error) bool {
	var one *ast.Error
	return errors.As(err, &one) && one.Code == ast.ParseErr && one.Message == "empty module"
}

func classOf(e *ast.Error) string {
	if _, _, ok := unknownField(e); ok {
		return ClassField
	}
	if name, ok := missingFunction(e); ok {
		if knownBuiltin(name) {
			return ClassBuiltin
		}
		return ClassUndefined
	}
	switch e.Code {
	case ast.ParseErr:
		return ClassSyntax
	case ast.TypeErr:
		return ClassType
	case ast.RecursionErr:
		return ClassRecursion
	default:
		return ClassCompile
	}
}

func problemOf(e *ast.Error) (string, bool) {
	if name, ok := missingFunction(e); ok && knownBuiltin(name) {
		return NotAllowed(name), true
	}
	if field, _, ok := unknownField(e); ok {
		return "unknown input field " + field, true
	}
	return "", false
}

func fix(e *ast.Error) string {
	if _, names, ok := unknownField(e); ok {
		return names
	}
	if name, ok := missingFunction(e); ok {
		if knownBuiltin(name) {
			return Instead(name)
		}
		return meantBuiltin(name) + "define the function, or import the package that does"
	}
	return "correct the rule; opa check --strict shows it too"
}

// meantBuiltin is the built-in that may have been meant by a name, as the beginning of a sentence; "" for none.
func meantBuiltin(name string) string {
	last := name[strings.LastIndexByte(name, '.')+1:]
	best, least := "", farthest
	for _, b := range builtins {
		if strings.HasPrefix(b, "internal.") {
			continue
		}
		if b[strings.LastIndexByte(b, '.')+1:] == last {
			return fmt.Sprintf("did you mean %s? Else ", b)
		}
		if d := levenshtein.ComputeDistance(name, b); d < least && d <= len(name)/3 {
			best, least = b, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s? Else ", best)
}

// NotAllowed says that a built-in is left out.
func NotAllowed(name string) string {
	return fmt.Sprintf("built-in %s is not allowed in policies", name)
}

// Instead says what to write in place of a built-in that is left out.
func Instead(name string) string {
	switch {
	case strings.HasPrefix(name, "time."):
		return "ages and input.now are in the document; there is no other clock"
	case name == "object.get":
		return "read the field itself, so that a misspelt one is found when the policies are loaded"
	case name == "http.send" || strings.HasPrefix(name, "net."):
		return "policies judge the document alone; what is missing in it belongs into a collector"
	case name == "opa.runtime":
		return "parameters come from input.config"
	default:
		return "use one of those that are allowed: " + strings.Join(slices.DeleteFunc(slices.Clone(builtins), func(b string) bool { return strings.HasPrefix(b, "internal.") }), " ")
	}
}

func missingFunction(e *ast.Error) (string, bool) {
	return strings.CutPrefix(e.Message, "undefined function ")
}

// unknownField is a reference that the closed schema has no place for, and the fields that are nearest to what was written.
func unknownField(e *ast.Error) (field, names string, ok bool) {
	var ref ast.Ref
	var at int
	var oneOf []ast.Value
	switch d := e.Details.(type) {
	case *ast.RefErrInvalidDetail:
		ref, at, oneOf = d.Ref, d.Pos, d.OneOf
	case *ast.RefErrUnsupportedDetail:
		ref, at = d.Ref, d.Pos+1
	default:
		return "", "", false
	}
	if at >= len(ref) || ref[0].Equal(ast.DefaultRootDocument) {
		return "", "", false
	}
	written := ValueText(ref[at].Value)
	field = ref[:at+1].String()
	if len(oneOf) == 0 {
		return field, fmt.Sprintf("%s has no fields: it is a single value", ref[:at]), true
	}
	return field, Nearest(written, oneOf), true
}

// IsNear reports whether a name is so near to what was written that it was surely meant.
func IsNear(written, name string) bool { return levenshtein.ComputeDistance(written, name) <= near }

// Nearest says which name may have been meant by one that was written, or which names there are.
func Nearest(written string, oneOf []ast.Value) string {
	best, all := "", make([]string, len(oneOf))
	least := farthest + 1
	far := func(n int) int { return max(n-len(written), len(written)-n) }
	for i, v := range oneOf {
		all[i] = ValueText(v)
		d := levenshtein.ComputeDistance(written, all[i])
		if d < least && d < len(written) || d == least && best != "" && far(len(all[i])) < far(len(best)) { // idel is idle, and not id
			best, least = all[i], d
		}
	}
	if best == "" {
		return "it has " + strings.Join(all, ", ")
	}
	if least <= near && 2*least <= len(written) {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return fmt.Sprintf("did you mean %s? It has %s", best, strings.Join(all, ", "))
}

// ValueText is a value as a person writes it: a text without its quotes.
func ValueText(v ast.Value) string {
	if s, ok := v.(ast.String); ok {
		return string(s)
	}
	return v.String()
}
