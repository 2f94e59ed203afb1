package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

func newDf(a *app) *cobra.Command {
	var f sweep.Listing
	cmd := &cobra.Command{
		Use:   "df",
		Short: "What would come free, by repository, kind and reason",
		Long: `Df looks and decides as winnow sweep does, and sums up what would come free: by repository or folder, by kind and by reason, the
largest first. It does nothing to any of them; what it saw is remembered, as by winnow sweep, which lists the things themselves. Where a source
could not be read, it says so and exits with 3.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.Check(); err != nil {
				return err
			}
			e, p, err := a.Engine(cmd.Context())
			if err != nil {
				return err
			}
			defer a.Close(e)
			r, _, err := a.LookOnce(cmd.Context(), e, p, f)
			if err != nil {
				return err
			}
			u := r.Usage()
			if err := a.show(u, "  ", func(w io.Writer) { u.Write(w, a.paint.Paint) }); err != nil {
				return err
			}
			return exit.CodeError(r.Code(false))
		},
	}
	addSelection(cmd, &f.Select)
	return cmd
}
