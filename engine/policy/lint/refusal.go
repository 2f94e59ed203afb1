package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Refusal is one reason why policies were not loaded.
type Refusal struct {
	// Class is one of Classes, by its id.
	Class string `json:"class,omitempty"`
	// File is the file as Load names it, Line counts from 1; Line 0 is the file, or the tree, as a whole. Column counts from 1 where the line
	// is known, 0 is unknown.
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Text is that line, without the space around it.
	Text string `json:"text,omitempty"`
	// At is where in Text the problem begins, counted from 1; 0 is unknown.
	At int `json:"at,omitempty"`
	// Problem says what is wrong, Fix what to do about it.
	Problem string `json:"problem"`
	Fix     string `json:"fix"`
	// Worst is true for what has to be heard first: a built-in that is not allowed.
	Worst bool `json:"worst,omitempty"`
}

// Error gives the place, the problem and what to do.
func (r Refusal) Error() string {
	place := r.File
	if r.Line > 0 {
		place = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	return fmt.Sprintf("%s: %s: %s", place, r.Problem, r.Fix)
}

// Refusals are all reasons why policies were not loaded, the worst first, and then by place. As an error they are a line each.
type Refusals []Refusal

// Error lists the refusals, each with the line that it is about below it, where that is known, and a mark at the place in that line.
func (rs Refusals) Error() string {
	var lines []string
	for _, part := range rs.Unwrap() {
		lines = append(lines, part.Error())
	}
	return strings.Join(lines, "\n")
}

// sourceLine is a line below a refusal.
type sourceLine string

func (l sourceLine) Error() string { return "    " + string(l) }

// Unwrap gives each line of Error as an error of its own, so that who prints them knows which breaks between lines are not a file's.
func (rs Refusals) Unwrap() []error {
	var out []error
	for _, r := range rs {
		out = append(out, r)
		if r.Text != "" {
			out = append(out, sourceLine(r.Text))
		}
		if r.Text != "" && r.At > 0 {
			out = append(out, sourceLine(strings.Repeat(" ", r.At-1)+"^"))
		}
	}
	return out
}

// Err gives an error only where there is a refusal: sorted, each once, and no more of them than a person reads.
func (rs Refusals) Err() error {
	if len(rs) == 0 {
		return nil
	}
	return fmt.Errorf("load policies: refused, nothing was loaded:\n%w", rs.Sorted())
}

// Sorted are the refusals with the worst first and then by place, each once. What is more than a person reads is counted.
func (rs Refusals) Sorted() Refusals {
	sorted := slices.SortedFunc(slices.Values(rs), func(a, b Refusal) int {
		if a.Worst != b.Worst {
			return map[bool]int{true: -1, false: 1}[a.Worst]
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Problem, b.Problem))
	})
	type same struct {
		file, problem string
		line          int
	}
	seen := map[same]bool{} // two checks may see the same, the worst said first
	said := Refusals(slices.DeleteFunc(sorted, func(r Refusal) bool {
		key := same{r.File, r.Problem, r.Line}
		again := seen[key]
		seen[key] = true
		return again
	}))
	if more := len(said) - maxRefusals; more > 0 {
		said = append(said[:maxRefusals:maxRefusals], Refusal{Class: ClassLimit, File: "policy", Problem: fmt.Sprintf("%d more problems", more), Fix: "begin with those above"})
	}
	for i := range said {
		said[i].Problem, said[i].Fix = Shorten(said[i].Problem, maxWords), Shorten(said[i].Fix, maxWords)
	}
	return said
}

// maxRefusals is how many refusals are said.
const maxRefusals = 100

// maxWords is how many bytes of one problem are said: a compiler's word on a type can be as long as the type.
const maxWords = 2000

