package render

import (
	"fmt"
	"io"

	"github.com/winnow-reaper/winnow/engine/alive"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Alive says whether anything is alive, and what proves it.
func (p Paint) Alive(w io.Writer, x alive.Answer) {
	state := p.Yellow(x.State)
	switch x.State {
	case alive.Alive:
		state = p.Green(x.State)
	case alive.NotAlive:
		state = p.Red("not alive")
	}
	p.Sentence(w, p.Bold(text.Clean(x.ID))+" "+state+": "+text.Clean(x.Why))
	section := func(title string, n int, row func(i int) text.Row) {
		if n == 0 {
			return
		}
		fmt.Fprintf(w, "\n%s\n", p.Bold(title))
		var rows []text.Row
		for i := range n {
			rows = append(rows, row(i))
		}
		p.Rows(w, rows...)
	}
	section("what proves it", len(x.Proofs), func(i int) text.Row {
		proof := x.Proofs[i]
		row := text.Row{Lead: proof.What, Color: p.Green, Label: proof.Source, Text: proof.Detail}
		if proof.StartTicks != nil {
			row.Rest = snapshot.ProcessID(proof.PID, *proof.StartTicks)
		}
		return row
	})
	section("what could not be read", len(x.Gaps), func(i int) text.Row {
		return text.Row{Lead: "gap", Color: p.Yellow, Label: x.Gaps[i].Source, Text: x.Gaps[i].Why}
	})
	section("what proves nothing", len(x.Claims), func(i int) text.Row {
		return text.Row{Lead: "said", Color: p.Dim, Label: x.Claims[i].Source, Text: x.Claims[i].Detail}
	})
	if x.State == alive.Alive {
		return
	}
	section("what was asked", len(x.Read), func(i int) text.Row {
		r := x.Read[i]
		return text.Row{Lead: r.Status, Color: p.Dim, Label: r.Source, Text: fmt.Sprintf("it listed %d, and none is a proof", r.Seen)}
	})
}
