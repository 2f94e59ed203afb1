// Package explain says why a candidate was decided so: it reads the trace of one evaluation, and puts it in words that a report prints.
package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
)

// depth is how many rules below a condition are followed to the one that did not hold.
const depth = 4

// Rules fills in which rules of a policy fired and which did not, of the evaluation that was traced.
func (out *Explanation) Rules(p *policy.Policy, t *Trace, in ast.Value) {
	x := explainer{p, t, in}
	for _, pkg := range p.Reap(out.Kind) {
		fired, silent := x.outputs(pkg, policy.FindingsRule, policy.ScopeRule)
		out.Findings, out.NoFinding = append(out.Findings, fired...), append(out.NoFinding, silent...)
	}
	for _, pkg := range p.Protect() {
		fired, silent := x.outputs(pkg, policy.ObjectionsRule, "")
		out.Objections, out.NoObjection = append(out.Objections, fired...), append(out.NoObjection, silent...)
	}
}

// explainer reads a trace.
type explainer struct {
	policy *policy.Policy
	trace  *Trace
	in     ast.Value
}

// outputs sorts a package's rules of reasons into those that fired, a reason each, and those that did not. Where the package
// claims candidates by another rule, that one is among the silent when it did not.
func (x explainer) outputs(p policy.Package, set, scope string) (fired []Fired, silent []Silent) {
	if scope != "" {
		if rules := x.rulesOf(p, scope); !slices.ContainsFunc(rules, x.held) {
			silent = x.silent(silent, p, rules...)
		}
	}
	for _, r := range x.rulesOf(p, set) {
		if !x.held(r) {
			silent = x.silent(silent, p, r)
			continue
		}
		fired = append(fired, x.fired(p, r)...)
	}
	return fired, silent
}

func (x explainer) held(r *ast.Rule) bool { return x.trace.held[r] }

func (x explainer) fired(p policy.Package, r *ast.Rule) []Fired {
	title, description := x.about(p, r)
	missing := x.failing(x.negated(r.Body), depth)
	var out []Fired
	facts := x.facts(r)
	for _, v := range x.trace.gave[r] {
		why, err := policy.ReasonOf(p.ID, v, policy.Room(policy.MaxSaid))
		if err != nil {
			continue // the decision has refused the same answer before
		}
		out = append(out, Fired{
			Reason: why, File: r.Location.File, Line: r.Location.Row, Title: title, Description: description, Facts: facts, Missing: missing,
		})
	}
	slices.SortFunc(out, func(a, b Fired) int { return cmp.Compare(a.Message, b.Message) })
	return slices.CompactFunc(out, func(a, b Fired) bool { return a.Message == b.Message })
}

// silent explains a rule that did not fire, of all its bodies; nothing for one that is for another kind.
func (x explainer) silent(to []Silent, p policy.Package, rules ...*ast.Rule) []Silent {
	title, description := x.about(p, rules[0])
	at := rules[0].Location
	out := Silent{Rule: p.ID, File: at.File, Line: at.Row, Title: title, Description: description}
	for _, r := range rules {
		s := x.trace.far[r]
		if s == nil || x.otherKind(s) {
			continue
		}
		out.Failed = append(out.Failed, x.condition(r, s, depth))
		out.Shown = append(out.Shown, x.shown(x.negated(ast.Body{s.expr}))...)
	}
	if len(out.Failed) == 0 {
		return to
	}
	return append(to, out)
}

// shown are the rules that a not asked and that held.
func (x explainer) shown(rules []*ast.Rule) []Condition {
	var out []Condition
	for _, r := range rules {
		if x.held(r) {
			out = append(out, Condition{Rule: name(r), File: r.Location.File, Line: r.Location.Row, Text: strings.Join(strings.Fields(string(r.Location.Text)), " ")})
		}
	}
	return out
}

// failing are the conditions at which rules that did not hold came to their end.
func (x explainer) failing(rules []*ast.Rule, left int) []Condition {
	var out []Condition
	for _, r := range rules {
		if s := x.trace.far[r]; s != nil && !x.held(r) && !x.otherKind(s) {
			out = append(out, x.condition(r, s, left))
		}
	}
	return out
}

func (x explainer) condition(r *ast.Rule, s *stop, left int) Condition {
	at := s.expr.Location
	c := Condition{Rule: name(r), File: at.File, Line: at.Row, Text: x.line(at)}
	for _, o := range s.operands {
		if v, ok := o.shown(); ok {
			c.Values = append(c.Values, v)
		}
	}
	if left == 0 || s.expr.Negated {
		return c
	}
	ast.WalkRefs(s.expr, func(ref ast.Ref) bool {
		c.Because = append(c.Because, x.failing(x.rules(ref), left-1)...)
		return false
	})
	return c
}

// negated are the rules that the nots of a body ask.
func (x explainer) negated(b ast.Body) (out []*ast.Rule) {
	for _, e := range b {
		if _, block := e.Terms.(*ast.Not); !e.Negated && !block {
			continue
		}
		ast.WalkRefs(e, func(ref ast.Ref) bool {
			out = append(out, x.rules(ref)...)
			return false
		})
	}
	return out
}

func (x explainer) rules(ref ast.Ref) []*ast.Rule {
	if !ref.HasPrefix(ast.DefaultRootRef) {
		return nil
	}
	return x.policy.Compiler().GetRulesExact(ref.ConstantPrefix())
}

