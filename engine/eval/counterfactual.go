package eval

import (
	"context"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/subject"
)

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
	if s.Within <= 0 || s.Within > maxSearch {
		s.Within = maxSearch
	}
	if s.Decisions <= 0 || s.Decisions > maxDecisions {
		s.Decisions = maxDecisions
	}
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
	said, err := d.ask(ctx, d.query, candidate{input: in})
	if err != nil { // of a document that was never seen: it would stay
		out.Objections = []string{decision.PolicyError}
		return out, ctx.Err()
	}
	if said == nil {
		return out, nil
	}
	var dec decision.Decision
	dec.Verdict = decision.Spare
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
