package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/text"
)

// RefusalRules are the classes of refusals.
func RefusalRules() []sarif.Rule {
	return text.Map(lint.Classes, func(c lint.Class) sarif.Rule { return sarif.Rule{ID: c.ID, Short: c.Short} })
}

// spot is a file with line and column, as editors and terminals take it.
func spot(r lint.Refusal) string {
	s := text.Clean(r.File)
	if r.Line > 0 {
		s += fmt.Sprintf(":%d", r.Line)
	}
	if r.Line > 0 && r.Column > 0 {
		s += fmt.Sprintf(":%d", r.Column)
	}
	return s
}

// Refusals writes problems: where, what, the line and what to do.
func (p Paint) Refusals(w io.Writer, rs []lint.Refusal, colour func(string) string) {
	for _, r := range rs {
		fmt.Fprintf(w, "%s: %s %s\n", p.Bold(spot(r)), colour(text.Clean(r.Problem)), p.Dim("["+r.Class+"]"))
		if r.Text != "" {
			fmt.Fprintf(w, "    %s\n", text.Clean(r.Text))
			if r.At > 0 && text.Clean(r.Text) == r.Text { // else the columns are not those of the file
				fmt.Fprintf(w, "    %s%s\n", strings.Repeat(" ", r.At-1), colour("^"))
			}
		}
		fmt.Fprintf(w, "  %s\n", text.Clean(r.Fix))
	}
}

// PolicyCheck says whether policies are in order.
func (p Paint) PolicyCheck(w io.Writer, doc report.PolicyCheck) {
	p.Refusals(w, doc.Problems, p.Red)
	p.Refusals(w, doc.Advice, p.Yellow)
	if len(doc.Problems)+len(doc.Advice) > 0 {
		fmt.Fprintln(w)
	}
	on := "without the embedded policies"
	switch {
	case len(doc.Trees) == 0:
		on = "the embedded policies"
	case doc.Embedded:
		on = "on top of the embedded policies"
	}
	of := strings.TrimPrefix(strings.Join(CleanNames(doc.Trees), ", ")+", ", ", ") + on
	if !doc.OK {
		fmt.Fprintf(w, "refused: %s in %s (%s); as they are, nothing of them is loaded\n",
			text.Plural(len(doc.Problems), "problem"), of, text.Plural(len(doc.Files)+len(doc.Tests), "file"))
	} else {
		fmt.Fprintf(w, "ok: %s, %s, %s in %s\n", text.Plural(len(doc.Files), "policy file"), text.Plural(len(doc.Tests), "test file"),
			text.Plural(len(doc.Rules), "rule"), of)
		if len(doc.Trees) > 0 {
			fmt.Fprintf(w, "rules: %s\n", strings.Join(CleanNames(doc.Rules), ", "))
		}
		fmt.Fprintf(w, "kinds: %s\n", strings.Join(doc.Kinds, ", "))
		if n := len(doc.Exceptions); n > 0 {
			passed := 0
			for _, x := range doc.Exceptions {
				if x.State == report.Passed {
					passed++
				}
			}
			fmt.Fprintf(w, "exceptions: %d in force, %d expired\n", n-passed, passed)
		}
		for _, l := range doc.Layers {
			if len(doc.Layers) > 1 {
				p.Sentence(w, "layer "+l.Layer+": "+text.Clean(ops.LayerText(l)))
			}
		}
	}
	if len(doc.Passed) > 0 && len(doc.Trees) > 0 {
		fmt.Fprintf(w, "not read, since they are neither policies (.rego) nor tests (_test.rego), or lie in a folder whose name begins with a dot: %s\n", strings.Join(CleanNames(doc.Passed), ", "))
	}
}

// CleanNames are names without what a terminal would take as more than text.
func CleanNames(names []string) []string {
	return text.Map(names, text.Clean)
}
