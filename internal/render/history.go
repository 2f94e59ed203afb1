package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Verified says whether the chain of acts holds.
func (p Paint) Verified(w io.Writer, v document.Verified) {
	if v.Holds && v.Head == "" {
		fmt.Fprintf(w, "no act was written down yet; the ledger is %s\n", text.Clean(v.Ledger))
		return
	}
	if v.Holds {
		fmt.Fprintf(w, "the chain holds: %s in %s, and they are what was written\n", text.Plural(v.Acts, "act"), fmt.Sprintf("%d %s", v.Entries, ops.Entries(v.Entries)))
	} else {
		fmt.Fprintf(w, "%s: %s in %s\n", p.Bold("the chain breaks"), text.Plural(v.Acts, "act"), fmt.Sprintf("%d %s", v.Entries, ops.Entries(v.Entries)))
		for _, f := range v.Faults {
			fmt.Fprintf(w, "  %s\n", text.Clean(f.Problem))
		}
		if v.More > 0 {
			fmt.Fprintf(w, "  and %d more\n", v.More)
		}
		fmt.Fprintf(w, "nothing was changed; the ledger is %s\n", text.Clean(v.Ledger))
	}
	if v.Head != "" {
		fmt.Fprintf(w, "the last link is %s\n", text.Clean(v.Head))
	}
}

// History lists sweeps, dry runs after one another in one line, and acts. file is the ledger.
func (p Paint) History(w io.Writer, h document.History, since time.Duration, file string) {
	if len(h.Sweeps) == 0 && len(h.Acts) == 0 {
		fmt.Fprintf(w, "nothing in the last %s; the ledger is %s\n", text.Span(since), text.Clean(file))
		return
	}
	fmt.Fprintln(w, p.Bold("sweeps"))
	outcomes := map[string]map[string]int{} // of a sweep
	for _, x := range h.Acts {
		outcome := "open"
		if x.Outcome != nil {
			outcome = x.Outcome.Outcome
		}
		if outcomes[x.Intent.Sweep] == nil {
			outcomes[x.Intent.Sweep] = map[string]int{}
		}
		outcomes[x.Intent.Sweep][outcome]++
	}
	for i := 0; i < len(h.Sweeps); i++ {
		first, s := i, h.Sweeps[i]
		dry := func(i int) bool {
			return i < len(h.Sweeps) && h.Sweeps[i].Mode == report.DryRun && h.Sweeps[i].Finished != nil
		}
		for dry(first) && dry(i+1) {
			i++
		}
		if i > first {
			fmt.Fprintf(w, "  %s  %-7s  %d of them, the first at %s\n", text.Time(s.Started), s.Mode, i-first+1, text.Time(h.Sweeps[i].Started))
			continue
		}
		took := "not finished"
		if s.Finished != nil {
			took = "took " + text.Took(s.Finished.Sub(s.Started))
		}
		for _, outcome := range slices.Sorted(maps.Keys(outcomes[s.ID])) {
			took += fmt.Sprintf("; %d %s", outcomes[s.ID][outcome], outcome)
		}
		fmt.Fprintf(w, "  %s  %-7s  %s  %s\n", text.Time(s.Started), text.Clean(s.Mode), text.Clean(s.ID), p.Dim(took))
	}
	if len(h.Acts) > 0 {
		fmt.Fprintln(w, "\n"+p.Bold("acts"))
	}
	for _, r := range h.Acts {
		out, detail := "open", "cut short; the next sweep --apply finds out how it went"
		if r.Outcome != nil {
			out, detail = r.Outcome.Outcome, report.Aside(decision.Act{ID: r.Intent.ID, Outcome: *r.Outcome})
		}
		said, _, again := strings.Cut(detail, "; winnow restore ")
		switch { // nothing brings back what is no longer in the trash
		case !again:
		case r.PurgedAt != nil:
			detail = said + "; removed for good at " + text.Time(*r.PurgedAt)
		case r.RestoredAt != nil:
			detail = said + "; brought back at " + text.Time(*r.RestoredAt)
		}
		fmt.Fprintf(w, "  %s  %-7s  %s  %s\n", text.Time(r.Intent.At), text.Clean(out), text.Clean(r.Intent.ID),
			text.Clean(report.Label(decision.Decision{ID: r.Intent.Candidate, Kind: r.Intent.Kind, Label: r.Intent.Label})))
		for _, l := range text.Wrap(text.Clean(detail), p.Width-4) {
			fmt.Fprintln(w, "    "+p.Dim(l))
		}
		if r.Intent.Decision != "" {
			fmt.Fprintln(w, "    "+p.Dim("decision "+text.Clean(r.Intent.Decision)))
		}
	}
}

