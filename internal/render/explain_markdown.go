package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// ExplanationMarkdown is an explanation for a pull request or a chat: the verdict and what would turn it first, the facts folded.
func ExplanationMarkdown(w io.Writer, x document.Explanation) {
	verdict := "stays"
	if x.Verdict == decision.Reap {
		verdict = "would be reaped"
	}
	fmt.Fprintf(w, "# %s %s\n\n%s, policy %s\n", termsafe.Code(x.ID), verdict, x.TakenAt.Format(time.RFC3339), termsafe.Code(cmp.Or(x.Policy.Revision, x.Policy.Digest)))
	if x.Main != nil {
		fmt.Fprintf(w, "\n%s.\n", termsafe.Cell(x.Main.Message))
	}
	if x.Error != "" {
		fmt.Fprintf(w, "\n> **error** %s\n", termsafe.Cell(x.Error))
	}
	for _, note := range x.Notes {
		fmt.Fprintf(w, "\n%s.\n", termsafe.Cell(note))
	}
	counterfactualMarkdown(w, x.WouldChange)
	firedMarkdown(w, "Why it may go", x.Findings)
	firedMarkdown(w, "Why it stays", x.Objections)
	if len(x.Sources) > 0 {
		fmt.Fprint(w, "\n## Sources\n\n| source | status | error |\n|---|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(x.Sources)) {
			s := x.Sources[name]
			fmt.Fprintf(w, "| %s | %s | %s |\n", termsafe.Code(name), termsafe.Cell(cmp.Or(s.Status, "missing")), termsafe.Cell(s.Error))
		}
	}
}

func counterfactualMarkdown(w io.Writer, o *decision.Counterfactual) {
	if o == nil {
		return
	}
	fmt.Fprint(w, "\n## What would have to be different\n")
	if len(o.Ways) == 0 {
		fmt.Fprintf(w, "\n%s.\n", termsafe.Cell(report.Counterfactual(o)))
		return
	}
	would := "go"
	if o.Verdict == decision.Spare {
		would = "stay"
	}
	fmt.Fprintf(w, "\nEach of these was found by search and decided again (%d decisions). It would %s\n\n", o.Decided, would)
	for _, way := range o.Ways {
		fmt.Fprintf(w, "- if %s\n", termsafe.Code(report.Way(way)))
	}
}

func firedMarkdown(w io.Writer, title string, fired []explain.Fired) {
	for i, f := range fired {
		if i == 0 {
			fmt.Fprintf(w, "\n## %s\n", title)
		}
		fmt.Fprintf(w, "\n**%s** %s: %s\n", termsafe.Cell(f.Rule), termsafe.Code(fmt.Sprintf("%s:%d", f.File, f.Line)), termsafe.Cell(f.Message))
		if f.Level != "" {
			fmt.Fprintf(w, "\nIts level is %s.\n", termsafe.Cell(f.Level))
		}
		if len(f.Facts) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n<details><summary>%d facts</summary>\n\n| fact | value | source |\n|---|---|---|\n", len(f.Facts))
		for _, fact := range f.Facts {
			shown := "not known"
			if !fact.Unknown {
				shown = termsafe.Code(value(fact.Value))
			}
			fmt.Fprintf(w, "| %s | %s | %s |\n", termsafe.Code(fact.Fact), shown, termsafe.Cell(origin(fact)))
		}
		fmt.Fprint(w, "\n</details>\n")
	}
}
