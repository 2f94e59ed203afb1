package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/localapi"
)

func newStatus(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "How the daemon stands: what it does, when it sweeps next, and what keeps it from acting",
		Long: `Status asks the daemon (winnow run) of this state folder how it stands. Where none answers it says so and exits with 3: then nothing sweeps by itself here, except
where a timer runs winnow run --once.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s document.State
			err := localapi.Ask(cmd.Context(), &a.Folder, http.MethodGet, "/v1/state", client.Params{}, &s)
			if errors.Is(err, localapi.ErrNoDaemon) {
				return a.noDaemon()
			}
			if err != nil {
				return err
			}
			return a.show(s, "  ", func(w io.Writer) { a.paint.State(w, s) })
		},
	}
	a.forms(cmd, "text", "json", "ndjson")
	return cmd
}

// noDaemon says that the daemon does not answer, and whether one has the state folder all the same.
func (a *app) noDaemon() error {
	doc, message, err := a.NotRunning()
	if err != nil {
		return err
	}
	if err := a.show(doc, "  ", func(w io.Writer) { fmt.Fprintln(w, message) }); err != nil {
		return err
	}
	return exit.Error{Code: exit.Part}
}
