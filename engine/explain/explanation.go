// Package explain says why a candidate was decided so: it reads the trace of one evaluation, and puts it in words that a report prints.
package explain

import (
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
)

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
