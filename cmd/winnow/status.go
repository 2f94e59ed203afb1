package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newStatus(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "How the daemon stands: what it does, when it sweeps next, and what keeps it from acting",
		Long: `Status asks the daemon (winnow run) of this state folder how it stands. Where none answers it says so and exits with 3: then nothing sweeps by itself here, except
where a timer runs winnow run --once.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.through(cmd.Context(), http.MethodGet, "/v1/state", nil, nil, a.noDaemon)
		},
	}
	a.forms(cmd, "text", "json", "ndjson")
	return cmd
}

// NotRunning is what winnow status prints as JSON where no daemon answers.
type NotRunning struct {
	Schema  string `json:"schema"`
	Running bool   `json:"running"`
	// State is the state folder; Process is the daemon that has it and does not answer, absent when it is missing.
	State   string `json:"state"`
	Process int    `json:"pid,omitempty"`
}

// noDaemon says that none answers, and whether one has the state folder all the same.
func (a *app) noDaemon() error {
	doc := NotRunning{Schema: stateSchema, State: a.Cfg.State}
	message := "no winnow run has the state folder " + text.Clean(a.Cfg.State) + ": winnow run begins one, winnow service install has systemd run it"
	unlock, err := a.AsksForLock()
	var held *ledger.Held
	switch {
	case errors.Is(err, fs.ErrNotExist): // and none is made by a question
	case errors.As(err, &held):
		doc.Running, doc.Process = true, held.PID
		why := "it hangs, run.api is off there, or it runs with another configuration or version"
		if _, err := os.Lstat(a.Cfg.APISocket()); errors.Is(err, fs.ErrNotExist) {
			why = "there is no " + text.Clean(a.Cfg.APISocket()) + ", so run.api is off there, its socket is elsewhere, or somebody removed it: then start winnow run again"
		}
		message = fmt.Sprintf("process %d is winnow run since %s, and does not answer this command: %s", held.PID, text.Time(held.Since), why)
	case err == nil:
		_ = unlock()
	default:
		return fmt.Errorf("it is not known whether a winnow run has the state folder %s: %w", a.Cfg.State, err)
	}
	if err := a.show(doc, "  ", func(w io.Writer) { fmt.Fprintln(w, message) }); err != nil {
		return err
	}
	return exit.Error{Code: exit.Part}
}

func (a *app) showState(s State) error {
	return a.show(s, "  ", func(w io.Writer) { a.stateText(w, s) })
}

func (a *app) stateText(w io.Writer, s State) {
	mode := a.paint.Green(s.Mode)
	if s.Mode == Paused || s.Mode == Braked {
		mode = a.paint.Yellow(s.Mode)
	}
	fmt.Fprintf(w, "%s since %s, process %d, winnow %s\n", mode, text.Time(s.Since), s.PID, text.Clean(s.Version))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-10s %s\n", name, text.Clean(fmt.Sprintf(format, args...)))
	}
	if l := s.Last; l != nil {
		var kinds []string
		for _, k := range snapshot.Kinds {
			if c := l.Census[k.Name]; c.Reap > 0 {
				kinds = append(kinds, text.Plural(c.Reap, k.Name))
			}
		}
		goes := "nothing to go"
		if len(kinds) > 0 {
			goes = strings.Join(kinds, ", ") + " to go"
		}
		row("last", "%s, for %s, %.2f s: %s", text.Time(l.At), l.Why, l.Took, goes)
	}
	switch {
	case s.Sweeping:
		row("next", "a sweep is under way")
	case !s.Next.IsZero():
		row("next", "in %s, for %s", text.Span(max(0, time.Until(s.Next)).Round(time.Second)), s.Why)
	}
	row("sweeps", "%d, of them %d short; %d failed", s.Sweeps, s.Short, s.Failed)
	if s.Policy.Revision != "" {
		row("policies", "%s since %s", s.Policy.Revision, text.Time(s.Policies))
	}
	if s.Paused != nil {
		row("pause", "%v", s.Paused)
	}
	for _, b := range s.Brakes {
		row("brake", "%s: %s; winnow brakes release", b.Rule, b.Message)
	}
	if s.Problem != "" {
		row("problem", "the latest sweep came to nothing: %s", s.Problem)
	}
	if s.Reload != "" {
		row("reload", "the latest SIGHUP changed nothing: %s", s.Reload)
	}
	if s.Pressure != "" {
		row("pressure", "%s", s.Pressure)
	}
	if len(s.NotRead) > 0 {
		row("not read", "%s; winnow doctor says why", strings.Join(s.NotRead, ", "))
	}
	for _, al := range s.Alarms {
		row("alarm", "%s: %s", al.Rule, al.Message)
	}
}
