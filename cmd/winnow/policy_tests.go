package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/text"
)

type testFlags struct {
	run         string
	coverage    bool
	threshold   float64
	verbose     bool
	timeout     time.Duration
	conformance bool
}

func newPolicyTest(a *app) *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [FOLDER...]",
		Short: "Run the tests of policies, or the shipped incidents against them",
		Long: `Test runs the rules called test_... in the files of folders of policies, as "opa test" does and with its verdicts. The embedded policies lie beside, so that
a test may import data.policies.lib; a package that a folder has too is taken from the folder. --no-embedded-policy leaves them out. Without FOLDER
it tests the policies of the configuration.

A file of YAML or JSON below cases/ in such a folder is a case: a whole machine with what has to be decided on it. The embedded policies and yours together decide it.

Tests run in a process of their own: they reach no network, no environment and no file, and one that never ends is ended and has failed.

With --conformance no test of yours is run. Instead each incident that Winnow ships, a whole machine with what has to happen on it, is decided by the embedded
policies with yours on top, or by yours alone with --no-embedded-policy. It fails where something goes that has to stay. What stays and could
go is listed.

It exits with 0 when all passed; with 1 when a test failed, came to no result or is marked todo_, when there is no test, or when the coverage is
below the threshold; with 2 when the policies or tests are no valid Rego.`,
		Example: `  winnow policy test mine --coverage --threshold 90
  winnow policy test mine --run data.policies.reap --verbose
  winnow policy test mine --conformance --format junit > incidents.xml`,
		RunE: func(cmd *cobra.Command, folders []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if f.conformance {
				return a.conformance(cmd.Context(), folders, f)
			}
			return a.policyTest(cmd.Context(), folders, f)
		},
	}
	a.formsAndFiles(cmd, "text", "json", formJUnit, formSARIF, formQuality)
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "run only the tests whose whole name matches this regular `expression`; with --conformance: only these incidents")
	flags.BoolVar(&f.coverage, "coverage", false, "say which lines no test reaches")
	flags.Float64Var(&f.threshold, "threshold", 0, "fail when less `percent` of the lines are reached; says --coverage")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "list the tests that passed too")
	flags.DurationVar(&f.timeout, "timeout", tester.DefaultTimeout, "how long one test may take")
	flags.BoolVar(&f.conformance, "conformance", false, "decide the shipped incidents")
	return cmd
}

func (f *testFlags) check(cmd *cobra.Command) error {
	if _, err := regexp.Compile(f.run); err != nil {
		return config.Mistakef("--run: %v; nothing was run", err)
	}
	if f.threshold < 0 || f.threshold > 100 {
		return config.Mistakef("--threshold: %v is no percentage; give 0 to 100. Nothing was run", f.threshold)
	}
	if f.timeout <= 0 {
		return config.Mistakef("--timeout: %s; a test needs some time. Nothing was run", f.timeout)
	}
	f.coverage = f.coverage || f.threshold > 0
	for _, name := range []string{"coverage", "threshold", "timeout"} {
		if f.conformance && cmd.Flags().Changed(name) {
			return config.Mistakef("--%s says nothing with --conformance; leave one of the two out. Nothing was run", name)
		}
	}
	return nil
}

func (a *app) policyTest(ctx context.Context, folders []string, f testFlags) error {
	trees, err := a.given(ctx, folders)
	if err != nil {
		return err
	}
	sources, err := readTrees(ctx, policy.LoadOptions{Trees: trees, Tests: true, Data: true, Cases: true})
	if err != nil {
		return err
	}
	doc := report.PolicyTest{Schema: report.PolicyTestSchema, Tests: []tester.Result{}, Threshold: f.threshold, Problems: []policy.Refusal{}}
	doc.Trees, _ = treeNames(trees)
	o := tester.Options{Run: f.run, Timeout: f.timeout, Coverage: f.coverage}
	results, coverage, err := sandbox.Test(ctx, sources, a.Limits(), sandbox.Self(), o)
	doc.Tests, doc.Coverage = append(doc.Tests, results...), coverage
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted after %s; the rest was not run", text.Plural(len(doc.Tests), "test"))
	case err != nil:
		if doc.Problems, err = asRefusals(err); err != nil {
			return err
		}
		doc.Problem = "the policies and tests do not load, and none was run"
		if err := a.written(ctx, func(a *app) error { return a.showTests(doc, f.verbose) }); err != nil {
			return err
		}
		return exit.Error{Code: exit.Usage}
	}
	if cases := sources.Cases(); len(cases) > 0 {
		results, err := a.testCases(ctx, trees, cases, f)
		doc.Tests = append(doc.Tests, results...)
		if err != nil {
			if doc.Problems, err = asRefusals(err); err != nil {
				return err
			}
			doc.Problem = fmt.Sprintf("the policies do not load as a whole, so that %s not decided", text.Plural(len(cases)-len(results), "case")+was(len(cases)-len(results)))
		}
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after %s; the rest was not run", text.Plural(len(doc.Tests), "test"))
		}
	}
	doc.Problem = cmp.Or(doc.Problem, f.problem(doc))
	doc.OK = doc.Problem == "" && !slices.ContainsFunc(doc.Tests, func(r tester.Result) bool { return !r.Passed() })
	if err := a.written(ctx, func(a *app) error { return a.showTests(doc, f.verbose) }); err != nil {
		return err
	}
	if !doc.OK {
		return exit.Error{Code: exit.Failed}
	}
	return nil
}

