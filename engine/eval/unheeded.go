package eval

import (
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// unheeded is the objection to a candidate that the file of a trusted repository keeps, or may, where the policies lack the rule that reads it:
// its word would count for nothing. nil for any other candidate.
func (e *Engine) unheeded(sub *subject.Subject) *decision.Reason {
	if _, heeded := e.policy.Rules()[decision.RuleProject]; heeded {
		return nil
	}
	for _, p := range sub.Projects {
		if p.Keeps == nil || len(*p.Keeps) > 0 {
			return &decision.Reason{Rule: decision.RuleUnknown, Evidence: map[string]any{"project": p.Path}, Message: "its repository keeps it, or may, and no rule of the " +
				"policies reads that: load the embedded policies too, or add their folder protect/project (winnow init writes it): " + p.Path}
		}
	}
	return nil
}

// keepUnheeded objects to each candidate that rules found a reason to reap, where unheeded has an objection.
func (e *Engine) keepUnheeded(answers []outcome) {
	for i := range answers {
		a := &answers[i]
		if a.decision == nil || a.err != nil || len(a.decision.Findings) == 0 {
			continue
		}
		if o := e.unheeded(a.sub); o != nil {
			d := a.decision
			d.Objections = append(slices.Clone(d.Objections), *o)
			slices.SortStableFunc(d.Objections, func(x, y decision.Reason) int {
				return strings.Compare(x.Rule+"\x00"+x.Message, y.Rule+"\x00"+y.Message)
			})
			d.Verdict, d.Level = decision.Spare, ""
		}
	}
}

// explainUnheeded adds to an explanation what keepUnheeded adds to a decision.
func (e *Engine) explainUnheeded(sub *subject.Subject, out *explain.Explanation) {
	o := e.unheeded(sub)
	if o != nil && slices.ContainsFunc(out.Findings, func(f explain.Fired) bool { return f.Level != decision.Off }) {
		out.Objections = append(out.Objections, explain.Fired{Reason: *o})
		out.Verdict, out.Level = decision.Spare, ""
	}
}
