package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Replay says which recorded sweeps are decided otherwise now.
func (p Paint) Replay(w io.Writer, r document.Replay) {
	decisions, other := 0, 0
	for _, s := range r.Sweeps {
		decisions += s.Decisions
		if s.Policy.Digest != r.Policy.Digest {
			other++
		}
	}
	what := fmt.Sprintf("%s with %s decided again", text.Plural(len(r.Sweeps), "recorded sweep"), text.Plural(decisions, "decision"))
	if r.Same {
		p.Sentence(w, what+": "+p.Green("all are the same")+".")
	} else {
		p.Sentence(w, what+": "+p.Yellow("not all are the same")+".")
	}
	if other > 0 {
		p.Sentence(w, fmt.Sprintf("Other policies than now decided %s of them then.", text.Plural(other, "sweep")))
	}
	for _, s := range r.Sweeps {
		if len(s.Differ) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s  %s\n", p.Bold(text.Clean(s.Sweep)), p.Dim(text.Clean(s.Policy.Revision)))
		var rows []text.Row
		for _, d := range s.Differ {
			rows = append(rows, text.Row{Lead: verdictOf(d.Was) + " -> " + verdictOf(d.Now), Label: d.ID, Text: "was: " + spokenBy(d.Was) + "; now: " + spokenBy(d.Now)})
		}
		p.Rows(w, rows...)
	}
}

func verdictOf(d *recorded.Decided) string {
	switch {
	case d == nil:
		return "-"
	case d.Verdict == decision.Reap:
		return "reap"
	}
	return "keep"
}

// spokenBy are the rules that spoke.
func spokenBy(d *recorded.Decided) string {
	if d == nil {
		return "no rule claimed it"
	}
	all := slices.Concat(d.Findings, d.Objections)
	if len(all) == 0 {
		return "no reason"
	}
	return strings.Join(all, ", ")
}
