package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newCleanup(a *app) *cobra.Command {
	var safe, mine bool
	cmd := &cobra.Command{
		Use:   "cleanup ID --safe [--mine]",
		Short: "Close one finished worker's session, or reap one candidate, now",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if !safe {
				return config.Usagef("only --safe is offered: winnow cleanup %s --safe closes it when no rule objects", text.Quote(ids[0]))
			}
			if mine && !strings.HasPrefix(ids[0], snapshot.KindDir+":") {
				return config.Usagef("--mine is for a worktree by its whole id: winnow cleanup dir:/path --safe --mine")
			}
			out, err := a.Cleanup(cmd.Context(), ops.AbsoluteID(ids[0]), mine)
			return a.declined(a.show(out, err, "", func(w io.Writer) { a.paint.Cleaned(w, out) }))
		},
	}
	cmd.Flags().BoolVar(&safe, "safe", false, "only where no rule objects")
	cmd.Flags().BoolVar(&mine, "mine", false, "a worktree that holds nothing is yours, and may go: your word is reason enough")
	return cmd
}
