package render

import (
	"fmt"
	"io"

	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/text"
)

// trailText shows the answers.
func (p Paint) trailText(w io.Writer, trail []ops.Answer) {
	if len(trail) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("what became of closing it"))
	color := map[string]func(string) string{"yes": p.Green, "no": p.Yellow, "unknown": p.Dim}
	var rows []text.Row
	for _, x := range trail {
		rows = append(rows, text.Row{Lead: x.Answer, Color: color[x.Answer], Label: x.Question, Text: x.Detail})
	}
	p.Rows(w, rows...)
}
