package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Held notes what the caps hold back.
func (r *Report) Held(p actuators.Plan) {
	r.Caps = append(r.Caps, p.Caps...)
	for _, waiting := range p.Wait {
		r.HeldBack += len(waiting)
	}
}

// Stopped reports whether something looks like an accident, so that nothing of a kind is done.
func (r *Report) Stopped(kind string) bool {
	return slices.ContainsFunc(r.Caps, func(c decision.Cap) bool { return c.Kind == kind && c.Stops })
}

// heldBack says of so many that would be reaped what one sweep does and what lifts the caps; "" where they hold nothing back.
func (r *Report) heldBack(reap int) string {
	if r.HeldBack == 0 {
		return ""
	}
	var lifts []string
	for _, c := range r.Caps {
		if !slices.Contains(lifts, c.Lift) {
			lifts = append(lifts, c.Lift)
		}
	}
	does := "this sweep does none of them"
	if n := reap - r.HeldBack; n > 0 {
		does = fmt.Sprintf("this sweep does the oldest %d, the rest wait", n)
	}
	return fmt.Sprintf("; %s (%s lifts this)", does, strings.Join(lifts, " "))
}

// capsText says of each cap what it holds back, and the flag that lifts it.
func (p page) capsText(w io.Writer, r *Report) {
	var rows []text.Row
	for _, c := range r.Caps {
		row := text.Row{Lead: "slice", Color: p.Yellow, Label: CapLabel(c), Text: CapText(c)}
		if c.Stops {
			row.Lead, row.Color = "stop", p.Red
		}
		rows = append(rows, row)
	}
	p.Section(w, "caps", rows...)
}

// CapLabel says how many of what a cap holds back.
func CapLabel(c decision.Cap) string {
	kind, _ := snapshot.KindOf(c.Kind)
	if c.Held == 1 {
		return "1 " + kind.Name
	}
	return fmt.Sprintf("%d %s", c.Held, kind.Plural)
}

// CapText is one line about a cap. It says what this cap alone holds back: how many go in the end is decided by all of them together, and the first
// line of a report says it.
func CapText(c decision.Cap) string {
	if c.Stops {
		return fmt.Sprintf("%s: nothing of this kind goes. Look at what is wanted; winnow sweep --apply %s lets it through once", c.Why, c.Lift)
	}
	return fmt.Sprintf("%s: it holds back %d, the youngest, for later sweeps; %s lifts this for one sweep", c.Why, c.Held, c.Lift)
}

// capsMarkdown is capsText for a pull request or a chat.
func capsMarkdown(w io.Writer, r *Report) {
	for i, c := range r.Caps {
		if i == 0 {
			fmt.Fprint(w, "\n## caps\n\n| cap | held | why |\n|---|---|---|\n")
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", termsafe.Code(c.Cap), termsafe.Cell(CapLabel(c)), termsafe.Cell(CapText(c)))
	}
}
