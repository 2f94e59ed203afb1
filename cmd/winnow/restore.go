package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/render"
)

func newRestore(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore ACT|NAME...",
		Short: "Bring back what acts set aside",
		Long: `Restore brings a folder back to where it was, with its place in its repository; for a tmux session it starts one of the same name
that shows the saved scrollback, for a herdr tab it opens one of the same label and says where the saved text is. It overwrites nothing. ACT is as trash and history print it and may be
shortened; NAME is that of a folder or a session, and means its newest act. Each act is restored by itself: when one fails, the others are still restored.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, acts []string) error {
			back, err := a.Restore(cmd.Context(), acts...)
			if len(back) == 0 {
				return err
			}
			var doc any = back
			if len(back) == 1 {
				doc = back[0]
			}
			if unwritten := a.show(doc, "", func(w io.Writer) { render.Restored(w, back) }); unwritten != nil {
				return errors.Join(unwritten, err)
			}
			return err
		},
	}
}
