// Package render writes documents as text and markdown.
package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/alive"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/service"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Paint is how commands write to a terminal.
type Paint struct{ text.Paint }

// RefusalText says how often a candidate was to go and did not.
func (p Paint) RefusalText(w io.Writer, r *alarm.Refusal) {
	if r == nil {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("it was to go before"))
	times := "once, on " + text.Time(r.LastAt)
	if r.Count > 1 {
		times = fmt.Sprintf("%d times in a row, from %s to %s", r.Count, text.Time(r.FirstAt), text.Time(r.LastAt))
	}
	p.Indented(w, 2, times)
	p.Indented(w, 2, text.Clean(r.Outcome+": "+r.Detail))
}

// trailText shows the answers.
func (p Paint) trailText(w io.Writer, trail []document.Answer) {
	color := map[string]func(string) string{"yes": p.Green, "no": p.Yellow, "unknown": p.Dim}
	p.Section(w, "what became of closing it", text.Map(trail, func(x document.Answer) text.Row {
		return text.Row{Lead: x.Answer, Color: color[x.Answer], Label: x.Question, Text: x.Detail}
	})...)
}

// Cleaned says what a cleanup did.
func (p Paint) Cleaned(w io.Writer, c document.Cleaned) {
	report.Acts(w, p.Paint, "settled: acts that an earlier sweep was cut short in", c.Settled, true)
	report.Acts(w, p.Paint, "acts", []decision.Act{*c.Act}, true)
}

// Agents prints what agents are known, those that run first.
func (p Paint) Agents(w io.Writer, doc document.Agents) {
	var run, rest []text.Row
	for _, a := range doc.Agents {
		row := text.Row{Lead: "known", Color: p.Dim, Label: a.Name, Text: a.Title}
		if a.Version != "" {
			row.Text += ", seen in version " + a.Version
		}
		if a.File != "" {
			row.Text += ", by " + a.File
		}
		if len(a.PIDs) == 0 {
			rest = append(rest, row)
			continue
		}
		pids := text.Join(a.PIDs, ", ", strconv.Itoa)
		row.Lead, row.Color = "runs", p.Green
		row.Text += ": pid " + pids
		run = append(run, row)
	}
	p.Rows(w, append(run, rest...)...)
}

// Alive says whether anything is alive, and what proves it.
func (p Paint) Alive(w io.Writer, x alive.Answer) {
	state := p.Yellow(x.State)
	switch x.State {
	case alive.Alive:
		state = p.Green(x.State)
	case alive.NotAlive:
		state = p.Red("not alive")
	}
	p.Sentence(w, p.Bold(text.Clean(x.ID))+" "+state+": "+text.Clean(x.Why))
	var proofs []text.Row
	for _, proof := range x.Proofs {
		row := text.Row{Lead: proof.What, Color: p.Green, Label: proof.Source, Text: proof.Detail}
		if proof.StartTicks != nil {
			row.Rest = snapshot.ProcessID(proof.PID, *proof.StartTicks)
		}
		proofs = append(proofs, row)
	}
	p.Section(w, "what proves it", proofs...)
	more := slices.DeleteFunc(slices.Clone(x.Gaps), func(g alive.Gap) bool { return strings.HasSuffix(x.Why, g.Why) }) // said above
	p.Section(w, "what could not be read", text.Map(more, func(g alive.Gap) text.Row {
		return text.Row{Lead: "gap", Color: p.Yellow, Label: g.Source, Text: g.Why}
	})...)
	p.Section(w, "what proves nothing", text.Map(x.Claims, func(c alive.Claim) text.Row {
		return text.Row{Lead: "said", Color: p.Dim, Label: c.Source, Text: c.Detail}
	})...)
	if x.State != alive.Alive {
		p.Section(w, "what was asked", text.Map(x.Read, func(r alive.Read) text.Row {
			listed := fmt.Sprintf("it listed %d, and none is a proof", r.Seen)
			return text.Row{Lead: r.Status, Color: p.Dim, Label: r.Source, Text: listed}
		})...)
	}
}

