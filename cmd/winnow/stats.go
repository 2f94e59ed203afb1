package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"
)

func newStats(a *app) *cobra.Command {
	since := span(90 * 24 * time.Hour)
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "What was reclaimed, by week, repository and kind",
		Long: `Stats sums up the acts that were done, from the ledger: how many, and what they freed of disk and memory. What was brought back does not count.
What lies in the trash counts: it comes free when the trash is emptied, at the latest after act.trash_ttl.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Stats(cmd.Context(), time.Now().Add(-time.Duration(since)))
			if err != nil {
				return err
			}
			return a.show(s, "  ", func(w io.Writer) { a.paint.Stats(w, s) })
		},
	}
	cmd.Flags().Var(&since, "since", "how far back, such as 48h or 30d")
	return cmd
}
