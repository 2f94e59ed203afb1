package compare

import (
	"encoding/json"
	"slices"

	"github.com/winnow-reaper/winnow/engine/explain"
)

const (
	// maxFacts is how many conditions a cause shows of each side.
	maxFacts = 3
	// maxBytes is how much of one fact is shown.
	maxBytes = 2 << 10
)

// Fact is a line of a policy with its operands.
type Fact struct {
	// In is the side whose policy it is. Held is true for a condition that held, and false for one that did not.
	In   string `json:"in" jsonschema:"enum=base,enum=head"`
	Held bool   `json:"held"`
	// Rule is the rule that it is part of, such as policies.protect.unsaved._saved.
	Rule   string          `json:"rule"`
	File   string          `json:"file"`
	Line   int             `json:"line"`
	Text   string          `json:"text"`
	Values []explain.Value `json:"values,omitempty"`
}

// Explained are the explanations of one candidate by both sides; a nil one was not asked for, or came to nothing.
type Explained [2]*explain.Explanation

// Facts are the conditions at which one side ended and the other did not: of a finding that is new those that the base's rule ended at, of
// an objection that fell silent what kept it before, and what the head's rule ended at or was shown.
func (x Explained) Facts(c Cause) (out []Fact) {
	add := func(in string, held bool, conditions []explain.Condition) {
		for _, condition := range endsOf(conditions, maxFacts) {
			out = append(out, newFact(in, held, condition))
		}
	}
	if b := x[base]; b != nil && c.What == Found {
		for _, s := range ofRule(b.NoFinding, c.Rule) {
			add(Base, false, s.Failed)
		}
	}
	if b := x[base]; b != nil && c.What == Silent {
		for _, f := range b.Objections {
			if f.Rule == c.Rule {
				add(Base, false, f.Missing)
			}
		}
	}
	if h := x[head]; h != nil && c.What == Silent {
		for _, s := range ofRule(h.NoObjection, c.Rule) {
			if len(s.Shown) > 0 {
				add(Head, true, s.Shown)
			} else {
				add(Head, false, s.Failed)
			}
		}
	}
	return out[:min(len(out), 2*maxFacts)]
}

// EndOf is the condition at which a rule of the head ended for a candidate; false where the explanation does not name the rule.
func EndOf(rule string, x *explain.Explanation) (Fact, bool) {
	for _, s := range ofRule(slices.Concat(x.NoFinding, x.NoObjection), rule) {
		for _, c := range endsOf(slices.Concat(s.Failed, s.Shown), 1) {
			return newFact(Head, len(s.Failed) == 0, c), true
		}
	}
	return Fact{}, false
}

func ofRule(all []explain.Silent, rule string) (out []explain.Silent) {
	for _, s := range all {
		if s.Rule == rule {
			out = append(out, s)
		}
	}
	return out
}

// newFact is a condition with those of its operands that are facts.
func newFact(in string, held bool, x explain.Condition) Fact {
	f := Fact{In: in, Held: held, Rule: x.Rule, File: x.File, Line: x.Line, Text: x.Text}
	for _, v := range x.Values {
		if v.Name == "" {
			continue
		}
		if data, err := json.Marshal(v.Value); err != nil || len(data) > maxBytes {
			v.Value = "(too long to show)"
		}
		f.Values = append(f.Values, v)
	}
	return f
}

// endsOf are the first places at which conditions came to their end, each once.
func endsOf(cs []explain.Condition, most int) (out []explain.Condition) {
	for _, c := range explain.Innermost(cs) {
		if !slices.ContainsFunc(out, func(x explain.Condition) bool { return x.File == c.File && x.Line == c.Line }) {
			out = append(out, c)
		}
	}
	return out[:min(len(out), most)]
}
