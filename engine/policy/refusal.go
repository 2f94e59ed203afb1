package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Refusal is one reason why policies were not loaded.
type Refusal struct {
	// File is the file as Load names it, Line counts from 1; Line 0 is the file, or the tree, as a whole.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Problem says what is wrong, Fix what to do about it.
	Problem string `json:"problem"`
	Fix     string `json:"fix"`
	// Worst is true for what has to be heard first: a built-in that is not allowed.
	Worst bool `json:"worst,omitempty"`
}

// Error gives the place, the problem and what to do.
func (r Refusal) Error() string {
	place := r.File
	if r.Line > 0 {
		place = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	return fmt.Sprintf("%s: %s: %s", place, r.Problem, r.Fix)
}

// Refusals are all reasons why policies were not loaded, the worst first, and then by place. As an error they are a line each.
type Refusals []Refusal

// Error lists the refusals, a line each.
func (rs Refusals) Error() string {
	lines := make([]string, len(rs))
	for i, r := range rs {
		lines[i] = r.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each refusal as an error of its own.
func (rs Refusals) Unwrap() []error {
	out := make([]error, len(rs))
	for i, r := range rs {
		out[i] = r
	}
	return out
}

// Err sorts the refusals, drops repeated ones and gives an error only where there is one.
func (rs Refusals) Err() error {
	if len(rs) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(rs), func(a, b Refusal) int {
		if a.Worst != b.Worst {
			return map[bool]int{true: -1, false: 1}[a.Worst]
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Problem, b.Problem))
	})
	said := Refusals(slices.Compact(sorted))
	if more := len(said) - maxRefusals; more > 0 {
		said = append(said[:maxRefusals:maxRefusals], Refusal{File: "policy", Problem: fmt.Sprintf("%d more problems", more), Fix: "begin with those above"})
	}
	for i := range said {
		said[i].Problem, said[i].Fix = shorten(said[i].Problem), shorten(said[i].Fix)
	}
	return fmt.Errorf("load policies: refused, nothing was loaded:\n%w", said)
}

// maxWords is how many bytes of one problem are said: a compiler's word on a type can be as long as the type.
const maxWords = 2000

func shorten(s string) string {
	if len(s) <= maxWords {
		return s
	}
	return strings.ToValidUTF8(s[:maxWords], "") + "..."
}
