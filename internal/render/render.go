// Package render writes documents as text and markdown.
package render

import (
	"fmt"
	"io"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/internal/document"
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
	var rows []text.Row
	for _, x := range trail {
		rows = append(rows, text.Row{Lead: x.Answer, Color: color[x.Answer], Label: x.Question, Text: x.Detail})
	}
	p.Section(w, "what became of closing it", rows...)
}
