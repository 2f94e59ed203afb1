package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/life"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newWhyAlive(a *app) *cobra.Command {
	var as string
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "why-alive WHAT",
		Short: "Whether anything is alive in a folder, process, session, tab, terminal or agent's session, and what proves it",
		Long: `Why-alive says whether anything is alive in WHAT, and what proves it: a folder's path, a pid (812, or 812@93211 with its start in clock
ticks since boot), a session, tab or terminal (its id as sweep --all prints it, or its name), or an agent's session id.

The answer is alive, with its proofs; not-alive, when everything that could prove life was read whole and proves nothing; or unknown, when
something that could prove it was not read. A record that says live proves nothing when its process is gone; it is said. Winnow itself and
what it started never count. It changes and remembers nothing.

With --exit-code it exits with 0 for alive, 4 for not alive, and 3 for unknown.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			q := url.Values{"what": given, "as": {as}, "exit_code": {strconv.FormatBool(exitCode)}}
			return a.through(cmd.Context(), http.MethodGet, "/v1/why-alive", q, nil, func() error { return a.whyAliveCommand(cmd.Context(), given[0], as, exitCode) })
		},
	}
	a.forms(cmd, "text", "json", "ndjson")
	cmd.Flags().StringVar(&as, "as", "", "take WHAT for this `kind` in place of guessing: "+strings.Join(life.Kinds, ", "))
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 0 for alive, 4 for not alive, 3 for unknown")
	must(cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(life.Kinds, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (a *app) whyAliveCommand(ctx context.Context, what, as string, exitCode bool) error {
	if err := checkAs(as); err != nil {
		return err
	}
	out, err := a.WhyAlive(ctx, what, as)
	if err != nil {
		return err
	}
	if err := a.show(out, "  ", func(w io.Writer) { a.aliveText(w, out) }); err != nil || !exitCode {
		return err
	}
	if code := aliveCode(out.State); code != exit.Done {
		return exit.Error{Code: code}
	}
	return nil
}

// checkAs refuses a kind that there is not.
func checkAs(as string) error {
	if as != "" && !slices.Contains(life.Kinds, as) {
		return config.Mistakef("--as %q: want one of %s", as, strings.Join(life.Kinds, ", "))
	}
	return nil
}

// aliveCode is the exit code of an answer with --exit-code.
func aliveCode(state string) int {
	switch state {
	case life.Alive:
		return exit.Done
	case life.NotAlive:
		return exit.Reap
	}
	return exit.Part
}

func (a *app) aliveText(w io.Writer, x life.Answer) {
	state := a.paint.Yellow(x.State)
	switch x.State {
	case life.Alive:
		state = a.paint.Green(x.State)
	case life.NotAlive:
		state = a.paint.Red("not alive")
	}
	a.paint.Sentence(w, a.paint.Bold(text.Clean(x.ID))+" "+state+": "+text.Clean(x.Why))
	section := func(title string, n int, row func(i int) text.Row) {
		if n == 0 {
			return
		}
		fmt.Fprintf(w, "\n%s\n", a.paint.Bold(title))
		var rows []text.Row
		for i := range n {
			rows = append(rows, row(i))
		}
		a.paint.Rows(w, rows...)
	}
	section("what proves it", len(x.Proofs), func(i int) text.Row {
		p := x.Proofs[i]
		row := text.Row{Lead: p.What, Color: a.paint.Green, Label: p.Source, Text: p.Detail}
		if p.StartTicks != nil {
			row.Rest = snapshot.ProcessID(p.PID, *p.StartTicks)
		}
		return row
	})
	section("what could not be read", len(x.Gaps), func(i int) text.Row {
		return text.Row{Lead: "gap", Color: a.paint.Yellow, Label: x.Gaps[i].Source, Text: x.Gaps[i].Why}
	})
	section("what proves nothing", len(x.Said), func(i int) text.Row {
		return text.Row{Lead: "said", Color: a.paint.Dim, Label: x.Said[i].Source, Text: x.Said[i].Detail}
	})
	if x.State == life.Alive {
		return
	}
	section("what was asked", len(x.Read), func(i int) text.Row {
		r := x.Read[i]
		return text.Row{Lead: r.Status, Color: a.paint.Dim, Label: r.Source, Text: fmt.Sprintf("it listed %d, and none is a proof", r.Seen)}
	})
}
