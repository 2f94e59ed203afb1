package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/localapi"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/text"
)

// runFlags are those of winnow run.
type runFlags struct {
	apply, once bool
	every       span
}

func newRun(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "The daemon: sweep on a schedule, and soon after something happened",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every := time.Duration(f.every); cmd.Flags().Changed("every") && (every < config.LeastEvery || every > config.MostEvery) {
				return config.Usagef("--every %s: give a time from 1s to 24h, such as 5m", every)
			}
			return a.run(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVar(&f.apply, "apply", false, "carry the decisions out, as act.enabled does")
	cmd.Flags().BoolVar(&f.once, "once", false, "sweep once and end, for a timer; pause and brakes hold as for the daemon")
	cmd.Flags().Var(&f.every, "every", "from one sweep to the next, in place of run.every; with --once how often the timer sweeps")
	return cmd
}

// run is winnow run.
func (a *app) run(ctx context.Context, f runFlags) error {
	d, err := daemon.New(ctx, &a.Ops, a.daemonOptions(f))
	switch {
	case errors.As(err, new(ruleset.NoCopy)): // not the code after which a service manager starts it no more (RestartPreventExitStatus)
		return exit.Error{Code: exit.Failed, Err: err}
	case err != nil:
		return err
	}
	defer d.Close()
	if f.once {
		return d.Once(ctx)
	}
	return d.Run(ctx)
}

// daemonOptions are what the flags say: reports on stdout and lines on stderr, or lines alone on stdout.
func (a *app) daemonOptions(f runFlags) daemon.Options {
	o := daemon.Options{Apply: f.apply, Every: time.Duration(f.every), Load: a.loadConfig, Components: []daemon.Component{daemon.Systemd, daemon.Metrics, localapi.Component, daemon.Notify}}
	lines := a.out
	if a.flags.format != "text" {
		lines = a.errOut
		o.Report = func(r *report.Report) {
			if err := text.JSON(a.out, r, ""); err != nil {
				a.Log.Warn("print the report", "error", err)
			}
		}
	}
	o.Line = func(line string) { fmt.Fprintln(lines, line) }
	return o
}

func newStatus(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "How the daemon stands, and what keeps it from acting",
		Long: `Status asks the daemon (winnow run) of this state folder how it stands. Where none answers it says so and exits with 3: then nothing sweeps by itself here, except
where a timer runs winnow run --once.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s document.State
			err := localapi.Ask(cmd.Context(), &a.Folder, http.MethodGet, "/v1/state", client.Params{}, &s)
			if errors.Is(err, localapi.ErrNoDaemon) {
				doc, message, err := a.NotRunning()
				err = a.show(doc, err, "  ", func(w io.Writer) { fmt.Fprintln(w, message) })
				return cmp.Or(err, exit.CodeError(exit.Part))
			}
			return a.show(s, err, "  ", func(w io.Writer) { a.paint.State(w, s) })
		},
	}
	a.forms(cmd, "text", "json", "ndjson")
	return cmd
}
