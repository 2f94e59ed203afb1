package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/policycmp"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newPolicyDiff(a *app) *cobra.Command {
	var f policycmp.Options
	cmd := &cobra.Command{
		Use:   "diff [BASE HEAD]",
		Short: "What another version of the policies would decide otherwise",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) != 0 && len(given) != 2 {
				return config.Usagef("policy diff wants both BASE and HEAD, or neither for a comparison of configurations")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				given = []string{policycmp.ConfiguredTrees, policycmp.ConfiguredTrees}
			}
			return a.policyDiff(cmd.Context(), given[0], given[1], f)
		},
	}
	cmd.Flags().StringArrayVar(&f.Snapshots, "snapshots", nil, "`path` of a snapshot, or of a folder of snapshots; may be repeated")
	cmd.Flags().BoolVar(&f.Recorded, "recorded", false, "also the sweeps that the ledger has recorded (record in config.yaml)")
	cmd.Flags().StringVar(&f.ConfigBase, "config-base", "", "configuration `file` of BASE, or REVISION:FILE; without it the one that is in force")
	cmd.Flags().StringVar(&f.ConfigHead, "config-head", "", "configuration `file` of HEAD, or REVISION:FILE; without it the one that is in force")
	cmd.Flags().StringVar(&f.Repo, "repo", ".", "a `folder` in the repository that revisions are of")
	cmd.Flags().StringVar(&f.Path, "path", "policies", "`folder` of the policies in a revision that names none")
	cmd.Flags().StringArrayVar(&f.Levels, "level", nil, "`RULE=LEVEL` in HEAD, over its configuration; may be repeated")
	cmd.Flags().IntVar(&f.Require, "require", 0, "with --level: fail unless `N` snapshots had something for the rule to judge, and it found something")
	cmd.Flags().BoolVar(&f.Watch, "watch", false, "compare again on every save, until ctrl-C")
	cmd.Flags().StringVar(&f.FailOn, "fail-on", "", "`what` fails: "+strings.Join(document.FailOn, ", "))
	cmd.Flags().BoolVar(&f.All, "all", false, "list all in text, not the first of each rule alone")
	a.formsAndFiles(cmd, "text", "json", "ndjson", "markdown", formSARIF, formJUnit, formQuality)
	must(cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(document.FailOn, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (a *app) policyDiff(ctx context.Context, base, head string, f policycmp.Options) error {
	roomy.Store(30 << 20) // snapshot after snapshot becomes garbage
	if err := f.Check(); err != nil {
		return err
	}
	d := &policycmp.Difference{Ops: &a.Ops, Names: [2]string{base, head}, Options: f, ConfigFile: a.flags.config, PolicyPaths: a.flags.policy}
	if err := d.FindSamples(ctx); err != nil {
		return err
	}
	if f.Watch {
		return d.Watch(ctx, func(doc *document.Comparison, err error) error {
			if !a.json() {
				fmt.Fprintf(a.out, "%s\n", a.paint.Dim("-- "+time.Now().Format(time.TimeOnly)))
			}
			if err != nil {
				a.showDiffError(err)
				return nil
			}
			return a.write(diffResult(doc, f))
		})
	}
	doc, err := d.Compare(ctx)
	if err != nil {
		return err
	}
	if err := a.present(ctx, diffResult(doc, f)); err != nil {
		return err
	}
	if len(doc.Failed) > 0 {
		return exit.Error{Code: exit.Failed, Err: fmt.Errorf("policy diff fails: %s", strings.Join(doc.Failed, "; "))}
	}
	return nil
}

// showDiffError shows why the policies of now cannot be compared; the next save is compared again.
func (a *app) showDiffError(err error) {
	var rs lint.Refusals
	if a.json() || !errors.As(err, &rs) {
		printError(a.errOut, err)
		return
	}
	a.paint.Refusals(a.out, rs, a.paint.Red)
	fmt.Fprintf(a.out, "not loaded: %s; nothing was decided\n", text.Plural(len(rs), "problem"))
}

func diffResult(doc *document.Comparison, f policycmp.Options) result {
	return result{command: "policy diff", doc: doc,
		text:     func(p render.Paint, w io.Writer) { p.Comparison(w, doc, f.All) },
		markdown: func(w io.Writer) { render.ComparisonMarkdown(w, doc) },
		suites:   func() []junit.Suite { return render.ComparisonSuites(doc) },
		findings: func() ([]sarif.Rule, []sarif.Finding) { return render.ComparisonFindings(doc) }}
}
