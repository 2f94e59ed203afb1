package main

import (
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/alive"
	"github.com/winnow-reaper/winnow/internal/exit"
)

func newWhyAlive(a *app) *cobra.Command {
	var as string
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "why-alive WHAT",
		Short: "Say whether something is alive, and what proves it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			out, err := viaDaemon(cmd.Context(), a, http.MethodGet, "/v1/why-alive", client.Params{What: given[0], As: as}, func() (alive.Answer, error) {
				return a.WhyAlive(cmd.Context(), given[0], as)
			})
			if err = a.show(out, err, "  ", func(w io.Writer) { a.paint.Alive(w, out) }); err != nil || !exitCode {
				return err
			}
			switch out.State {
			case alive.Alive:
				return nil
			case alive.NotAlive:
				return exit.CodeError(exit.Reap)
			}
			return exit.CodeError(exit.Part)
		},
	}
	a.forms(cmd, "text", "json", "ndjson")
	cmd.Flags().StringVar(&as, "as", "", "take WHAT for this `kind` in place of guessing: "+strings.Join(alive.Kinds, ", "))
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 0 for alive, 4 for not alive, 3 for unknown")
	must(cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(alive.Kinds, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}
