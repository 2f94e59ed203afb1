package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// TestFindings are the tests that did not pass, each at the condition that did not hold where that is known, and the
// lines that no test reaches.
func TestFindings(doc report.PolicyTest) []sarif.Finding {
	findings := RefusalFindings(doc.Problems, sarif.Error)
	for _, r := range doc.Tests {
		f := sarif.Finding{Level: sarif.Error, File: r.File, Line: r.Line}
		switch r.Outcome {
		case tester.Fail:
			f.Rule, f.Message = "test-failed", termsafe.Line(r.Name)+": "+notTrue(r)
			if r.At > 0 {
				f.Line, f.Snippet = r.At, termsafe.Line(r.Text)
			}
		case tester.Error:
			f.Rule, f.Message = "test-error", termsafe.Line(r.Name)+": "+termsafe.Line(r.Message)
		case tester.Pass:
			if r.Message == "" {
				continue
			}
			f.Rule, f.Level, f.Message = "stays", sarif.Note, termsafe.Line(r.Name)+": "+termsafe.Line(r.Message)
		case tester.Skip:
			f.Rule, f.Level, f.Message = "test-todo", sarif.Warning, termsafe.Line(r.Name)+" is marked todo_"
		}
		findings = append(findings, f)
	}
	if doc.Coverage == nil {
		return findings
	}
	for _, f := range doc.Coverage.Files {
		for _, m := range f.Missed {
			findings = append(findings, sarif.Finding{Rule: "not-covered", Level: sarif.Note, Message: "no test reaches this line", File: f.File, Line: m[0]})
		}
	}
	return findings
}

// TestSuites has a suite for each package of tests, and one for the coverage where it was asked for.
func TestSuites(doc report.PolicyTest) (suites []junit.Suite) {
	if len(doc.Problems) > 0 {
		suites = append(suites, RefusalSuite("policy test", nil, doc.Problems))
	}
	at := map[string]int{}
	for _, r := range doc.Tests {
		pkg, name := cutName(r.Name)
		i, known := at[pkg]
		if !known {
			i, at[pkg] = len(suites), len(suites)
			suites = append(suites, junit.Suite{Name: pkg})
		}
		c := junit.Case{
			Name: name, Class: pkg, File: termsafe.Line(r.File), Line: r.Line, Took: junit.Seconds(r.Seconds), Output: termsafe.Lines(r.Output),
		}
		switch r.Outcome {
		case tester.Fail:
			c.Failure = &junit.Outcome{Type: "test", Message: notTrue(r), Text: strings.Join(FailedCases(r), "\n")}
		case tester.Error:
			c.Error = &junit.Outcome{Type: "test", Message: termsafe.Line(r.Message)}
		case tester.Pass:
			if r.Message != "" {
				c.Skipped = &junit.Outcome{Type: "stays", Message: termsafe.Line(r.Message)}
			}
		case tester.Skip:
			c.Skipped = &junit.Outcome{Message: "it is marked todo_"}
		}
		suites[i].Cases = append(suites[i].Cases, c)
	}
	if doc.Problem != "" {
		suites = append(suites, junit.Suite{Name: "policy test", Cases: []junit.Case{
			{Name: "all tests", Class: "policy test", Failure: &junit.Outcome{Type: "run", Message: termsafe.Line(doc.Problem)}},
		}})
	}
	return suites
}

// notTrue says of a test that failed where.
func notTrue(r tester.Result) string {
	if r.Message != "" { // a case says more than a line
		return text.Clean(r.Message)
	}
	if r.At == 0 {
		return "the test is not true"
	}
	return fmt.Sprintf("line %d did not hold: %s", r.At, text.Clean(r.Text))
}

// cutName parts the whole name of a test into package and name.
func cutName(name string) (pkg, test string) {
	for _, prefix := range []string{report.CasePrefix, report.IncidentPrefix} {
		if c, ok := strings.CutPrefix(name, prefix); ok {
			return strings.TrimSuffix(prefix, "/"), termsafe.Line(c)
		}
	}
	i := strings.LastIndex(name, ".test_")
	if i < 0 {
		i = strings.LastIndex(name, ".")
	}
	if i < 0 {
		return "", termsafe.Line(name)
	}
	return termsafe.Line(name[:i]), termsafe.Line(name[i+1:])
}

// FailedCases are the names of those of a test that did not pass.
func FailedCases(r tester.Result) (out []string) {
	for _, c := range r.Cases {
		if c.Outcome != tester.Pass {
			out = append(out, text.Clean(c.Name))
		}
	}
	return out
}

// RefusalFindings are problems of policies.
func RefusalFindings(rs []lint.Refusal, level string) []sarif.Finding {
	return text.Map(rs, func(r lint.Refusal) sarif.Finding {
		return sarif.Finding{
			Rule: r.Class, Level: level, Message: termsafe.Line(r.Problem) + ": " + termsafe.Line(r.Fix), File: r.File, Line: r.Line, Column: r.Column, Snippet: termsafe.Line(r.Text),
		}
	})
}

