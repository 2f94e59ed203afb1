package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Refusal is one reason why policies were not loaded.
type Refusal struct {
	// Class is one of Classes, by its id.
	Class string `json:"class,omitempty"`
	// File is the file as Load names it, Line counts from 1; Line 0 is the file, or the tree, as a whole. Column counts from 1 where the line
	// is known, 0 is unknown.
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Text is that line, without the space around it.
	Text string `json:"text,omitempty"`
	// At is where in Text the problem begins, counted from 1; 0 is unknown.
	At int `json:"at,omitempty"`
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

// Error lists the refusals, each with the line that it is about below it, where that is known, and a mark at the place in that line.
func (rs Refusals) Error() string {
	var lines []string
	for _, part := range rs.Unwrap() {
		lines = append(lines, part.Error())
	}
	return strings.Join(lines, "\n")
}

// sourceLine is a line below a refusal.
type sourceLine string

func (l sourceLine) Error() string { return "    " + string(l) }

// Unwrap gives each line of Error as an error of its own, so that who prints them knows which breaks between lines are not a file's.
func (rs Refusals) Unwrap() []error {
	var out []error
	for _, r := range rs {
		out = append(out, r)
		if r.Text != "" {
			out = append(out, sourceLine(r.Text))
		}
		if r.Text != "" && r.At > 0 {
			out = append(out, sourceLine(strings.Repeat(" ", r.At-1)+"^"))
		}
	}
	return out
}

// Err gives an error only where there is a refusal: sorted, each once, and no more of them than a person reads.
func (rs Refusals) Err() error {
	if len(rs) == 0 {
		return nil
	}
	return fmt.Errorf("load policies: refused, nothing was loaded:\n%w", rs.Sorted())
}

// Sorted are the refusals with the worst first and then by place, each once. What is more than a person reads is counted.
func (rs Refusals) Sorted() Refusals {
	sorted := slices.SortedFunc(slices.Values(rs), func(a, b Refusal) int {
		if a.Worst != b.Worst {
			return map[bool]int{true: -1, false: 1}[a.Worst]
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Problem, b.Problem))
	})
	type same struct {
		file, problem string
		line          int
	}
	seen := map[same]bool{} // two checks may see the same, the worst said first
	said := Refusals(slices.DeleteFunc(sorted, func(r Refusal) bool {
		key := same{r.File, r.Problem, r.Line}
		again := seen[key]
		seen[key] = true
		return again
	}))
	if more := len(said) - maxRefusals; more > 0 {
		said = append(said[:maxRefusals:maxRefusals], Refusal{Class: ClassLimit, File: "policy", Problem: fmt.Sprintf("%d more problems", more), Fix: "begin with those above"})
	}
	for i := range said {
		said[i].Problem, said[i].Fix = Shorten(said[i].Problem, maxWords), Shorten(said[i].Fix, maxWords)
	}
	return said
}

// maxRefusals is how many refusals are said.
const maxRefusals = 100

// maxWords is how many bytes of one problem are said: a compiler's word on a type can be as long as the type.
const maxWords = 2000

// Shorten cuts a text to so many bytes, and shows that it did.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