// Stats shows what was reclaimed by week, repository and kind, with a bar for the share of each.
func (p Paint) Stats(w io.Writer, s document.Stats) {
	fmt.Fprintf(w, "%s done since %s: %s of disk, %s of memory\n", text.Plural(s.Total.Acts, "act"), s.Since.Local().Format(time.DateOnly),
		text.Size(s.Total.Bytes), text.Size(s.Total.Memory))
	section := func(title string, shares []document.Share) {
		most := int64(1)
		for _, x := range shares {
			most = max(most, x.Bytes+x.Memory)
		}
		p.Section(w, title, text.Map(shares, func(x document.Share) text.Row {
			return text.Row{Label: text.Home(x.Name), Cells: []string{text.Plural(x.Acts, "act"), text.Size(x.Bytes + x.Memory)},
				Text: strings.Repeat("▇", int((x.Bytes+x.Memory)*20/most))}
		})...)
	}
	section("by week", s.Weeks)
	section("by repository", s.Repositories)
	section("by kind", s.Kinds)
}

// Trash lists what can be brought back.
func (p Paint) Trash(w io.Writer, all []document.SetAside) {
	if len(all) == 0 {
		fmt.Fprintln(w, "the trash is empty")
		return
	}
	p.Rows(w, text.Map(all, func(x document.SetAside) text.Row {
		said := fmt.Sprintf("set aside %s ago, until %s; winnow restore %s", text.Span(time.Since(x.Intent.At)), text.Time(x.Intent.RestoreUntil), x.Intent.ID)
		if x.Bytes != nil && *x.Bytes > 0 {
			said = text.Size(*x.Bytes) + ", " + said
		}
		label := report.Label(decision.Decision{ID: x.Intent.Candidate, Kind: x.Intent.Kind, Label: x.Intent.Label})
		if d := x.Intent.Identity.Dir; d != nil && d.Gone {
			label += " (its entry in the repository)"
		}
		return text.Row{Lead: x.Intent.Kind, Color: p.Yellow, Label: label, Text: said}
	})...)
	fmt.Fprintln(w, TrashTotal(all)+" in the trash; winnow trash empty removes it for good")
}

// TrashTotal says how many acts there are and what they take up.
func TrashTotal(all []document.SetAside) string {
	var sum int64
	unknown := 0
	for _, x := range all {
		if x.Bytes == nil {
			unknown++
		} else {
			sum += *x.Bytes
		}
	}
	out := fmt.Sprintf("%s, %s", text.Plural(len(all), "act"), text.Size(sum))
	if unknown > 0 {
		out += fmt.Sprintf(" and %d of unknown size", unknown)
	}
	return out
}

// Emptied says what was removed for good, and what was not.
func (p Paint) Emptied(w io.Writer, out document.Emptied) {
	fmt.Fprintf(w, "%s removed for good, %s freed\n", text.Plural(len(out.Removed), "act"), text.Size(out.Freed))
	p.Rows(w, text.Map(out.Left, func(l document.Left) text.Row {
		return text.Row{Lead: "left", Color: p.Yellow, Label: l.Act, Text: l.Why}
	})...)
}

// Restored says what was brought back.
func Restored(w io.Writer, back []document.Restored) {
	for _, one := range back {
		fmt.Fprintln(w, "brought back: "+text.Clean(one.Detail))
		if one.Held != nil {
			fmt.Fprintf(w, "  %s: %s lifts the hold\n", Held(*one.Held), text.Clean(one.NextCommand))
		} else if one.Again != "" {
			fmt.Fprintf(w, "  %s: %s\n", text.Clean(one.Again), text.Clean(one.NextCommand))
		}
	}
}
