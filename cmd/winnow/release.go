package main

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/render"
)

func newRelease(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "release ID",
		Short: "Lift a hold; ends nothing by itself",
		Long: `Release lifts the hold on ID, which is as winnow holds prints it, a part of that, or the id of a worker. It ends nothing.
What a registry itself marks as retained stays so: only its own program can let go of that.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			out, err := viaDaemon(cmd.Context(), a, http.MethodDelete, "/v1/holds", client.Params{Candidate: ids[0]}, func() (document.Released, error) {
				return a.Release(cmd.Context(), ids[0])
			})
			if err != nil {
				return a.declined(err)
			}
			return a.say(out, render.Released(out))
		},
	}
}
