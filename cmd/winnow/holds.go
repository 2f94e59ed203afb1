package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/text"
)

func newHolds(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "holds",
		Short: "List the holds",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.through(cmd.Context(), http.MethodGet, "/v1/holds", nil, nil, func() error { return a.listHolds(cmd.Context()) })
		},
	}
}

func (a *app) listHolds(ctx context.Context) error {
	holds, err := a.ReadHolds(ctx)
	if err != nil {
		return err
	}
	return list(a, holds, func(w io.Writer) {
		if len(holds) == 0 {
			fmt.Fprintln(w, "nothing is held; winnow retain ID --reason TEXT holds something")
		}
		var rows []text.Row
		for _, h := range holds {
			until := "no end"
			if h.Until != nil {
				until = "until " + text.Time(*h.Until)
				if h.Until.Before(time.Now()) {
					until = "ended on " + text.Time(*h.Until)
				}
			}
			rows = append(rows, text.Row{Lead: "held", Color: a.paint.Yellow, Label: h.ID, Text: fmt.Sprintf("%s, by %s: %s", until, h.Owner, h.Reason)})
		}
		a.paint.Rows(w, rows...)
	})
}
