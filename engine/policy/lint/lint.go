// Package lint finds what is wrong with one module of Rego before anything asks it, and says what is wrong in plain words:
// also what the parser and the compiler find. It reads no tree.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// check looks at one module and says what is wrong with it.
type check func(m *ast.Module, family string) Refusals

// Safety finds what could make a verdict harsher than it should be, or the engine slower than linear, and that neither the
// compiler nor the schema sees. Load refuses modules with such findings, whoever wrote them. Modules must have been parsed and
// not compiled, and with their annotations.
func Safety(modules ...*ast.Module) Refusals {
	return lint(modules, noNegation, noDisguise(modules), noWith, noPartialObject, noWalkedLiteral, typedParameters, noSprintf, smallNumbers, noSchemas)
}

// Advice is what is asked of the policies that are shipped besides: METADATA, and no literal that an operator may want to change. Modules must have
// been parsed with their annotations.
func Advice(modules ...*ast.Module) Refusals {
	return lint(modules, described(modules), noLiterals)
}

func lint(modules []*ast.Module, checks ...check) Refusals {
	var refused Refusals
	for _, m := range modules {
		family := familyOf(m.Package)
		for _, c := range checks {
			refused = append(refused, c(m, family)...)
		}
	}
	return refused
}

// familyOf is the folder below policies that a package lies in, such as reap; empty for another package.
func familyOf(p *ast.Package) string {
	if len(p.Path) < 3 || ValueText(p.Path[1].Value) != "policies" {
		return ""
	}
	return ValueText(p.Path[2].Value)
}

func refusalAt(class string, l *ast.Location, problem, fix string) Refusal {
	return Refusal{Class: class, File: l.File, Line: l.Row, Column: l.Col, Problem: problem, Fix: fix}
}

// noNegation: under reap a missing fact must never make a condition true.
func noNegation(m *ast.Module, family string) Refusals {
	var refused Refusals
	if family != "reap" {
		return nil
	}
	ast.WalkExprs(m, func(e *ast.Expr) bool {
		if _, block := e.Terms.(*ast.Not); e.Negated || block {
			refused = append(refused, refusalAt(ClassNegation, e.Location, "not in a rule that reaps", "state positively what must be known, for a missing fact makes a not true"))
		}
		return false
	})
	return refused
}

// noWith: it copies the whole input at every use, and it shows a rule another world than the one that is judged.
func noWith(m *ast.Module, _ string) Refusals {
	var refused Refusals
	ast.WalkExprs(m, func(e *ast.Expr) bool {
		if len(e.With) > 0 {
			refused = append(refused, refusalAt(ClassWith, e.Location, "with outside a test", "pass what the rule needs as an argument"))
		}
		return false
	})
	return refused
}

// noPartialObject: OPA compares every new key of one with all earlier ones, which is quadratic (measured with 1.22.0).
func noPartialObject(m *ast.Module, _ string) Refusals {
	var refused Refusals
	for _, r := range m.Rules {
		ref := r.Head.Ref()
		computed := slices.ContainsFunc(ref[1:], func(t *ast.Term) bool { _, fixed := t.Value.(ast.String); return !fixed })
		if len(r.Head.Args) == 0 && (computed || len(ref) > 1 && r.Head.RuleKind() == ast.MultiValue) {
			refused = append(refused, refusalAt(ClassPartial, r.Location, fmt.Sprintf("%s is an object that is built key by key", ref), "write a set, or a comprehension"))
		}
	}
	return refused
}

// noWalkedLiteral: OPA's evaluator and its plan walk a set whose members are computed, or an object whose keys are, in different orders (measured with 1.22.0).
// A candidate for which they differ stays.
func noWalkedLiteral(m *ast.Module, _ string) Refusals {
	var refused Refusals
	for _, r := range m.Rules {
		if r.Head.Value != nil && isComputed(r.Head.Value) {
			refused = append(refused, refusalAt(ClassWalked, r.Head.Value.Location, "its value is a set or an object with a computed member",
				"write contains, an array or a comprehension: OPA walks those in one order alone"))
		}
		named := map[string]bool{}
		walked := func(over *ast.Term) {
			if isComputed(over) || named[over.String()] {
				refused = append(refused, refusalAt(ClassWalked, over.Location, "it walks a set or an object with a computed member",
					"write an array or a comprehension: OPA walks those in one order alone"))
			}
		}
		ast.WalkExprs(r, func(e *ast.Expr) bool {
			if e.IsAssignment() && isComputed(e.Operand(1)) {
				named[e.Operand(0).String()] = true
			}
			return false
		})
		ast.WalkExprs(r, func(e *ast.Expr) bool {
			if every, ok := e.Terms.(*ast.Every); ok {
				walked(every.Domain)
			}
			if e.IsCall() && strings.HasPrefix(e.Operator().String(), "internal.member_") {
				walked(e.Operand(len(e.Operands()) - 1))
			}
			return false
		})
		ast.WalkTerms(r, func(t *ast.Term) bool {
			switch v := t.Value.(type) {
			case ast.Ref:
				walked(v[0])
			case ast.Call:
				if strings.HasPrefix(v[0].String(), "internal.member_") {
					walked(v[len(v)-1])
				}
			}
			return false
		})
	}
	return refused
}

