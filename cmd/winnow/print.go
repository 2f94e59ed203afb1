package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"winnow/engine/decision"
	"winnow/engine/snapshot"
	"winnow/internal/plain"
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

// writeJSON writes v over several lines, as the JSON documents are; encode writes it on one.
func writeJSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// encode writes v as JSON that a terminal can be shown: what plain.Line escapes is written as \uXXXX, which means the same.
func encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(plain.JSON(b.Bytes()))
	return err
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
		if err := encode(w, l, ""); err != nil {
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
		for _, it := range items {
			if err := encode(a.out, it, ""); err != nil {
				return err
			}
		}
		return nil
	}
	text(a.out)
	return nil
}

// say prints a sentence as text, or v as JSON. What stands in args is cleaned; the line breaks of format stay.
func (a *app) say(v any, format string, args ...any) error {
	if a.flags.format == "json" || a.flags.format == "ndjson" {
		return encode(a.out, v, "")
	}
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = clean(s)
		}
	}
	_, err := fmt.Fprintf(a.out, format+"\n", args...)
	return err
}
