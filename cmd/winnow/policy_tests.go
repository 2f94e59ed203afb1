package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
)

func newPolicyTest(a *app) *cobra.Command {
	var f policytest.Options
	var verbose, conformance bool
	cmd := &cobra.Command{
		Use:   "test [FOLDER...]",
		Args:  cobra.ArbitraryArgs,
		Short: "Run the tests of policies, or the shipped incidents against them",
		RunE: func(cmd *cobra.Command, folders []string) error {
			if err := f.Check(); err != nil {
				return err
			}
			f.Folders, f.Unused = folders, a.flags.policy
			if !conformance {
				return a.policyTest(cmd.Context(), "policy test", policytest.Test, f, verbose)
			}
			for _, name := range []string{"coverage", "threshold", "timeout"} {
				if cmd.Flags().Changed(name) {
					return config.Usagef("--%s says nothing with --conformance; leave one of the two out. Nothing was run", name)
				}
			}
			return a.policyTest(cmd.Context(), "policy test --conformance", policytest.Conformance, f, verbose)
		},
	}
	a.formsAndFiles(cmd, "text", "json", "ndjson", formJUnit, formSARIF, formQuality)
	flags := cmd.Flags()
	flags.StringVar(&f.Run, "run", "", "run only the tests whose whole name matches this regular `expression`; with --conformance: only these incidents")
	flags.BoolVar(&f.Coverage, "coverage", false, "say which lines no test reaches")
	flags.Float64Var(&f.Threshold, "threshold", 0, "fail when less `percent` of the lines are reached; says --coverage")
	flags.BoolVarP(&verbose, "verbose", "v", false, "list the tests that passed too")
	flags.DurationVar(&f.Timeout, "timeout", tester.DefaultTimeout, "how long one test may take")
	flags.BoolVar(&conformance, "conformance", false, "decide the shipped incidents")
	return cmd
}

// policyTest runs tests, or decides incidents, and shows the results.
func (a *app) policyTest(
	ctx context.Context, command string,
	run func(context.Context, *ops.Ops, policytest.Options) (*report.PolicyTest, error), f policytest.Options, verbose bool,
) error {
	doc, failed := run(ctx, &a.Ops, f)
	if doc == nil {
		return failed
	}
	return cmp.Or(a.present(ctx, result{command: command, doc: doc,
		text:   func(p render.Paint, w io.Writer) { p.PolicyTest(w, *doc, verbose) },
		suites: func() []junit.Suite { return render.TestSuites(*doc) },
		findings: func() ([]sarif.Rule, []sarif.Finding) {
			return append(render.RefusalRules(), render.TestRules...), render.TestFindings(*doc)
		}}), failed)
}