// isComputed reports whether a term is a set with a member, or an object with a key, that is no constant.
func isComputed(t *ast.Term) bool {
	members := []*ast.Term{}
	switch v := t.Value.(type) {
	case ast.Set:
		members = v.Slice()
	case ast.Object:
		members = v.Keys()
	}
	return slices.ContainsFunc(members, func(m *ast.Term) bool { return !ast.IsConstant(m.Value) })
}

// noSprintf: over a fact that is missing it is undefined, and so is the reason that it stands in.
func noSprintf(m *ast.Module, family string) Refusals {
	var refused Refusals
	if family != "protect" {
		return nil
	}
	ast.WalkRefs(m, func(r ast.Ref) bool { // a call names its function by one
		if r.String() == "sprintf" {
			refused = append(refused, refusalAt(ClassSprintf, r[0].Location, "sprintf in a rule that keeps", `write a template string, $"... {input.label}", which is defined even when facts are missing`))
		}
		return false
	})
	return refused
}

// noSchemas: a schema that a file brings would be believed instead of the closed one that every input is checked against.
func noSchemas(m *ast.Module, _ string) Refusals {
	var refused Refusals
	for _, a := range annotations(m) {
		if len(a.Schemas) > 0 {
			refused = append(refused, refusalAt(ClassSchemas, a.Location, "METADATA with schemas", "take them out: every policy is checked against the schema of the input, schemas/subject.json"))
		}
	}
	return refused
}

// annotations are those of a module and of its rules.
func annotations(m *ast.Module) []*ast.Annotations {
	out := m.Annotations
	for _, r := range m.Rules {
		out = append(out[:len(out):len(out)], r.Annotations...)
	}
	return out
}

// described: a package has METADATA, in one of its files, for its reasons too; what else may be asked has a comment above it.
func described(modules []*ast.Module) check {
	said := map[string]bool{}
	for _, m := range modules {
		pkg := m.Package.Path.String()
		said[pkg] = said[pkg] || slices.ContainsFunc(m.Annotations, func(a *ast.Annotations) bool { return a.Scope == "package" && complete(a) })
		for _, r := range m.Rules {
			said[r.Ref().String()] = said[r.Ref().String()] || commented(m, r)
		}
	}
	return func(m *ast.Module, _ string) (refused Refusals) {
		if !said[m.Package.Path.String()] {
			refused = append(refused, refusalAt(ClassMetadata, m.Package.Location, "package without METADATA", "write # METADATA with a title and a description above it"))
		}
		for _, r := range m.Rules {
			if name := r.Head.Ref().String(); !strings.HasPrefix(name, "_") && !said[r.Ref().String()] {
				said[r.Ref().String()] = true
				refused = append(refused, refusalAt(ClassMetadata, r.Location, fmt.Sprintf("rule %s without METADATA", name), "write # METADATA with a title and a description above it, or a comment, or begin its name with _"))
			}
		}
		return refused
	}
}

func complete(a *ast.Annotations) bool { return a.Title != "" && a.Description != "" }

func commented(m *ast.Module, r *ast.Rule) bool {
	reason := slices.Contains([]string{"findings", "objections"}, r.Head.Ref().String())
	return reason || slices.ContainsFunc(m.Comments, func(c *ast.Comment) bool { return c.Location.Row == r.Location.Row-1 })
}

