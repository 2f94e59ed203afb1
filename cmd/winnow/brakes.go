package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

// brakeRules are the words that winnow brakes release takes.
var brakeRules = []string{brakes.CapTwice, brakes.ReadBack, brakes.CameBack, brakes.SourceShrank}

func newBrakes(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "brakes",
		Short: "List why the daemon only observes",
		Long: `Brakes lists what keeps the daemon from acting: the same cap took a kind for an accident several times, an act was carried out and its thing is still there, a
thing that was ended came back, or a source suddenly gave less. Each holds until it is released, also when the daemon is started again. A sweep --apply of a
person's acts all the same.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.through(cmd.Context(), http.MethodGet, "/v1/brakes", nil, nil, func() error { return a.listBrakes(cmd.Context()) })
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "release [RULE...]",
		Short: "Let the daemon act again, after you have looked",
		Long:  `Release lifts every brake, or those of the rules that are named: cap_twice, read_back, came_back, source_shrank.`,
		RunE: func(cmd *cobra.Command, rules []string) error {
			if err := knownBrakes(rules); err != nil {
				return err
			}
			return a.through(cmd.Context(), http.MethodDelete, "/v1/brakes", url.Values{"brake": rules}, nil, func() error { return a.releaseBrakes(cmd.Context(), rules) })
		},
	})
	return cmd
}

func knownBrakes(rules []string) error {
	for _, r := range rules {
		if !slices.Contains(brakeRules, r) {
			return config.Mistakef("unknown brake %q%s", r, text.Hint(r, brakeRules))
		}
	}
	return nil
}

func (a *app) listBrakes(ctx context.Context) error {
	all, err := a.Brakes(ctx)
	if err != nil {
		return err
	}
	return list(a, all, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(w, "no brake holds")
			return
		}
		a.brakesText(w, all)
		fmt.Fprintln(w, "winnow brakes release lets the daemon act again")
	})
}

func (a *app) brakesText(w io.Writer, all []brakes.Brake) {
	var rows []text.Row
	for _, b := range all {
		rows = append(rows, text.Row{Lead: "brake", Color: a.paint.Red, Label: b.Rule, Text: text.Time(b.At) + ": " + b.Message})
	}
	a.paint.Rows(w, rows...)
}

func (a *app) releaseBrakes(ctx context.Context, rules []string) error {
	released, err := a.ReleaseBrakes(ctx, rules)
	if err != nil {
		return err
	}
	return list(a, released, func(w io.Writer) {
		if len(released) == 0 {
			fmt.Fprintln(w, "no brake held; nothing was released")
			return
		}
		fmt.Fprintf(w, "released %s: the daemon may act again at its next sweep\n", text.Plural(len(released), "brake"))
	})
}
