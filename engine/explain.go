package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"winnow/engine/decision"
	"winnow/engine/subject"
)

// depth is how many rules below a condition are followed to the one that did not hold.
const depth = 4

// Explain decides one subject and says why. It costs a few decisions, so it is for one candidate and not for a sweep.
func (e *Engine) Explain(ctx context.Context, sub *subject.Subject) (Explanation, error) {
	out := Explanation{ID: sub.ID, Kind: sub.Kind, Label: sub.Label, Verdict: decision.Spare}
	if _, known := e.kinds[sub.Kind]; !known {
		return out, nil
	}
	in := e.plan.input(sub, e.plan.desk(nil))
	if e.apart != nil {
		return e.apart.explain(ctx, out, in)
	}
	return e.explain(ctx, out, in)
}

// explain fills in the explanation of a document.
func (e *Engine) explain(ctx context.Context, out Explanation, in ast.Value) (Explanation, error) {
	txn, err := e.store.NewTransaction(ctx)
	if err != nil {
		return out, fmt.Errorf("explain %s: %w", out.ID, err)
	}
	defer e.store.Abort(ctx, txn)
	w := watch(e.limits)
	defer w.stop()
	seat := w.seat()
	answer, err := e.ask(ctx, txn, seat, out.Kind, func() ast.Value { return in })
	if err != nil {
		return unexplained(out, err), nil
	}
	out.InScope = answer != nil
	if answer != nil && len(answer.findings) > 0 && len(answer.objections) == 0 {
		out.Verdict = decision.Reap
	}
	t := newTrace()
	_, err = e.eval(ctx, seat, e.kinds[out.Kind].explain, rego.EvalParsedInput(in), rego.EvalTransaction(txn),
		rego.EvalQueryTracer(t), rego.EvalRuleIndexing(false))
	if err != nil {
		return out, fmt.Errorf("explain %s: the decision stands, but not why: %w", out.ID, err)
	}
	x := explainer{e.policy, t}
	for _, p := range e.policy.reap[out.Kind] {
		fired, silent := x.outputs(p, "findings", "in_scope")
		out.Findings, out.NoFinding = append(out.Findings, fired...), append(out.NoFinding, silent...)
	}
	for _, p := range e.policy.protect {
		fired, silent := x.outputs(p, "objections", "")
		out.Objections, out.NoObjection = append(out.Objections, fired...), append(out.NoObjection, silent...)
	}
	return out, nil
}

// unexplained is the explanation of a candidate of which the policies came to no answer.
func unexplained(out Explanation, err error) Explanation {
	out.InScope, out.Error, out.Objections = true, err.Error(), []Fired{{Reason: failed(err)}}
	return out
}

// explainer reads a trace.
type explainer struct {
	policy *Policy
	trace  *trace
}

// outputs sorts a package's rules of reasons into those that fired, a reason each, and those that did not. Where the package
// claims candidates by another rule, that one is among the silent when it did not.
func (x explainer) outputs(p pkg, set, scope string) (fired []Fired, silent []Silent) {
	if scope != "" {
		if rules := x.policy.compiler.GetRulesExact(p.ref.Append(ast.StringTerm(scope))); !slices.ContainsFunc(rules, x.held) {
			silent = x.silent(silent, p, rules...)
		}
	}
	for _, r := range x.policy.compiler.GetRulesExact(p.ref.Append(ast.StringTerm(set))) {
		if !x.held(r) {
			silent = x.silent(silent, p, r)
			continue
		}
		fired = append(fired, x.fired(p, r)...)
	}
	return fired, silent
}

func (x explainer) held(r *ast.Rule) bool { return x.trace.held[r] }

