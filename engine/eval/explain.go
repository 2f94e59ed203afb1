package eval

import (
	"context"
	"fmt"
	"slices"

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
	answer, err := e.asker(txn, seat).ask(ctx, q, candidate{input: in})
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
