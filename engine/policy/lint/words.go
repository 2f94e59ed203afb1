package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/types"
)

// plainWords is what the parser or the compiler means, in words for people: what is wrong, and what to write. Both are empty where it has
// no better words than theirs.
func plainWords(e *ast.Error) (problem, fix string) {
	switch d := e.Details.(type) {
	case *ast.UnificationErrDetail:
		return fmt.Sprintf("the two sides have different types and are never equal: left is %s, right is %s", TypeWords(d.Left), TypeWords(d.Right)),
			"compare values of one type; docs/reference/documents.md says what type each fact has"
	case *ast.ArgErrDetail:
		name, _, _ := strings.Cut(e.Message, ":")
		return argWords(name, d, strings.HasSuffix(e.Message, "arity mismatch")), "pass values of the types that it wants; docs/reference/documents.md says what type each fact has"
	}
	switch m := e.Message; {
	case e.Code == ast.UnsafeVarErr:
		name := between(m, "var ", " is unsafe")
		return name + " has no value here", fmt.Sprintf("give it one (%[1]s := ..., or some %[1]s in ...), import it, or put quotes around it where a text is meant", name)
	case strings.HasPrefix(m, "assigned var "), strings.HasPrefix(m, "declared var "):
		name := between(m, " var ", " unused")
		return name + " gets a value that nothing uses", "use it, or take it out"
	case strings.HasPrefix(m, "unused argument "):
		name, _, _ := strings.Cut(strings.TrimPrefix(m, "unused argument "), ". ")
		return "nothing uses the argument " + name, "use it, or write _ in its place"
	case strings.HasPrefix(m, "import ") && strings.HasSuffix(m, " unused"):
		return "nothing uses the import " + strings.TrimSuffix(strings.TrimPrefix(m, "import "), " unused"), "use it, or take it out"
	case strings.HasPrefix(m, "conflicting rules "):
		name := between(m, "rules data.", " found")
		return fmt.Sprintf("rules called %s are of different forms, or have different numbers of arguments", name), "write all of them in one form, or give one of them another name"
	case strings.HasPrefix(m, "multiple default rules "):
		return m, "leave one default"
	case e.Code == ast.RecursionErr:
		return "a rule needs itself: " + strings.ReplaceAll(m[strings.LastIndex(m, ": ")+2:], "data.policies.", ""), "rules may not depend on themselves, also not through others"
	case e.Code == ast.ParseErr:
		return parseWords(m)
	}
	return "", ""
}

// parseWords says what the parser means.
func parseWords(m string) (problem, fix string) {
	if rest, ok := strings.CutPrefix(m, "yaml: "); ok {
		rest = strings.TrimSpace(strings.TrimPrefix(rest, "unmarshal errors:"))
		return "METADATA is no YAML of the right form: " + strings.Join(strings.Fields(rest), " "),
			"write keys and values below # METADATA: # title: ..., # description: ..., # custom: {...}; lines are counted from there"
	}
	switch {
	case strings.HasPrefix(m, "unexpected eof token"):
		return "the file, or the rule, ends too early", "close what is open, such as a bracket, or complete the line"
	case strings.Contains(m, "`if` keyword is required"):
		return "a rule without if before its conditions", "write NAME if { ... }"
	case strings.Contains(m, "`contains` keyword is required"):
		return "a set without contains", "write NAME contains VALUE if { ... }"
	case strings.HasPrefix(m, "unexpected ") && strings.Contains(m, " token"):
		name := between(m, "unexpected ", " token")
		if sign, ok := signs[name]; ok {
			name = sign
		}
		_, wants, more := strings.Cut(m, " token: expected ")
		if !more {
			return name + " is not expected here", "correct the syntax"
		}
		return name + " is not expected here", "write " + strings.ReplaceAll(wants, `\n`, "a new line") + " here, or correct what stands before it"
	}
	return m, "correct the syntax; opa check shows it too"
}

// signs are tokens by the parser's names for them.
var signs = map[string]string{"assign": ":=", "unify": "=", "equal": "==", "ident": "a name", "string": "a text", "number": "a number"}

// between is what stands in a text between two others.
func between(s, before, after string) string {
	_, rest, _ := strings.Cut(s, before)
	mid, _, _ := strings.Cut(rest, after)
	return mid
}

// argWords says which arguments of a call are of a type that the function does not take, or that there are too few or too many. Else the
// result may stand behind the arguments, on one side or both.
func argWords(name string, d *ast.ArgErrDetail, number bool) string {
	call := name
	if b := ast.BuiltinMap[name]; b != nil && b.Infix != "" {
		call = b.Infix
	}
	wants := d.Want.Args
	if number {
		var of []string
		for _, w := range wants {
			of = append(of, TypeWords(w))
		}
		return fmt.Sprintf("%s has %s here, and takes %d: %s", call, plural(len(d.Have), "argument"), len(wants), strings.Join(of, "; "))
	}
	both := min(len(d.Have), len(wants))
	have, wants := d.Have[:both], wants[:both]
	var wrong []string
	for i, w := range wants {
		if !Fits(have[i], w) {
			wrong = append(wrong, fmt.Sprintf("argument %d of %s is %s, and it takes %s", i+1, call, TypeWords(have[i]), TypeWords(w)))
		}
	}
	if len(wrong) > 0 {
		return strings.Join(wrong, "; ")
	}
	var has []string
	for _, h := range have {
		has = append(has, TypeWords(h))
	}
	return fmt.Sprintf("%s does not take %s", call, strings.Join(has, " and "))
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Fits reports whether a value of one type can be of the other; true where that cannot be told.
func Fits(have, want opa.Type) bool {
	if have == nil || want == nil {
		return true
	}
	for _, h := range alternatives(have) {
		for _, w := range alternatives(want) {
			if h == "" || w == "" || h == w {
				return true
			}
		}
	}
	return false
}

// alternatives are what a type may be, in words; "" stands for anything.
func alternatives(t opa.Type) []string {
	switch t := t.(type) {
	case nil:
		return []string{""}
	case *opa.NamedType:
		return alternatives(t.Type)
	case opa.Any:
		var out []string
		for _, of := range t {
			out = append(out, alternatives(of)...)
		}
		if len(out) == 0 {
			return []string{""}
		}
		slices.Sort(out)
		return slices.Compact(out)
	case opa.Null:
		return []string{"null"}
	case opa.Boolean:
		return []string{"true or false"}
	case opa.Number:
		return []string{"a number"}
	case opa.String:
		return []string{"a text"}
	case *opa.Array:
		return []string{"a list"}
	case *opa.Object:
		return []string{"an object"}
	case *opa.Set:
		return []string{"a set"}
	}
	return []string{""}
}

// TypeWords is a type for people: what it is, and not what is in it.
func TypeWords(t opa.Type) string {
	all := alternatives(t)
	if slices.Contains(all, "") {
		return "a value of any type"
	}
	return strings.Join(all, " or ")
}
