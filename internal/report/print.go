package report

import (
	"io"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Formats are the forms in which a report is written.
var Formats = []string{"text", "json", "ndjson", "markdown"}

// Write writes the report in one of Formats; all lists also what is spared.
func (r *Report) Write(w io.Writer, p text.Paint, format string, all bool) error {
	switch format {
	case "json":
		return text.JSON(w, r, "  ")
	case "ndjson":
		return writeNDJSON(w, r)
	case "markdown":
		return writeMarkdown(w, r, all)
	}
	return page{p}.write(w, r, all)
}

// line is one line of ndjson: its type says which of the others is set.
type line struct {
	Type     string             `json:"type"`
	Report   *Report            `json:"report,omitempty"`
	Decision *decision.Decision `json:"decision,omitempty"`
	Act      *decision.Act      `json:"act,omitempty"`
	Alarm    *Alarm             `json:"alarm,omitempty"`
	Worker   *snapshot.Worker   `json:"worker,omitempty"`
}

// writeNDJSON writes the report's head as one line, then a line a decision, an act, an alarm and a worker.
func writeNDJSON(w io.Writer, r *Report) error {
	head := *r
	head.Decisions, head.Acts, head.Alarms = []decision.Decision{}, []decision.Act{}, []Alarm{}
	head.Workers = []snapshot.Worker{}
	lines := []line{{Type: "report", Report: &head}}
	for i := range r.Decisions {
		lines = append(lines, line{Type: "decision", Decision: &r.Decisions[i]})
	}
	for i := range r.Acts {
		lines = append(lines, line{Type: "act", Act: &r.Acts[i]})
	}
	for i := range r.Alarms {
		lines = append(lines, line{Type: "alarm", Alarm: &r.Alarms[i]})
	}
	for i := range r.Workers {
		lines = append(lines, line{Type: "worker", Worker: &r.Workers[i]})
	}
	for _, l := range lines {
		if err := text.JSON(w, l, ""); err != nil {
			return err
		}
	}
	return nil
}
