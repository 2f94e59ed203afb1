package main

import (
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

func newHolds(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "holds",
		Short: "List the holds",
		RunE: func(cmd *cobra.Command, _ []string) error {
			holds, err := viaDaemon(cmd.Context(), a, http.MethodGet, "/v1/holds", client.Params{}, func() ([]snapshot.Hold, error) { return a.ReadHolds(cmd.Context()) })
			if err != nil {
				return err
			}
			return list(a, holds, func(w io.Writer) { a.paint.Holds(w, holds) })
		},
	}
}
