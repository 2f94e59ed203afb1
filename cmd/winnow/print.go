package main

import (
	"encoding/json"
	"fmt"
	"io"

	"winnow/engine/decision"
	"winnow/engine/snapshot"
)

// print writes a report in the form that --format asks for.
func (a *app) print(r *Report, show showFlags) error {
	switch a.flags.format {
	case "json":
		return writeJSON(a.out, r)
	case "ndjson":
		return writeNDJSON(a.out, r)
	case "markdown":
		return writeMarkdown(a.out, r, show.all)
	}
	return a.writeText(r, show.all)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
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
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
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
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// list prints values as text by the given function, or in the other forms as they are.
func list[T any](a *app, items []T, text func(io.Writer)) error {
	if items == nil {
		items = []T{}
	}
	switch a.flags.format {
	case "json":
		return writeJSON(a.out, items)
	case "ndjson":
		enc := json.NewEncoder(a.out)
		for _, it := range items {
			if err := enc.Encode(it); err != nil {
				return err
			}
		}
		return nil
	}
	text(a.out)
	return nil
}

// say prints a sentence as text, or v as JSON.
func (a *app) say(v any, format string, args ...any) error {
	if a.flags.format == "json" || a.flags.format == "ndjson" {
		return json.NewEncoder(a.out).Encode(v)
	}
	_, err := fmt.Fprintf(a.out, format+"\n", args...)
	return err
}
