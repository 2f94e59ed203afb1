package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "What can and cannot be seen and done on this machine, and which rules can therefore never fire",
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := a.Examine(cmd.Context(), a.checkEvents)
			if err := list(a, checks, func(w io.Writer) { a.checksText(w, checks) }); err != nil {
				return err
			}
			return exit.CodeIf(slices.ContainsFunc(checks, func(c ops.Check) bool { return c.Status == ops.Broken }), exit.Part)
		},
	}
}

func (a *app) checksText(w io.Writer, checks []ops.Check) {
	color := map[string]func(string) string{ops.Healthy: a.paint.Green, ops.Limited: a.paint.Yellow, ops.Broken: a.paint.Red}
	for len(checks) > 0 {
		area, rows := checks[0].Area, []text.Row(nil)
		for len(checks) > 0 && checks[0].Area == area {
			c := checks[0]
			rows, checks = append(rows, text.Row{Lead: c.Status, Color: color[c.Status], Label: c.Name, Text: c.Detail}), checks[1:]
		}
		fmt.Fprintln(w, a.paint.Bold(area))
		a.paint.Rows(w, rows...)
		if len(checks) > 0 {
			fmt.Fprintln(w)
		}
	}
}
