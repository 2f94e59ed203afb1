package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// TestRules are the kinds of findings of tests.
var TestRules = []sarif.Rule{
	{ID: "test-failed", Short: "A test is not true."},
	{ID: "test-error", Short: "A test came to no result."},
	{ID: "test-todo", Short: "A test is marked todo_ and was not run."},
	{ID: "not-covered", Short: "No test reaches this line."},
}

// PolicyTest says which tests of policies did not pass; with verbose also which did.
func (p Paint) PolicyTest(w io.Writer, doc report.PolicyTest, verbose bool) {
	p.Refusals(w, doc.Problems, p.Red)
	counts := map[string]int{}
	for _, r := range doc.Tests {
		counts[r.Outcome]++
		if r.Passed() && !verbose {
			continue
		}
		paint := map[string]func(string) string{tester.Pass: p.Green, tester.Skip: p.Yellow}[r.Outcome]
		if paint == nil {
			paint = p.Red
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

// IncidentRules are the kinds of findings of incidents.
var IncidentRules = []sarif.Rule{
	{ID: "incident-reaped", Short: "In an incident that ships with Winnow, something goes that has to stay."},
	{ID: "incident-undecided", Short: "In an incident that ships with Winnow, the policies come to no answer."},
	{ID: "incident-kept", Short: "In an incident that ships with Winnow, something stays that could go."},
}

var outcomeWords = map[string]string{
	report.Right:         "as it has to be",
	report.WronglyReaped: "what has to stay goes",
	report.Undecided:     "the policies came to no answer",
	report.Kept:          "what could go stays",
}

// IncidentSuites are the incidents as a CI system shows tests.
func IncidentSuites(doc report.Conformance) []junit.Suite {
	s := junit.Suite{Name: "incidents"}
	for _, i := range doc.Incidents {
		c := junit.Case{Name: termsafe.Line(i.Sentence), Class: "incidents." + i.Name}
		said := &junit.Outcome{Type: i.Outcome, Message: outcomeWords[i.Outcome], Text: strings.Join(CandidateLines(i), "\n")}
		switch i.Outcome {
		case report.WronglyReaped:
			c.Failure = said
		case report.Undecided:
			c.Error = said
		case report.Kept:
			c.Skipped = said
		}
		s.Cases = append(s.Cases, c)
	}
	return []junit.Suite{s}
}

// Conformance says what the policies do in the incidents that ship.
func (p Paint) Conformance(w io.Writer, doc report.Conformance, verbose bool) {
	colours := map[string]func(string) string{report.Right: p.Green, report.Kept: p.Yellow}
	for _, o := range []string{report.Right, report.Kept, report.Undecided, report.WronglyReaped} { // the worst last, where a person looks first
		for _, i := range doc.Incidents {
			if i.Outcome != o || o == report.Right && !verbose {
				continue
			}
			paint := colours[o]
			if paint == nil {
				paint = p.Red
			}
			fmt.Fprintf(w, "%s  %s %s\n", paint(fmt.Sprintf("%-9s", o)), text.Clean(i.Sentence), p.Dim("["+i.Name+"]"))
			for _, line := range CandidateLines(i) {
				fmt.Fprintf(w, "    %s\n", line)
			}
		}
	}
	fmt.Fprintf(w, "%s: %d right", text.Plural(len(doc.Incidents), "incident"), doc.Right)
	for _, c := range []struct {
		n    int
		what string
	}{{doc.Kept, "in which something stays that could go"}, {doc.Undecided, "without an answer"}, {doc.Reaped, "in which something goes that has to stay"}} {
		if c.n > 0 {
			fmt.Fprintf(w, ", %d %s", c.n, c.what)
		}
	}
	fmt.Fprintln(w)
	if doc.Problem != "" {
		fmt.Fprintf(w, "%s\n", p.Red("failed: "+text.Clean(doc.Problem)))
	}
}