// RefusalSuite has a case for each file, and one for each place of a problem that is no such file.
func RefusalSuite(name string, files []string, problems []lint.Refusal) junit.Suite {
	by := map[string][]lint.Refusal{}
	for _, r := range problems {
		if !slices.Contains(files, r.File) {
			files = append(files[:len(files):len(files)], r.File)
		}
		by[r.File] = append(by[r.File], r)
	}
	s := junit.Suite{Name: name}
	for _, file := range files {
		c := junit.Case{Name: termsafe.Line(file), Class: name, File: termsafe.Line(file)}
		if rs := by[file]; len(rs) > 0 {
			c.Line = rs[0].Line
			all := text.Join(rs, "\n", func(r lint.Refusal) string { return text.Clean(r.Error()) })
			c.Failure = &junit.Outcome{Type: rs[0].Class, Message: termsafe.Line(rs[0].Problem), Text: all}
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

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

// BuiltText says what was packed.
func (p Paint) BuiltText(w io.Writer, b document.BuiltBundle) {
	fmt.Fprintf(w, "%s: %s in %s, %s\n", text.Clean(b.File), text.Plural(b.Rules, "rule"), text.Plural(b.Files, "file"), text.Size(int64(b.Bytes)))
	p.bundleText(w, b.BundleContent, map[string]string{
		"flag": " (--revision)", "manifest": " (the manifest's)", "git": " (the commit)", "digest": " (a digest: the folder is in no repository, or differs from its commit)",
	}[b.RevisionFrom])
	if b.Serial == 0 {
		p.Indented(w, 2, "no serial: a machine cannot tell whether it is older than what ran there; --serial N gives it one")
	}
}

// bundleText says what is in a bundle. from says where its revision is from.
func (p Paint) bundleText(w io.Writer, b document.BundleContent, from string) {
	p.Indented(w, 2, text.Clean("revision "+cmp.Or(b.Revision, "none")+from))
	if b.Serial > 0 {
		p.Indented(w, 2, "serial "+strconv.FormatInt(b.Serial, 10))
	}
	p.Indented(w, 2, "digest "+b.Digest)
	switch {
	case b.KeyID != "":
		scope := ""
		if b.Scope != "" {
			scope = ", for the scope " + b.Scope
		}
		p.Indented(w, 2, text.Clean("signed with key "+b.KeyID+" ("+b.Algorithm+scope+")"))
	case b.Signed:
		p.Indented(w, 2, "signed")
	default:
		p.Indented(w, 2, "not signed: it is loaded from a file, and from a server only with insecure: true")
	}
}

// VerifiedText says what a signature was found to be over.
func (p Paint) VerifiedText(w io.Writer, b document.VerifiedBundle) {
	fmt.Fprintf(w, "%s: verified, and it loads: %s in %s\n", text.Clean(b.File), text.Plural(b.Rules, "rule"), text.Plural(b.Files, "file"))
	p.bundleText(w, b.BundleContent, "")
}

// Replay says which recorded sweeps are decided otherwise now.
func (p Paint) Replay(w io.Writer, r document.Replay) {
	decisions, other := 0, 0
	for _, s := range r.Sweeps {
		decisions += s.Decisions
		if s.Policy.Digest != r.Policy.Digest {
			other++
		}
	}
	what := fmt.Sprintf("%s with %s decided again", text.Plural(len(r.Sweeps), "recorded sweep"), text.Plural(decisions, "decision"))
	if r.Same {
		p.Sentence(w, what+": "+p.Green("all are the same")+".")
	} else {
		p.Sentence(w, what+": "+p.Yellow("not all are the same")+".")
	}
	if other > 0 {
		p.Sentence(w, fmt.Sprintf("Other policies than now decided %s of them then.", text.Plural(other, "sweep")))
	}
	for _, s := range r.Sweeps {
		if len(s.Differ) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s  %s\n", p.Bold(text.Clean(s.Sweep)), p.Dim(text.Clean(s.Policy.Revision)))
		p.Rows(w, text.Map(s.Differ, func(d document.ChangedDecision) text.Row {
			return text.Row{Lead: verdictOf(d.Was) + " -> " + verdictOf(d.Now), Label: d.ID, Text: "was: " + spokenBy(d.Was) + "; now: " + spokenBy(d.Now)}
		})...)
	}
}

func verdictOf(d *recorded.Decided) string {
	switch {
	case d == nil:
		return "-"
	case d.Verdict == decision.Reap:
		return "reap"
	}
	return "keep"
}

// spokenBy are the rules that spoke.
func spokenBy(d *recorded.Decided) string {
	if d == nil {
		return "no rule claimed it"
	}
	all := slices.Concat(d.Findings, d.Objections)
	if len(all) == 0 {
		return "no reason"
	}
	return strings.Join(all, ", ")
}

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
		fmt.Fprintf(w, "not read (no policies, no tests, or below a folder whose name begins with a dot): %s\n", strings.Join(CleanNames(doc.Passed), ", "))
	}
}

// CleanNames are names without what a terminal would take as more than text.
func CleanNames(names []string) []string {
	return text.Map(names, text.Clean)
}
