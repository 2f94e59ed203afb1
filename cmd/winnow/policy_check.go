package main

import (
	"cmp"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/policyset"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
)

type checkFlags struct {
	rulesOf string
	advice  bool
}

func newPolicyCheck(a *app) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [FOLDER...]",
		Args:  cobra.ArbitraryArgs,
		Short: "Say what is wrong with policies before they run",
		RunE: func(cmd *cobra.Command, folders []string) error {
			doc, err := policyset.Check(cmd.Context(), &a.Ops, folders, a.flags.policy, f.rulesOf, f.advice)
			if err != nil {
				return err
			}
			return cmp.Or(a.present(cmd.Context(), checkResult(*doc)), exit.CodeIf(!doc.OK, exit.Usage))
		},
	}
	a.formsAndFiles(cmd, "text", "json", "ndjson", formJUnit, formSARIF, formQuality)
	cmd.Flags().StringVar(&f.rulesOf, "rules-of", "", "also check what this configuration `file` says of the rules: levels and parameters")
	cmd.Flags().BoolVar(&f.advice, "advice", false, "also say what is asked of the rules that ship with Winnow: METADATA on everything, no numbers in rules")
	return cmd
}

func checkResult(doc report.PolicyCheck) result {
	return result{command: "policy check", doc: doc,
		text: func(p render.Paint, w io.Writer) { p.PolicyCheck(w, doc) },
		suites: func() []junit.Suite {
			return []junit.Suite{render.RefusalSuite("policy check", slices.Concat(doc.Files, doc.Tests), doc.Problems)}
		},
		findings: func() ([]sarif.Rule, []sarif.Finding) {
			advice := render.RefusalFindings(doc.Advice, sarif.Note)
			return render.RefusalRules(), append(render.RefusalFindings(doc.Problems, sarif.Error), advice...)
		}}
}
