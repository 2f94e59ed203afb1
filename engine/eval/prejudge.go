package eval

import (
	"context"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Prejudged is what is settled of a folder by what is cheap to know.
type Prejudged struct {
	// Why it stays with any answer to the dear questions about it (subject.Optimistic), as the end of a sentence that begins with because; "" where they are worth asking: it would go, be left for
	// a person, or be reported by a rule that is only observed, or the policies came to no answer.
	Why string
	// Part is true where a folder in it that can be made again may go all the same.
	Part bool
}

// Unclaimed is why a folder stays that no rule would find a reason for.
const Unclaimed = "no rule gives a reason to reap it, whatever it holds"

// Prejudge says of the folders of a snapshot, by id, whether the dear questions are worth asking. The snapshot need not have their answers. keeps says
// of which rules it is known that no answer makes them object less than the best one does: of the shipped ones; what others object to settles nothing. The rules that may find a reason to reap
// a folder must all be such that no answer makes them find more. The error is only for a ctx that ended.
func (e *Engine) Prejudge(ctx context.Context, s *snapshot.Snapshot, c *subject.Config, keeps func(rule string) bool) (map[string]Prejudged, error) {
	l := e.join(subject.Optimistic(s, c), c)
	l.guess = true // what may go is asked about, and decided on again
	res, err := e.DecideLook(ctx, l)
	if err != nil {
		return nil, err
	}
	why := map[string]string{}
	for _, d := range res.Decisions {
		why[d.ID] = keptBy(d, keeps)
	}
	out := make(map[string]Prejudged, len(s.Dirs))
	for id := range s.Dirs {
		f := Prejudged{Why: Unclaimed}
		if said, claimed := why[id]; claimed {
			f.Why = said
		}
		said, claimed := why[subject.PartID(strings.TrimPrefix(id, snapshot.KindDir+":"))]
		f.Part = claimed && said == ""
		out[id] = f
	}
	return out, nil
}

// dependentRules are the rules that may object less where another one finds less: with the true answers, which give fewer reasons, they may keep silent.
var dependentRules = []string{decision.RuleDebounce, decision.RuleExcepted, decision.RuleProject}

// keptBy is what keeps the candidate of a decision that was made by the best answers.
func keptBy(d decision.Decision, keeps func(rule string) bool) string {
	for _, o := range d.Objections {
		if o.Rule == decision.PolicyError {
			return ""
		}
	}
	for _, o := range d.Objections {
		if !slices.Contains(dependentRules, o.Rule) && keeps(o.Rule) {
			return o.Message
		}
	}
	if len(d.Findings) == 0 {
		return Unclaimed
	}
	return ""
}

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
		if a.err != nil || len(a.decision.Findings) == 0 {
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
