package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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
	return page{p, new(18)}.write(w, r, all)
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

// sharedNotes says once for each source what keeps things that would go but for that, where the METADATA of the rule has a short message for each.
func sharedNotes(ds []decision.Decision) (out []string) {
	kept, why, kind := map[string]int{}, map[string]string{}, map[string]string{}
	var order []string
	for _, d := range ds {
		m := d.Main
		if len(d.Findings) == 0 || m == nil || m.Once == "" ||
			slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule != m.Rule && o.Rule != decision.RuleDebounce }) {
			continue
		}
		source := strings.TrimPrefix(d.ID[:max(0, strings.LastIndexByte(d.ID, '/'))], d.Kind+":")
		if kept[source] == 0 {
			order = append(order, source)
		}
		kept[source]++
		kind[source] = d.Kind
		why[source] = d.Main.Once
	}
	for _, source := range order {
		out = append(out, fmt.Sprintf("%s of %s would go, but %s", text.Plural(kept[source], kind[source]), source, why[source]))
	}
	return out
}

// UnheardNotes says in one line which agents run that nothing speaks with.
func UnheardNotes(ds []decision.Decision) []string {
	var each []string
	for _, d := range ds {
		if d.Unheard() {
			c := cells(d, time.Time{})
			each = append(each, fmt.Sprintf("%s, %s, %s, in %s", Label(d), c[0], c[1], c[len(c)-1]))
		}
	}
	if len(each) == 0 {
		return nil
	}
	run := []string{"agent runs", "agents run"}[min(len(each), 2)-1]
	return []string{fmt.Sprintf("%d %s that nothing speaks with: %s; winnow cleanup ID ends one", len(each), run, strings.Join(each, "; "))}
}
