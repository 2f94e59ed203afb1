package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/text"
	"winnow/engine/decision"
)

func newTrash(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "trash",
		Short: "List what can be brought back, and until when",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			kept, err := a.kept(cmd.Context())
			if err != nil {
				a.note("%v; what follows is what the manifests in the trash say", err)
			}
			return errors.Join(err, list(a, kept, func(w io.Writer) {
				if len(kept) == 0 {
					fmt.Fprintln(w, "the trash is empty")
				}
				var rows []text.Row
				for _, r := range kept {
					rows = append(rows, text.Row{Lead: r.Intent.Kind, Color: a.paint.Yellow,
						Label: report.Label(decision.Decision{ID: r.Intent.Candidate, Kind: r.Intent.Kind, Label: r.Intent.Label}),
						Text:  fmt.Sprintf("until %s; winnow restore %s", text.Time(r.Intent.RestoreUntil), r.Intent.ID)})
				}
				a.paint.Rows(w, rows...)
			}))
		},
	}
}