// ServiceChange prints which units were written, kept and removed.
func ServiceChange(w io.Writer, c service.Changed) {
	for _, of := range []struct {
		word  string
		paths []string
	}{{"removed", c.Removed}, {"written", c.Written}, {"kept as it is", c.Kept}} {
		for _, p := range of.paths {
			fmt.Fprintf(w, "%s: %s\n", of.word, text.Clean(p))
		}
	}
	if len(c.Shared) > 0 {
		fmt.Fprintf(w, "shared with %s: systemctl restart has them run so too\n", text.Clean(strings.Join(c.Shared, ", ")))
	}
	for _, unit := range c.Disabled {
		fmt.Fprintf(w, "disabled: %s, which a package brought\n", text.Clean(unit))
	}
}

// ServiceStatus prints how the units stand, and that no manager answers, where silent says why.
func ServiceStatus(w io.Writer, all []service.Status, silent string) {
	for _, st := range all {
		fmt.Fprintf(w, "%s\n", text.Clean(st.Unit))
		if silent == "" {
			fmt.Fprintf(w, "  now   %s, %s", cmp.Or(st.Enabled, "not enabled"), cmp.Or(st.Active, "not active"))
			if st.Since != "" {
				fmt.Fprintf(w, " since %s", text.Clean(st.Since))
			}
			if st.PID != "" {
				fmt.Fprintf(w, ", process %s", text.Clean(st.PID))
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "  unit  %s\n  log   %s\n", text.Clean(st.Path), text.Clean(st.Log))
		if st.Next != "" {
			fmt.Fprintf(w, "  next  %s\n", text.Clean(st.Next))
		}
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "not installed: winnow service install")
	}
	if silent != "" {
		fmt.Fprintf(w, "no systemd manager answers here: %s\n", text.Clean(silent))
	}
}

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

// Holds lists what is held.
func (p Paint) Holds(w io.Writer, holds []snapshot.Hold) {
	if len(holds) == 0 {
		fmt.Fprintln(w, "nothing is held; winnow retain ID --reason TEXT holds something")
	}
	p.Rows(w, text.Map(holds, func(h snapshot.Hold) text.Row {
		until := "no end"
		if h.Until != nil {
			until = "until " + text.Time(*h.Until)
			if h.Until.Before(time.Now()) {
				until = "ended on " + text.Time(*h.Until)
			}
		}
		return text.Row{Lead: "held", Color: p.Yellow, Label: h.ID, Text: fmt.Sprintf("%s, by %s: %s", until, h.Owner, h.Reason)}
	})...)
}

// Held says that something is held.
func Held(h snapshot.Hold) string {
	return text.Clean(h.ID) + " is held " + until(h.Until, "it is released")
}

// Released says that something is no longer held, and what that means.
func Released(r document.Released) string {
	then := "the next sweep decides about it again"
	if r.Retained != "" {
		then = strings.TrimSuffix("its registry still marks it as retained: "+r.NextCommand, ": ")
	}
	return text.Clean(strings.Join(append([]string{r.Released}, r.Also...), ", ")) + " is no longer held; " + text.Clean(then)
}

// Paused says until when no act begins, and by which file where that is known.
func Paused(p lock.Pause, file string) string {
	out := "paused " + until(p.Until, "winnow resume")
	if file != "" {
		out += ", by " + text.Clean(file)
	}
	return out
}

// Resumed says whether a pause was ended.
func Resumed(r document.Resumed) string {
	if !r.Resumed {
		return "nothing was paused"
	}
	return "resumed: sweeps may act again"
}

// until says when something ends: at a time, or else by an event.
func until(at *time.Time, event string) string {
	if at == nil {
		return "until " + event
	}
	return "until " + text.Time(*at)
}

// ReleasedBrakes says which brakes were released.
func ReleasedBrakes(w io.Writer, released []brakes.Brake) {
	if len(released) == 0 {
		fmt.Fprintln(w, "no brake held; nothing was released")
		return
	}
	fmt.Fprintf(w, "released %s: the daemon may act again at its next sweep\n", text.Plural(len(released), "brake"))
}

// Brakes lists the brakes that hold.
func (p Paint) Brakes(w io.Writer, all []brakes.Brake) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no brake holds")
		return
	}
	p.Rows(w, text.Map(all, func(b brakes.Brake) text.Row {
		return text.Row{Lead: "brake", Color: p.Red, Label: b.Rule, Text: text.Time(b.At) + ": " + b.Message}
	})...)
	fmt.Fprintln(w, "winnow brakes release lets the daemon act again")
}
