package render

import (
	"io"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/text"
)

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
		var pids []string
		for _, pid := range a.PIDs {
			pids = append(pids, strconv.Itoa(pid))
		}
		row.Lead, row.Color = "runs", p.Green
		row.Text += ": pid " + strings.Join(pids, ", ")
		run = append(run, row)
	}
	p.Rows(w, append(run, rest...)...)
}
