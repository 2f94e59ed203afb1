package main

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/text"
	"winnow/internal/junit"
	"winnow/internal/sarif"
)

// The forms of an output that only some commands have.
const (
	formJUnit = "junit"
	formSARIF = "sarif"
)

// formsKey is the annotation of a command that has forms of its own.
const formsKey = "forms"

// forms gives a command a --format of its own: these forms, text first, in the place of those that all others have.
func (a *app) forms(cmd *cobra.Command, of ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[formsKey] = strings.Join(of, ",")
	cmd.Flags().StringVar(&a.flags.format, "format", "text", "`form` of the output: "+strings.Join(of, ", "))
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp)))
}

// formsOf are the forms in which a command writes.
func formsOf(cmd *cobra.Command) []string {
	if own, ok := cmd.Annotations[formsKey]; ok {
		return strings.Split(own, ",")
	}
	return report.Formats
}

// checkForm refuses a form that this command does not write.
func (a *app) checkForm(cmd *cobra.Command) error {
	of, form := formsOf(cmd), a.flags.format
	switch known := append([]string{formJUnit, formSARIF}, report.Formats...); {
	case slices.Contains(of, form):
		return nil
	case slices.Contains(known, form):
		return config.Mistakef("--format: %s does not write %s; it writes %s. Nothing was done", cmd.CommandPath(), form, strings.Join(of, ", "))
	}
	return config.Mistakef("--format: unknown form %q; one of %s", form, strings.Join(of, ", "))
}

// sarif writes findings for code scanning: paths below the folder that the program was started in count from there.
func (a *app) sarif(rules []sarif.Rule, findings []sarif.Finding) error {
	root, err := os.Getwd()
	if err != nil {
		root = "/"
	}
	tool := sarif.Tool{Name: "winnow", Version: cmp.Or(build().Version, "unknown")}
	return text.JSON(a.out, sarif.New(tool, root, rules, findings), "  ")
}

// junit writes results for a CI system.
func (a *app) junit(name string, suites []junit.Suite) error { return junit.Write(a.out, name, suites) }