// Shorten cuts a text to so many bytes, and shows that it did.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// The classes of refusals: short and stable, for machines that filter, count or link them.
const (
	ClassRead       = "unreadable"
	ClassEmpty      = "empty"
	ClassManifest   = "manifest"
	ClassLimit      = "limit"
	ClassSyntax     = "syntax"
	ClassField      = "unknown-field"
	ClassType       = "type"
	ClassBuiltin    = "builtin"
	ClassUndefined  = "undefined"
	ClassRecursion  = "recursion"
	ClassCompile    = "compile"
	ClassPlace      = "place"
	ClassDuplicate  = "duplicate-package"
	ClassMissing    = "missing-rule"
	ClassReason     = "reason"
	ClassNegation   = "negation"
	ClassDisguise   = "disguised-negation"
	ClassWith       = "with"
	ClassPartial    = "partial-object"
	ClassWalked     = "walked-literal"
	ClassParameter  = "parameter-field"
	ClassSprintf    = "sprintf"
	ClassSchemas    = "schemas"
	ClassCustom     = "custom-parameter"
	ClassCandidates = "candidates"
	ClassSummary    = "summary"
	ClassMetadata   = "metadata"
	ClassLiteral    = "literal"
	ClassData       = "data-file"
	ClassException  = "exception"
	ClassLayer      = "layer"
	ClassGrant      = "grant"
	ClassPlan       = "no-plan"
)

// Class is a class with what it means, in one sentence.
type Class struct{ ID, Short string }

// Classes lists all classes.
var Classes = []Class{
	{ClassRead, "A file or folder could not be read, or others can change it."},
	{ClassEmpty, "A file or folder holds no policy, or the policies together lack a whole family."},
	{ClassManifest, "The .manifest is malformed or asks for another version of Rego."},
	{ClassLimit, "A file, a nesting, a number or the work of loading it passes a limit."},
	{ClassSyntax, "The file is not Rego."},
	{ClassField, "A path below input leads to a field that the schema does not have."},
	{ClassType, "Values of different types are compared or passed."},
	{ClassBuiltin, "A built-in function is called that policies may not call."},
	{ClassUndefined, "A rule, function or path below data is used that does not exist."},
	{ClassRecursion, "A rule depends on itself."},
	{ClassCompile, "The strict compiler refuses it, such as an unused variable or import."},
	{ClassPlace, "The package is not that of its folder, or nothing asks for rules in that folder."},
	{ClassDuplicate, "Two trees define the same package."},
	{ClassMissing, "A package lacks a rule without which it is never asked."},
	{ClassReason, "A finding or objection does not have the form of a reason."},
	{ClassNegation, "A rule that reaps contains not: a missing fact would make it true."},
	{ClassDisguise, "A rule that reaps counts that nothing was found, or a condition asks about a template string: a missing fact would make it true."},
	{ClassWith, "A rule uses with outside of a test."},
	{ClassPartial, "An object is built key by key, which takes time that grows with its square."},
	{ClassWalked, "A rule walks a set or an object with a computed member, in no certain order."},
	{ClassParameter, "A function reads a field of its parameter, which the schema check cannot see."},
	{ClassSprintf, "A rule that keeps uses sprintf, which is undefined when a fact is missing."},
	{ClassSchemas, "METADATA brings a schema of its own."},
	{ClassCustom, "A parameter of one's own is declared or read wrongly."},
	{ClassCandidates, "METADATA names a class of candidates, or a need, that does not exist."},
	{ClassSummary, "METADATA says wrongly how a person is told of a rule's objections."},
	{ClassMetadata, "A package or rule lacks METADATA with a title and a description."},
	{ClassLiteral, "A number in a rule is a parameter that nobody can change."},
	{ClassData, "A data file lies among the policies; rules read their input and nothing else."},
	{ClassException, "The exceptions are malformed, misplaced, or such that they would keep nothing."},
	{ClassLayer, "The layer.yaml of a tree is not at its root, malformed, or names what does not exist."},
	{ClassGrant, "A tree would reap more than a layer above it allows, which did not grant it by name."},
	{ClassPlan, "The rules have something that OPA's plan of them cannot do here, so that each decision takes longer."},
}
