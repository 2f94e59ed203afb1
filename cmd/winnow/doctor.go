package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/localapi"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newDoctor(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What can and cannot be seen and done on this machine",
		Long:  "Doctor says what can be seen and done on this machine, and which rules can never fire here.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := a.Examine(cmd.Context(), a.checkEvents)
			broken := slices.ContainsFunc(checks, func(c ops.Check) bool { return c.Status == ops.Broken })
			err := list(a, "checks", checks, nil, func(w io.Writer) { a.checksText(w, checks, all) })
			return cmp.Or(err, exit.CodeIf(broken, exit.Part))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also what is not on this machine, and each shipped rule that can fire")
	return cmd
}

// checksText writes checks, and how many it leaves out.
func (a *app) checksText(w io.Writer, checks []ops.Check, all bool) {
	every := len(checks)
	if !all {
		checks = slices.DeleteFunc(slices.Clone(checks), ops.Check.Quiet)
	}
	quiet := every - len(checks)
	color := map[string]func(string) string{ops.Healthy: a.paint.Green, ops.Limited: a.paint.Yellow, ops.Broken: a.paint.Red}
	for len(checks) > 0 {
		area, rows := checks[0].Area, []text.Row(nil)
		for len(checks) > 0 && checks[0].Area == area {
			c := checks[0]
			rows, checks = append(rows, text.Row{Lead: c.Status, Color: color[c.Status], Label: c.Name, Text: c.Detail}), checks[1:]
		}
		fmt.Fprintln(w, a.paint.Bold(area))
		a.paint.Rows(w, rows...)
		if len(checks) > 0 {
			fmt.Fprintln(w)
		}
	}
	if quiet > 0 {
		fmt.Fprintf(w, "\n%s of what this machine does not have, and of shipped rules: winnow doctor --all shows them\n", text.Plural(quiet, "check"))
	}
}

// checkEvents says which events wake the daemon of this state folder, and why others do not.
func (a *app) checkEvents(ctx context.Context, s *snapshot.Snapshot) []ops.Check {
	c := ops.Check{Area: "source", Name: "events", Status: ops.Healthy, Detail: ""}
	var state document.State
	if err := localapi.Ask(ctx, &a.Folder, http.MethodGet, "/v1/state", client.Params{}, &state); err != nil {
		c.Detail = "used by the daemon, which is not running for this state folder"
		return []ops.Check{c}
	}
	var hears, fails, off []string
	for _, name := range slices.Sorted(maps.Keys(state.Events)) {
		switch e := state.Events[name]; {
		case e.Listening && e.Why == "":
			hears = append(hears, name)
		case e.Listening:
			fails = append(fails, "hears "+name+" in part: "+e.Why)
		case strings.HasPrefix(e.Why, wake.ErrUnavailable.Error()):
			off = append(off, name+" ("+e.Why+")")
		case e.Why == "":
			fails = append(fails, "does not hear "+name+" yet")
		default:
			fails = append(fails, "does not hear "+name+": "+e.Why)
		}
	}
	if ops.AnyRead(s, "tmux", "") && !a.Cfg.Run.TmuxHooks {
		off = append(off, "tmux (run.tmux_hooks)")
	}
	var parts []string
	if len(hears) > 0 {
		parts = append(parts, "hears "+strings.Join(hears, ", "))
	}
	if len(off) > 0 {
		parts = append(parts, "off: "+strings.Join(off, ", "))
	}
	if len(fails) > 0 {
		c.Status = ops.Limited
		parts = append(fails, append(parts, "what is not heard is found on schedule")...)
	}
	c.Detail = fmt.Sprintf("winnow run, process %d, %s", state.PID, strings.Join(parts, "; "))
	return []ops.Check{c}
}
