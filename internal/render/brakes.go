package render

import (
	"fmt"
	"io"

	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/text"
)

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
	var rows []text.Row
	for _, b := range all {
		rows = append(rows, text.Row{Lead: "brake", Color: p.Red, Label: b.Rule, Text: text.Time(b.At) + ": " + b.Message})
	}
	p.Rows(w, rows...)
	fmt.Fprintln(w, "winnow brakes release lets the daemon act again")
}
