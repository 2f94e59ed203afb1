package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Explain decides one subject and says why. It costs a few decisions, so it is for one candidate and not for a sweep.
func (e *Engine) Explain(ctx context.Context, sub *subject.Subject) (explain.Explanation, error) {
	out, err := e.why(ctx, sub)
	if err != nil || !out.InScope || out.Error != "" {
		return out, err
	}
	if len(sub.Config.Levels) > 0 {
		level(sub, &out)
	}
	e.explainUnheeded(sub, &out)
	return out, nil
}

// why is the explanation as if every rule were on.
func (e *Engine) why(ctx context.Context, sub *subject.Subject) (explain.Explanation, error) {
	out := explain.Explanation{ID: sub.ID, Kind: sub.Kind, Label: sub.Label, Verdict: decision.Spare}
	if _, known := e.kinds[sub.Kind]; !known {
		return out, nil
	}
	return e.judge.ExplainSubject(ctx, out, sub)
}

// level says of what fired which level its rule has, and what follows from it.
func level(sub *subject.Subject, out *explain.Explanation) {
	var counts Reasons
	for i := range out.Findings {
		f := &out.Findings[i]
		if f.Level = levelOf(sub, f.Rule); f.Level != decision.Off {
			counts.Findings = append(counts.Findings, f.Reason)
		}
	}
	for i := range out.Objections {
		o := &out.Objections[i]
		if levelOf(sub, o.Rule) == decision.Off {
			o.Level = decision.Off
		} else {
			counts.Objections = append(counts.Objections, o.Reason)
		}
	}
	d := decision.Decision{Verdict: decision.Spare}
	counts.into(&d)
	out.Verdict, out.Level = d.Verdict, d.Level
}

// ExplainSubject fills in the explanation of a subject, by rules that are asked here.
func (e *Engine) ExplainSubject(ctx context.Context, out explain.Explanation, sub *subject.Subject) (explain.Explanation, error) {
	in := plan.NewEncoder(nil).Document(sub)
	txn, err := e.store.NewTransaction(ctx)
	if err != nil {
		return out, fmt.Errorf("explain %s: %w", out.ID, err)
	}
	defer e.store.Abort(ctx, txn)
	w := watch(e.limits)
	defer w.stop()
	q := e.kinds[out.Kind]
	explaining, err := q.explain.get(w)
	if err != nil {
		return out, fmt.Errorf("explain %s: %w", out.ID, err)
	}
	q.ready(e.program)
	seat := w.slot()
	answer, err := e.asker(txn, seat).ask(ctx, q, candidate{subject: sub, input: in})
	if err != nil {
		return Unexplained(out, err), nil
	}
	out.InScope = answer != nil
	if answer != nil && len(answer.Findings) > 0 && len(answer.Objections) == 0 {
		out.Verdict = decision.Reap
	}
	t := explain.NewTrace()
	_, err = e.eval(ctx, seat, explaining, rego.EvalParsedInput(in), rego.EvalTransaction(txn),
		rego.EvalQueryTracer(t), rego.EvalRuleIndexing(false))
	if err != nil {
		return out, fmt.Errorf("explain %s: the decision stands, but not why: %w", out.ID, err)
	}
	out.Rules(e.policy, t, in)
	return out, nil
}

// Unexplained is the explanation of a candidate for which the policies came to no answer.
func Unexplained(out explain.Explanation, err error) explain.Explanation {
	out.InScope, out.Error, out.Objections = true, err.Error(), []explain.Fired{{Reason: failed(err)}}
	return out
}

// leveled is what the policies said as far as the levels of their rules let it count, as policies/lib/levels has it: without what rules
// said that are off, and with the level of each finding that reaps nothing.
func leveled(sub *subject.Subject, s *Reasons) Reasons {
	if len(sub.Config.Levels) == 0 {
		return *s
	}
	out := Reasons{Findings: []decision.Reason{}}
	for _, f := range s.Findings {
		if f.Level = levelOf(sub, f.Rule); f.Level != decision.Off {
			out.Findings = append(out.Findings, f)
		}
	}
	out.Objections = slices.DeleteFunc(slices.Clone(s.Objections), func(o decision.Reason) bool { return levelOf(sub, o.Rule) == decision.Off })
	return out
}

// levelOf is that of a rule for a candidate, empty for one that is on, as a rule that asks a person is for what that person asked for.
func levelOf(sub *subject.Subject, rule string) string {
	switch l := sub.Config.Level(sub.Kind, rule); {
	case l == decision.On, l == decision.Ask && sub.Asked != nil:
		return ""
	case l == decision.Ask, l == decision.Off:
		return l
	default:
		return decision.Observe
	}
}

