package eval

import (
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Repository is what a trusted repository brings besides its file: exceptions, which are data. They can keep what lies or works in that repository, and
// do nothing else.
type Repository struct {
	// Digest is what snapshots call them by: snapshot.Project.Exceptions.
	Digest string
	// Exceptions keep what lies in that repository alone (snapshot.Keep.Within).
	Exceptions []snapshot.Keep
}

// Admit has the exceptions of repositories in force, in the place of those of the call before. It must not be called while the engine decides. Where the
// engine's policies lack the rule that keeps by exceptions, those of a repository count as missing, and what lies in it stays.
func (e *Engine) Admit(repositories ...Repository) {
	e.admitted, e.excepted = map[string]bool{}, nil
	_, heeded := e.policy.Rules()[decision.RuleExcepted]
	for _, r := range repositories {
		if len(r.Exceptions) > 0 && !heeded || e.admitted[r.Digest] { // repositories may have the same
			continue
		}
		e.admitted[r.Digest] = true
		e.excepted = append(e.excepted, r.Exceptions...)
	}
}

// Exceptions are those of the engine's policies and those of the repositories that were admitted.
func (e *Engine) Exceptions() []snapshot.Keep {
	return slices.Concat(e.policy.Exceptions(), e.excepted)
}

// missing is the objection to a candidate in a repository whose exceptions cannot keep it: it is not known whether it lies there, or the exceptions
// that the snapshot names are not here. nil where they can.
func (e *Engine) missing(p subject.Project) *decision.Reason {
	evidence := map[string]any{"repository": p.Path, "exceptions": p.Exceptions}
	switch {
	case p.Exceptions == "":
		return nil
	case p.Places == nil:
		return &decision.Reason{Rule: decision.RuleUnknown, Evidence: evidence,
			Message: "whether it lies in a repository that has exceptions of its own is not known: " + p.Path}
	case !e.admitted[p.Exceptions]:
		return &decision.Reason{Rule: decision.RuleUnknown, Evidence: evidence,
			Message: "the exceptions of its repository are not here, so it is not known whether they keep it: " + p.Path}
	}
	return nil
}

// keepMissing objects to each candidate that rules found a reason to reap, where missing has an objection.
func (e *Engine) keepMissing(answers []outcome) {
	for i := range answers {
		a := &answers[i]
		if a.decision == nil || a.err != nil || len(a.decision.Findings) == 0 {
			continue
		}
		for _, p := range a.sub.Projects {
			if o := e.missing(p); o != nil {
				a.object(*o)
			}
		}
	}
}

// object adds an objection.
func (a *outcome) object(o decision.Reason) {
	d := a.decision
	d.Objections = append(slices.Clone(d.Objections), o)
	slices.SortStableFunc(d.Objections, func(x, y decision.Reason) int {
		return strings.Compare(x.Rule+"\x00"+x.Message, y.Rule+"\x00"+y.Message)
	})
	d.Verdict, d.Level = decision.Spare, ""
}

// explainMissing adds to an explanation what keepMissing adds to a decision.
func (e *Engine) explainMissing(sub *subject.Subject, out *explain.Explanation) {
	if !slices.ContainsFunc(out.Findings, func(f explain.Fired) bool { return f.Level != decision.Off }) {
		return
	}
	for _, p := range sub.Projects {
		if o := e.missing(p); o != nil {
			out.Objections = append(out.Objections, explain.Fired{Reason: *o})
			out.Verdict, out.Level = decision.Spare, ""
		}
	}
}

// withoutMissing is what a search found, unless a repository's exceptions are not here: what they would want cannot be searched.
func (e *Engine) withoutMissing(sub *subject.Subject, out *decision.Counterfactual) *decision.Counterfactual {
	at := slices.IndexFunc(sub.Projects, func(p subject.Project) bool { return p.Exceptions != "" && !e.admitted[p.Exceptions] })
	if out == nil || at < 0 {
		return out
	}
	return &decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{}, Decided: out.Decided,
		Limit: "the exceptions of its repository are not here, and what they would want was not searched: " + sub.Projects[at].Path}
}
