package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/text"
)

// TestRules are the kinds of findings of tests.
var TestRules = []sarif.Rule{
	{ID: "test-failed", Short: "A test is not true."},
	{ID: "test-error", Short: "A test came to no result."},
	{ID: "test-todo", Short: "A test is marked todo_ and was not run."},
	{ID: "stays", Short: "In an incident that ships with Winnow, something stays that could go."},
	{ID: "not-covered", Short: "No test reaches this line."},
}

// PolicyTest says which tests of policies did not pass; with verbose also which did.
func (p Paint) PolicyTest(w io.Writer, doc report.PolicyTest, verbose bool) {
	p.Refusals(w, doc.Problems, p.Red)
	counts := map[string]int{}
	for _, r := range doc.Tests {
		counts[r.Outcome]++
		if r.Passed() && r.Message == "" && !verbose {
			continue
		}
		paint := p.Red
		switch {
		case r.Outcome == tester.Skip || r.Passed() && r.Message != "":
			paint = p.Yellow
		case r.Passed():
			paint = p.Green
		}
		where := ""
		if r.File != "" {
			where = fmt.Sprintf("  %s:%d", text.Clean(r.File), r.Line)
		}
		fmt.Fprintf(w, "%s  %s%s\n", paint(fmt.Sprintf("%-7s", r.Outcome)), text.Clean(r.Name), p.Dim(where))
		if r.Message != "" {
			fmt.Fprintf(w, "    %s\n", text.Clean(r.Message))
		}
		if r.At > 0 {
			fmt.Fprintf(w, "    line %d did not hold: %s\n", r.At, text.Clean(r.Text))
		}
		for _, name := range FailedCases(r) {
			fmt.Fprintf(w, "    case %s\n", name)
		}
		for line := range strings.Lines(r.Output) {
			fmt.Fprintf(w, "    | %s\n", text.Clean(strings.TrimRight(line, "\n")))
		}
	}
	if c := doc.Coverage; c != nil {
		p.coverageText(w, c)
	}
	var parts []string
	for _, o := range []string{tester.Pass, tester.Fail, tester.Error, tester.Skip} {
		if counts[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[o], map[string]string{tester.Pass: "passed", tester.Fail: "failed", tester.Error: "without a result", tester.Skip: "marked todo_"}[o]))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "%s: %s\n", text.Plural(len(doc.Tests), "test"), strings.Join(parts, ", "))
	}
	if doc.Problem != "" {
		fmt.Fprintf(w, "%s\n", p.Red("failed: "+text.Clean(doc.Problem)))
	}
}

func (p Paint) coverageText(w io.Writer, c *tester.Coverage) {
	fmt.Fprintf(w, "coverage %.1f %%: %d of %s\n", c.Percent, c.Covered, text.Plural(c.Covered+c.Missed, "line"))
	for _, f := range c.Files {
		if len(f.Missed) == 0 {
			continue
		}
		var at []string
		for _, m := range f.Missed {
			if m[0] == m[1] {
				at = append(at, fmt.Sprint(m[0]))
			} else {
				at = append(at, fmt.Sprintf("%d-%d", m[0], m[1]))
			}
		}
		fmt.Fprintf(w, "    %s: %.1f %%, not reached: %s\n", text.Clean(f.File), f.Percent, strings.Join(slices.Compact(at), ", "))
	}
}
