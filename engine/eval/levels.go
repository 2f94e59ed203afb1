package eval

import (
	"slices"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/subject"
)

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
