package main

import (
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/render"
)

func newBrakes(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "brakes",
		Short: "List why the daemon only observes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := viaDaemon(cmd.Context(), a, http.MethodGet, "/v1/brakes", client.Params{}, func() ([]brakes.Brake, error) { return a.Brakes(cmd.Context()) })
			return list(a, "brakes", all, err, func(w io.Writer) { a.paint.Brakes(w, all) })
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "release [RULE...]",
		Args:  cobra.ArbitraryArgs,
		Short: "Let the daemon act again, after you have looked",
		Long:  `Release lifts every brake, or those of the rules that are named: cap_twice, read_back, came_back, source_shrank.`,
		RunE: func(cmd *cobra.Command, rules []string) error {
			released, err := viaDaemon(cmd.Context(), a, http.MethodDelete, "/v1/brakes", client.Params{Brakes: rules}, func() ([]brakes.Brake, error) {
				return a.ReleaseBrakes(cmd.Context(), rules)
			})
			return list(a, "released", released, err, func(w io.Writer) { render.ReleasedBrakes(w, released) })
		},
	})
	return cmd
}
