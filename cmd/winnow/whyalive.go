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
		Short: "Whether anything is alive in a folder, process, session, tab or terminal, and what proves it",
		Long: `Why-alive says whether anything is alive in WHAT, and what proves it: a folder's path, a pid (812, or
812@93211 with its start in clock ticks) or an agent's session id. For a session, tab or terminal it is its id as
sweep --all prints it, or its name.

The answer is alive, with its proofs. It is not-alive when all that could prove life was read and proves nothing. It
is unknown when something that could prove it was not read. A record that says live proves nothing when its process is
gone; it is said. Winnow itself and what it started never count. It changes and remembers nothing.

With --exit-code it exits with 0 for alive, 4 for not alive, and 3 for unknown.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			out, err := viaDaemon(cmd.Context(), a, http.MethodGet, "/v1/why-alive", client.Params{What: given[0], As: as}, func() (alive.Answer, error) {
				return a.WhyAlive(cmd.Context(), given[0], as)
			})
			if err != nil {
				return err
			}
			if err := a.show(out, "  ", func(w io.Writer) { a.paint.Alive(w, out) }); err != nil || !exitCode {
				return err
			}
			return exit.CodeError(aliveCode(out.State))
		},
	}
	a.forms(cmd, "text", "json", "ndjson")
	cmd.Flags().StringVar(&as, "as", "", "take WHAT for this `kind` in place of guessing: "+strings.Join(alive.Kinds, ", "))
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 0 for alive, 4 for not alive, 3 for unknown")
	must(cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(alive.Kinds, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// aliveCode is the exit code of an answer with --exit-code.
func aliveCode(state string) int {
	switch state {
	case alive.Alive:
		return exit.Done
	case alive.NotAlive:
		return exit.Reap
	}
	return exit.Part
}
