package main

import (
	"cmp"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
)

func newHistory(a *app) *cobra.Command {
	since := span(24 * time.Hour)
	var check bool
	var head string
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Sweeps and acts from the ledger",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if head != "" && !check {
				return config.Usagef("--head needs --verify")
			}
			if check {
				v, err := a.VerifyHistory(cmd.Context(), head)
				err = a.show(v, err, "  ", func(w io.Writer) { a.paint.Verified(w, v) })
				return cmp.Or(err, exit.CodeIf(!v.Holds, exit.Failed))
			}
			h, err := a.History(cmd.Context(), time.Now().Add(-time.Duration(since)))
			return a.show(h, err, "  ", func(w io.Writer) { a.paint.History(w, h, time.Duration(since), a.LedgerPath()) })
		},
	}
	cmd.Flags().BoolVar(&check, "verify", false, "check that the acts are what was written about them")
	cmd.Flags().StringVar(&head, "head", "", "with --verify: a `link` that was kept, which must be in the chain")
	cmd.Flags().Var(&since, "since", "how far back, such as 90m or 2d")
	return cmd
}

func newStats(a *app) *cobra.Command {
	since := span(90 * 24 * time.Hour)
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "What was reclaimed, by week, repository and kind",
		Long: `Stats sums up the acts that were done, from the ledger: how many, and what they freed of disk and memory. What was brought back does not count.
What lies in the trash counts: it comes free when the trash is emptied, at the latest after act.trash_ttl.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Stats(cmd.Context(), time.Now().Add(-time.Duration(since)))
			return a.show(s, err, "  ", func(w io.Writer) { a.paint.Stats(w, s) })
		},
	}
	cmd.Flags().Var(&since, "since", "how far back, such as 48h or 30d")
	return cmd
}
