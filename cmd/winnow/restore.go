package main

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newRestore(a *app) *cobra.Command {
	var last, noHold bool
	cmd := &cobra.Command{
		Use:   "restore ACT|NAME... | --last",
		Short: "Bring back what acts set aside",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, acts []string) error {
			if last != (len(acts) == 0) {
				return config.Usagef("restore wants either --last, or the ids or names of what winnow trash lists")
			}
			if last {
				kept, err := a.Restorable(cmd.Context())
				if len(kept) == 0 {
					return cmp.Or(err, config.Usagef("the trash is empty: there is no last act to bring back"))
				}
				acts = []string{slices.MaxFunc(kept, func(x, y ledger.Act) int { return strings.Compare(x.Intent.ID, y.Intent.ID) }).Intent.ID}
			}
			long := a.Cfg.Act.RestoreHold
			if noHold {
				long = 0
			}
			back, err := a.Restore(cmd.Context(), long, text.Map(acts, ops.AbsoluteID)...)
			if len(back) == 0 {
				return err
			}
			write := func(w io.Writer) { render.Restored(w, back) }
			if len(back) == 1 {
				return errors.Join(a.show(back[0], nil, "", write), err)
			}
			return errors.Join(list(a, "acts", back, nil, write), err)
		},
	}
	cmd.Flags().BoolVar(&last, "last", false, "bring back what the newest act set aside")
	cmd.Flags().BoolVar(&noHold, "no-hold", false, "do not hold what is back")
	return cmd
}
