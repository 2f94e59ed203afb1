package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// checkEvents says which events wake the daemon of this state folder, and why others do not.
func (a *app) checkEvents(ctx context.Context, s *snapshot.Snapshot) []Check {
	c := Check{"source", "events", healthy, ""}
	state, err := a.stateOf(ctx)
	if err != nil {
		c.Detail = "events wake winnow run alone, and no winnow run answers for this state folder"
		return []Check{c}
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
	if anyRead(s, "tmux", "") && !a.Cfg.Run.TmuxHooks {
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
		c.Status = limited
		parts = append(fails, append(parts, "what is not heard is found on schedule")...)
	}
	c.Detail = fmt.Sprintf("winnow run, process %d, %s", state.PID, strings.Join(parts, "; "))
	return []Check{c}
}

// stateOf is how the daemon of this state folder stands; an error where none answers.
func (a *app) stateOf(ctx context.Context) (State, error) {
	as := *a
	as.flags.format = "json"
	var s State
	p, err := as.ask(ctx, http.MethodGet, "/v1/state", nil, nil)
	if err == nil {
		err = json.Unmarshal([]byte(p.Out), &s)
	}
	return s, err
}
