package policy

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// The ways in which what the rules gave is no list of reasons.
var (
	ErrShape   = errors.New("the policies gave a malformed reason")
	ErrTooMuch = errors.New("the policies gave a reason that is too large")
)

var messageKey, evidenceKey = ast.Ref{ast.StringTerm("message")}, ast.StringTerm("evidence")

// Given is what a rule of a package gave: the reasons of the rule whose id the package's path is.
type Given struct {
	ID    string
	Value ast.Value
}

// IDOf is the id of the rule that a package's rule at policies/protect/live/objections belongs to.
func IDOf(rule string) string {
	return strings.ReplaceAll(path.Dir(strings.TrimPrefix(rule, root+"/")), "/", ".")
}

// Reasons are the members of sets that rules of one name gave, sorted by rule and message, never nil; an error where they are more than m has
// room for.
func Reasons(sets []Given, name string, m *Measure) ([]decision.Reason, error) {
	out := []decision.Reason{}
	for _, g := range sets {
		set, ok := g.Value.(ast.Set)
		if !ok {
			return nil, fmt.Errorf("%w: no set of %s", ErrShape, name)
		}
		if n := len(out) + set.Len(); n > MaxReasons {
			return nil, fmt.Errorf("%w: %d %s, and %d are the most", ErrTooMuch, n, name, MaxReasons)
		}
		for _, t := range set.Slice() {
			r, err := ReasonOf(g.ID, t.Value, m)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b decision.Reason) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return out, nil
}

// ReasonOf takes a reason out of what the rule of that id gave.
func ReasonOf(rule string, v ast.Value, m *Measure) (decision.Reason, error) {
	o, ok := v.(ast.Object)
	if !ok {
		return decision.Reason{}, fmt.Errorf("%w: %v", ErrShape, ast.ValueName(v))
	}
	said, err := o.Find(messageKey)
	message, ok := said.(ast.String)
	if err != nil || !ok {
		return decision.Reason{}, fmt.Errorf("%w: %s gave a reason without a message: want {message, evidence}", ErrShape, rule)
	}
	if err := m.text(string(message), maxMessage); err != nil {
		return decision.Reason{}, fmt.Errorf("%w (%s)", err, rule)
	}
	r := decision.Reason{Rule: rule, Message: string(message)}
	evidence := o.Get(evidenceKey)
	if evidence == nil {
		return r, nil
	}
	if !m.Fits(evidence.Value) {
		return decision.Reason{}, fmt.Errorf("%w: evidence of %s of more than %d bytes in all", ErrTooMuch, rule, MaxSaid)
	}
	plain, err := ast.JSON(evidence.Value)
	if err != nil {
		return decision.Reason{}, fmt.Errorf("%w: evidence of %s: %w", ErrShape, rule, err)
	}
	if r.Evidence, ok = plain.(map[string]any); !ok {
		return decision.Reason{}, fmt.Errorf("%w: evidence of %s is not an object", ErrShape, rule)
	}
	if len(r.Evidence) == 0 {
		r.Evidence = nil
	}
	return r, nil
}