// noLiterals: a number in a rule is a parameter that cannot be changed. 0 and 1 count things, and are allowed.
func noLiterals(m *ast.Module, family string) Refusals {
	var refused Refusals
	if family != "reap" && family != "protect" && family != "lib" {
		return nil
	}
	ast.WalkTerms(m, func(t *ast.Term) bool {
		if n, ok := t.Value.(ast.Number); ok && n != "0" && n != "1" && t.Location != nil && t.Location.Row > 0 {
			refused = append(refused, refusalAt(ClassLiteral, t.Location, fmt.Sprintf("the number %s in a rule", n), "make it a parameter in config.yaml and read it from input.config"))
		}
		return false
	})
	return refused
}

// maxDigits and maxExponent bound a number: 1e1000000000 is eleven bytes, and 400 MB as soon as somebody counts with it.
const (
	maxDigits   = 300
	maxExponent = 300
)

// smallNumbers: what counts with a number makes all of its digits.
func smallNumbers(m *ast.Module, _ string) Refusals {
	var refused Refusals
	ast.WalkTerms(m, func(t *ast.Term) bool {
		if n, ok := t.Value.(ast.Number); ok && !small(string(n)) {
			refused = append(refused, refusalAt(ClassLimit, t.Location, fmt.Sprintf("the number %.20s... is too large to count with", string(n)), "write a smaller one"))
		}
		return false
	})
	return refused
}

// small reports whether a number has few digits when it is written out.
func small(n string) bool {
	digits, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	exponent = strings.TrimLeft(strings.TrimLeft(exponent, "+-"), "0")
	if len(digits) > maxDigits || len(exponent) > len(fmt.Sprint(maxExponent)) {
		return false
	}
	value := 0
	for _, c := range exponent {
		value = 10*value + int(c-'0')
	}
	return value <= maxExponent
}

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

// typedParameters: the schema says nothing of a function's parameters, so that a misspelt field of one would be a condition
// that never holds. Functions take single facts, and lists of them. What is taken out of a parameter is as little known.
func typedParameters(m *ast.Module, _ string) Refusals {
	var refused Refusals
	for _, r := range m.Rules {
		if len(r.Head.Args) == 0 {
			continue
		}
		loose := map[ast.Var]bool{}
		for _, a := range r.Head.Args {
			ast.WalkVars(a, func(v ast.Var) bool { loose[v] = true; return false })
		}
		spread(r, loose)
		ast.WalkRefs(r, func(ref ast.Ref) bool {
			v, ok := ref[0].Value.(ast.Var)
			if !ok || !loose[v] {
				return false
			}
			for _, t := range ref[1:] {
				if _, constant := t.Value.(ast.String); constant {
					refused = append(refused, refusalAt(ClassParameter, r.Location, fmt.Sprintf("function %s reads %s of a parameter", r.Head.Name, ref),
						"pass that fact itself: the schema check cannot see into parameters"))
					return false
				}
			}
			return false
		})
	}
	return refused
}

// spread adds the variables that are assigned or unified from, or iterate over, what is already loose, until there are no more.
func spread(r *ast.Rule, loose map[ast.Var]bool) {
	for before := -1; before != len(loose); {
		before = len(loose)
		ast.WalkExprs(r, func(e *ast.Expr) bool {
			switch t := e.Terms.(type) {
			case *ast.SomeDecl:
				spreadSome(t, loose)
			case []*ast.Term:
				if e.IsAssignment() || e.IsEquality() {
					spreadBoth(e.Operand(0), e.Operand(1), loose)
				}
			}
			return false
		})
	}
}

// spreadSome handles `some x in xs` and `some k, x in xs`, which the parser leaves as a call of internal.member.
func spreadSome(d *ast.SomeDecl, loose map[ast.Var]bool) {
	for _, s := range d.Symbols {
		call, ok := s.Value.(ast.Call)
		if !ok {
			continue
		}
		if over := call[len(call)-1]; isLoose(over, loose) {
			for _, t := range call[1 : len(call)-1] {
				mark(t, loose)
			}
		}
	}
}

func spreadBoth(a, b *ast.Term, loose map[ast.Var]bool) {
	if isLoose(a, loose) {
		mark(b, loose)
	}
	if isLoose(b, loose) {
		mark(a, loose)
	}
}

func isLoose(t *ast.Term, loose map[ast.Var]bool) bool {
	switch v := t.Value.(type) {
	case ast.Var:
		return loose[v]
	case ast.Ref:
		head, ok := v[0].Value.(ast.Var)
		return ok && loose[head]
	default:
		return false
	}
}

func mark(t *ast.Term, loose map[ast.Var]bool) {
	ast.WalkVars(t, func(v ast.Var) bool {
		if !v.IsWildcard() {
			loose[v] = true
		}
		return false
	})
}