// into writes down what was said, and what follows from it.
func (s Reasons) into(d *decision.Decision) {
	d.Findings, d.Objections = s.Findings, s.Objections
	switch l, _ := d.Counting(); {
	case len(d.Objections) > 0:
	case l == decision.On:
		d.Verdict = decision.Reap
	default:
		d.Level = l
	}
}

// The bounds of the search for what would have to be otherwise for the other verdict of one candidate. The number of decisions ends it within some
// seconds; maxSearch is for a machine that is busy with other things.
const (
	maxDecisions = 3000
	maxSearch    = 15 * time.Second
)

// Search is how the other verdict is looked for.
type Search struct {
	// Within is how long it may take, 0 for the fifteen seconds that it takes at most; Decisions how many, 0 for 3,000.
	Within    time.Duration `json:"within,omitempty"`
	Decisions int           `json:"decisions,omitempty"`
	// First are ways that are tried before all others.
	First []decision.Way `json:"first,omitempty"`
}

// withDefaults is the search with its bounds filled in.
func (s Search) withDefaults() Search {
	s.Within = min(cmp.Or(max(s.Within, 0), maxSearch), maxSearch)
	s.Decisions = min(cmp.Or(max(s.Decisions, 0), maxDecisions), maxDecisions)
	return s
}

// Counterfactual searches what would have to be otherwise for the other verdict of a candidate in scope. It costs some tens of decisions, and a few
// where a way in s.First is one. Nil where there are no policies for its kind.
func (e *Engine) Counterfactual(ctx context.Context, sub *subject.Subject, s Search) (*decision.Counterfactual, error) {
	if _, known := e.kinds[sub.Kind]; !known {
		return nil, nil
	}
	out, err := e.judge.SearchSubject(ctx, sub, s.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("explain %s: search what would change its decision: %w", sub.ID, err)
	}
	if o := e.unheeded(sub); o != nil && out != nil { // what the repository would want cannot be searched
		out = &decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{}, Decided: out.Decided, Limit: o.Message}
	}
	return out, nil
}

// SearchSubject searches by rules that are asked here.
func (e *Engine) SearchSubject(ctx context.Context, sub *subject.Subject, s Search) (*decision.Counterfactual, error) {
	txn, err := e.store.NewTransaction(ctx)
	if err != nil {
		return nil, err
	}
	defer e.store.Abort(ctx, txn)
	within, done := context.WithTimeout(ctx, s.Within)
	defer done()
	w := watch(e.limits)
	defer w.stop()
	q := e.kinds[sub.Kind]
	explaining, err := q.explain.get(w)
	if err != nil {
		return nil, err
	}
	q.ready(e.program)
	in := plan.NewEncoder(nil).Document(sub)
	out, err := explain.Search(within, e.policy, sub.Kind, in, &decider{e.asker(txn, w.slot()), q, explaining, sub}, s.Decisions, s.First)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// decider decides the documents of a search, under the limits of every evaluation.
type decider struct {
	*asker
	query      *query
	explaining rego.PreparedEvalQuery
	subject    *subject.Subject
}

// Decide implements explain.Decider.
func (d *decider) Decide(ctx context.Context, in ast.Value) (explain.Answer, error) {
	out := explain.Answer{Verdict: decision.Spare}
	said, err := d.ask(ctx, d.query, candidate{subject: d.subject, input: in})
	if err != nil { // of a document that was never seen: it would stay
		out.Objections = []string{decision.PolicyError}
		return out, ctx.Err()
	}
	if said == nil {
		return out, nil
	}
	dec := decision.Decision{Verdict: decision.Spare}
	leveled(d.subject, said).into(&dec)
	out.Verdict = dec.Verdict
	level, _ := dec.Counting()
	out.Found = level == decision.On
	for _, f := range dec.Findings {
		out.Findings = append(out.Findings, f.Rule)
	}
	for _, o := range dec.Objections {
		out.Objections = append(out.Objections, o.Rule)
	}
	return out, nil
}

// Trace implements explain.Decider. A trace of what came to no end is as far as the rules came.
func (d *decider) Trace(ctx context.Context, in ast.Value) (*explain.Trace, error) {
	t := explain.NewTrace()
	if _, err := d.engine.eval(ctx, d.slot, d.explaining, rego.EvalParsedInput(in), rego.EvalTransaction(d.txn),
		rego.EvalQueryTracer(t), rego.EvalRuleIndexing(false)); err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return t, nil
}
