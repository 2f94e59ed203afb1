package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Replay is what winnow policy replay prints as JSON.
type Replay struct {
	Schema string           `json:"schema"`
	Policy report.PolicyRef `json:"policy"`
	// Same is true when every recorded sweep was decided as it was then.
	Same   bool            `json:"same"`
	Sweeps []ReplayedSweep `json:"sweeps"`
}

// ReplayedSweep is a recorded sweep that was decided again. Ids are stand-ins, as in the recording.
type ReplayedSweep struct {
	Sweep string `json:"sweep"`
	// Policy is what decided then, and Decisions counts what it decided.
	Policy    report.PolicyRef `json:"policy"`
	Decisions int              `json:"decisions"`
	// Differ are the candidates that are decided otherwise now.
	Differ []ChangedDecision `json:"differ"`
}

// ChangedDecision is a candidate that was decided one way and is decided in another. Either is absent where the candidate was not in scope.
type ChangedDecision struct {
	ID  string            `json:"id"`
	Was *recorded.Decided `json:"was,omitempty"`
	Now *recorded.Decided `json:"now,omitempty"`
}

func (p Paint) ReplayText(w io.Writer, r Replay, by *policy.Policy) {
	decisions, other := 0, 0
	for _, s := range r.Sweeps {
		decisions += s.Decisions
		if s.Policy.Digest != by.Digest {
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
