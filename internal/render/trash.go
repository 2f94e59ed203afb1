package render

import (
	"fmt"
	"io"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Trash lists what can be brought back.
func (p Paint) Trash(w io.Writer, all []document.SetAside) {
	if len(all) == 0 {
		fmt.Fprintln(w, "the trash is empty")
		return
	}
	var rows []text.Row
	for _, x := range all {
		said := fmt.Sprintf("set aside %s ago, until %s; winnow restore %s", text.Span(time.Since(x.Intent.At)), text.Time(x.Intent.RestoreUntil), x.Intent.ID)
		if x.Bytes != nil && *x.Bytes > 0 {
			said = text.Size(*x.Bytes) + ", " + said
		}
		rows = append(rows, text.Row{Lead: x.Intent.Kind, Color: p.Yellow, Label: trashLabel(x.Act), Text: said})
	}
	p.Rows(w, rows...)
	fmt.Fprintln(w, TrashTotal(all)+" in the trash; winnow trash empty removes it for good")
}

func trashLabel(x ledger.Act) string {
	label := report.Label(decision.Decision{ID: x.Intent.Candidate, Kind: x.Intent.Kind, Label: x.Intent.Label})
	if d := x.Intent.Identity.Dir; d != nil && d.Gone {
		label += " (its entry in the repository)"
	}
	return label
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
		if one.Again != "" {
			fmt.Fprintf(w, "  %s: %s\n", text.Clean(one.Again), text.Clean(one.NextCommand))
		}
	}
}