func (x explainer) fired(p pkg, r *ast.Rule) []Fired {
	title, description := x.about(p, r)
	var missing []Condition
	for _, asked := range x.negated(r.Body) {
		missing = append(missing, x.failing(asked, depth)...)
	}
	var out []Fired
	for _, v := range x.trace.gave[r] {
		why, err := reason(v, &measure{left: maxSaid})
		if err != nil {
			continue // ask has refused the same answer before
		}
		out = append(out, Fired{
			Reason: why, File: r.Location.File, Line: r.Location.Row, Title: title, Description: description, Missing: missing,
		})
	}
	slices.SortFunc(out, func(a, b Fired) int { return cmp.Compare(a.Message, b.Message) })
	return slices.CompactFunc(out, func(a, b Fired) bool { return a.Message == b.Message })
}

// silent adds what is to be said of a rule that did not fire, of all its bodies; nothing for one that is for another kind.
func (x explainer) silent(to []Silent, p pkg, rules ...*ast.Rule) []Silent {
	title, description := x.about(p, rules[0])
	at := rules[0].Location
	out := Silent{Rule: p.id, File: at.File, Line: at.Row, Title: title, Description: description}
	for _, r := range rules {
		s := x.trace.far[r]
		if s == nil || s.elsewhere() {
			continue
		}
		out.Failed = append(out.Failed, x.condition(r, s, depth))
		for _, asked := range x.negated(ast.Body{s.expr}) {
			out.Shown = append(out.Shown, x.shown(asked)...)
		}
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
		if s := x.trace.far[r]; s != nil && !x.held(r) && !s.elsewhere() {
			out = append(out, x.condition(r, s, left))
		}
	}
	return out
}

func (x explainer) condition(r *ast.Rule, s *stop, left int) Condition {
	at := s.expr.Location
	c := Condition{Rule: name(r), File: at.File, Line: at.Row, Text: x.line(at)}
	for _, o := range s.operands {
		if v, ok := o.said(); ok {
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

// negated are the rules that the nots of a body ask, a list each.
func (x explainer) negated(b ast.Body) [][]*ast.Rule {
	var out [][]*ast.Rule
	for _, e := range b {
		if _, block := e.Terms.(*ast.Not); !e.Negated && !block {
			continue
		}
		ast.WalkRefs(e, func(ref ast.Ref) bool {
			if rules := x.rules(ref); len(rules) > 0 {
				out = append(out, rules)
			}
			return false
		})
	}
	return out
}

func (x explainer) rules(ref ast.Ref) []*ast.Rule {
	if !ref.HasPrefix(ast.DefaultRootRef) {
		return nil
	}
	return x.policy.compiler.GetRulesExact(ref.ConstantPrefix())
}

func (x explainer) about(p pkg, r *ast.Rule) (title, description string) {
	for _, a := range r.Annotations {
		return a.Title, a.Description
	}
	known := x.policy.rules[p.id]
	return known.Title, known.Description
}

// line is the source line of a place.
func (x explainer) line(at *ast.Location) string {
	i := slices.IndexFunc(x.policy.Files, func(f File) bool { return f.Name == at.File })
	if i < 0 {
		return string(at.Text)
	}
	lines := bytes.Split(x.policy.Files[i].data, []byte("\n"))
	if at.Row < 1 || at.Row > len(lines) {
		return string(at.Text)
	}
	return string(bytes.TrimSpace(lines[at.Row-1]))
}

func name(r *ast.Rule) string { return r.Ref().String()[len("data."):] }

// maxShown is how many bytes of one operand are shown.
const maxShown = 16 << 10

func (o operand) said() (Value, bool) {
	if o.value == nil {
		return Value{Name: o.ref, Unknown: true}, true
	}
	if !(&measure{left: maxShown}).fits(o.value) {
		return Value{Name: o.ref, Value: "(too long to show)"}, true
	}
	plain, err := ast.JSON(o.value)
	return Value{Name: o.ref, Value: plain}, err == nil
}

// elsewhere reports whether a rule ended because it is for candidates of another kind: that is no news.
func (s *stop) elsewhere() bool {
	return len(s.operands) > 0 && s.operands[0].ref == "input.kind" && s.operands[0].value != nil
}
