package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/text"
)

// State says how the daemon stands.
func (p Paint) State(w io.Writer, s document.State) {
	mode := p.Green(s.Mode)
	if s.Mode == document.Paused || s.Mode == document.Braked {
		mode = p.Yellow(s.Mode)
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