func (x explainer) about(p policy.Package, r *ast.Rule) (title, description string) {
	for _, a := range r.Annotations {
		return a.Title, a.Description
	}
	known := x.policy.Rule(p.ID)
	return known.Title, known.Description
}

// line is the source line of a place.
func (x explainer) line(at *ast.Location) string {
	if line, ok := x.policy.Line(at.File, at.Row); ok {
		return line
	}
	return string(at.Text)
}

func name(r *ast.Rule) string { return r.Ref().String()[len("data."):] }

// maxShown is how many bytes of one operand are shown.
const maxShown = 16 << 10

// tooLong stands for a value that is longer.
const tooLong = "(too long to show)"

func (o operand) shown() (Value, bool) {
	if o.value == nil {
		return Value{Name: written(o.ref), Unknown: true}, true
	}
	if !policy.Room(maxShown).Fits(o.value) {
		return Value{Name: written(o.ref), Value: tooLong}, true
	}
	plain, err := ast.JSON(o.value)
	return Value{Name: written(o.ref), Value: plain}, err == nil
}

var kind = ast.MustParseRef("input.kind")

// otherKind reports whether a rule ended because it is for candidates of another kind, or reads what these have: no news.
func (x explainer) otherKind(s *stop) bool {
	first := slices.Concat(s.operands, []operand{{}})[0]
	return first.ref.Equal(kind) && first.value != nil || len(first.ref) > 1 && x.foreign(first.ref)
}

// Explanation says of one candidate why it was decided so, and how near the rules came that did not fire.
type Explanation struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Label   string `json:"label,omitempty"`
	Verdict string `json:"verdict"`
	// Level is as in a decision.
	Level   string `json:"level,omitempty"`
	InScope bool   `json:"in_scope"`
	// Error is why the policies came to no answer; the candidate is then spared.
	Error string `json:"error,omitempty"`
	// Findings and Objections are what fired; one of a rule that is off has that level, and does not count.
	Findings   []Fired `json:"findings"`
	Objections []Fired `json:"objections"`
	// NoFinding are the reasons to reap this kind that were not found, NoObjection those to keep that did not object.
	NoFinding   []Silent `json:"no_finding"`
	NoObjection []Silent `json:"no_objection"`
}

// Fired is a reason with where it stands.
type Fired struct {
	decision.Reason
	File        string `json:"file,omitempty"`
	Line        int    `json:"line,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Layer is that of the rule where it is not the shipped one: organisation, user or repository, and behind it where its tree is from.
	Layer string `json:"layer,omitempty"`
	// Facts are what the rule rests on, sorted by name: what it and the rules that it asks read of the subject.
	Facts []Fact `json:"facts,omitempty"`
	// Missing are, for an objection that keeps unless something is shown, the conditions of being shown that did not hold: with
	// these otherwise it would not object.
	Missing []Condition `json:"missing,omitempty"`
}

// Fact is one fact of a subject with where it comes from.
type Fact struct {
	// Fact is where it stands in the subject, such as input.dir.git.dirty.
	Fact string `json:"fact"`
	// Value is absent where it is Unknown.
	Value   any  `json:"value,omitempty"`
	Unknown bool `json:"unknown,omitempty"`
	// Source is as in a decision.Change; config for a parameter.
	Source string `json:"source,omitempty"`
	// AsOf is when it was read: with the look, or at an earlier look that remembered it. Absent for a parameter. Age is how many seconds ago
	// that was when this was said.
	AsOf *time.Time `json:"as_of,omitempty"`
	Age  *float64   `json:"age,omitempty"`
}

// Silent is a rule that did not fire.
type Silent struct {
	Rule        string `json:"rule"`
	File        string `json:"file"`
	Line        int    `json:"line"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Failed are the conditions that did not hold, one a body of the rule, each the furthest that was got to.
	Failed []Condition `json:"failed,omitempty"`
	// Shown are, for a rule that keeps unless something is shown, what showed it.
	Shown []Condition `json:"shown,omitempty"`
}

// Condition is a line of a policy and what its operands were.
type Condition struct {
	// Rule is the rule that the condition is part of, such as policies.protect.unsaved._saved.
	Rule string `json:"rule"`
	File string `json:"file"`
	Line int    `json:"line"`
	// Text is the line as it is written; of a rule that held, the whole rule on one line.
	Text string `json:"text"`
	// Values are its operands, in the order in which they are written.
	Values []Value `json:"values,omitempty"`
	// Because are the conditions of the rules that it asks, where these did not hold.
	Because []Condition `json:"because,omitempty"`
}

// Value is one operand of a condition.
type Value struct {
	// Name is the fact, such as input.dir.git.dirty; empty for a constant or a local.
	Name string `json:"name,omitempty"`
	// Value is absent where the fact is.
	Value any `json:"value,omitempty"`
	// Unknown is true where the fact is absent.
	Unknown bool `json:"unknown,omitempty"`
}

// Innermost are the places at which conditions came to their end.
func Innermost(cs []Condition) (out []Condition) {
	for _, c := range cs {
		if len(c.Because) > 0 {
			out = append(out, Innermost(c.Because)...)
		} else {
			out = append(out, c)
		}
	}
	return out
}