func was(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}

// problem is why a run of tests is not in order although no test failed.
func (f testFlags) problem(doc report.PolicyTest) string {
	switch {
	case len(doc.Tests) == 0 && f.run != "":
		return fmt.Sprintf("no test matches --run %s", text.Quote(f.run))
	case len(doc.Tests) == 0:
		return "there are no tests: write rules called test_... in files called ..._test.rego"
	case f.coverage && doc.Coverage == nil:
		return "the coverage is not known, since a test ended the process that counted it"
	case f.coverage && doc.Coverage.Percent < f.threshold:
		return fmt.Sprintf("the coverage is %.1f %%, and --threshold wants %g %%: test the lines that are not reached, or ask for less", doc.Coverage.Percent, f.threshold)
	}
	return ""
}

func (a *app) showTests(doc report.PolicyTest, verbose bool) error {
	switch a.flags.format {
	case formJUnit:
		return a.junit("winnow policy test", policytest.TestSuites(doc))
	case formSARIF, formQuality:
		return a.findings("policy test", append(sarifRules(), testRules...), policytest.TestFindings(doc))
	}
	return a.show(doc, "  ", func(w io.Writer) { a.testsText(w, doc, verbose) })
}

var testRules = []sarif.Rule{
	{ID: "test-failed", Short: "A test is not true."},
	{ID: "test-error", Short: "A test came to no result."},
	{ID: "test-todo", Short: "A test is marked todo_ and was not run."},
	{ID: "not-covered", Short: "No test reaches this line."},
}

func (a *app) testsText(w io.Writer, doc report.PolicyTest, verbose bool) {
	a.refusalsText(w, doc.Problems, a.paint.Red)
	counts := map[string]int{}
	for _, r := range doc.Tests {
		counts[r.Outcome]++
		if r.Passed() && !verbose {
			continue
		}
		paint := map[string]func(string) string{tester.Pass: a.paint.Green, tester.Skip: a.paint.Yellow}[r.Outcome]
		if paint == nil {
			paint = a.paint.Red
		}
		where := ""
		if r.File != "" {
			where = fmt.Sprintf("  %s:%d", text.Clean(r.File), r.Line)
		}
		fmt.Fprintf(w, "%s  %s%s\n", paint(fmt.Sprintf("%-7s", r.Outcome)), text.Clean(r.Name), a.paint.Dim(where))
		if r.Message != "" {
			fmt.Fprintf(w, "    %s\n", text.Clean(r.Message))
		}
		if r.At > 0 {
			fmt.Fprintf(w, "    line %d did not hold: %s\n", r.At, text.Clean(r.Text))
		}
		for _, name := range policytest.FailedCases(r) {
			fmt.Fprintf(w, "    case %s\n", name)
		}
		for line := range strings.Lines(r.Output) {
			fmt.Fprintf(w, "    | %s\n", text.Clean(strings.TrimRight(line, "\n")))
		}
	}
	if c := doc.Coverage; c != nil {
		a.coverageText(w, c)
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
		fmt.Fprintf(w, "%s\n", a.paint.Red("failed: "+text.Clean(doc.Problem)))
	}
}

func (a *app) coverageText(w io.Writer, c *tester.Coverage) {
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
