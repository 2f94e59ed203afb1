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
	var proofs, gaps, claims, read []text.Row
	for _, proof := range x.Proofs {
		row := text.Row{Lead: proof.What, Color: p.Green, Label: proof.Source, Text: proof.Detail}
		if proof.StartTicks != nil {
			row.Rest = snapshot.ProcessID(proof.PID, *proof.StartTicks)
		}
		proofs = append(proofs, row)
	}
	for _, g := range x.Gaps {
		gaps = append(gaps, text.Row{Lead: "gap", Color: p.Yellow, Label: g.Source, Text: g.Why})
	}
	for _, c := range x.Claims {
		claims = append(claims, text.Row{Lead: "said", Color: p.Dim, Label: c.Source, Text: c.Detail})
	}
	for _, r := range x.Read {
		read = append(read, text.Row{Lead: r.Status, Color: p.Dim, Label: r.Source, Text: fmt.Sprintf("it listed %d, and none is a proof", r.Seen)})
	}
	p.Section(w, "what proves it", proofs...)
	p.Section(w, "what could not be read", gaps...)
	p.Section(w, "what proves nothing", claims...)
	if x.State != alive.Alive {
		p.Section(w, "what was asked", read...)
	}
}
