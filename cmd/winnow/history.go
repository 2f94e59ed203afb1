package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/text"
	"winnow/engine/decision"
	"winnow/ledger"
)

// History is what winnow history prints as JSON.
type History struct {
	Sweeps []ledger.Sweep `json:"sweeps"`
	Acts   []ledger.Act   `json:"acts"`
}

func newHistory(a *app) *cobra.Command {
	since := span(24 * time.Hour)
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Sweeps and acts from the ledger",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h := History{Sweeps: []ledger.Sweep{}, Acts: []ledger.Act{}}
			from := time.Now().Add(-time.Duration(since))
			err := a.readLedger(func(l *ledger.Ledger) (err error) {
				if h.Sweeps, err = l.Sweeps(cmd.Context(), from); err != nil {
					return err
				}
				h.Acts, err = l.Acts(cmd.Context(), from)
				return err
			})
			if err != nil {
				return err
			}
			return a.show(h, "  ", func(w io.Writer) { a.historyText(w, h, time.Duration(since)) })
		},
	}
	cmd.Flags().Var(&since, "since", "how far back, such as 90m or 2d")
	return cmd
}

func (a *app) historyText(w io.Writer, h History, since time.Duration) {
	p := a.paint
	if len(h.Sweeps) == 0 && len(h.Acts) == 0 {
		fmt.Fprintf(w, "nothing in the last %s; the ledger is %s\n", text.Span(since), text.Clean(a.ledgerPath()))
		return
	}
	fmt.Fprintln(w, p.Bold("sweeps"))
	for _, s := range h.Sweeps {
		took := "not finished"
		if s.Finished != nil {
			took = "took " + text.Span(s.Finished.Sub(s.Started))
		}
		fmt.Fprintf(w, "  %s  %-7s  %s  %s\n", text.Time(s.Started), text.Clean(s.Mode), text.Clean(s.ID), p.Dim(took))
	}
	if len(h.Acts) > 0 {
		fmt.Fprintln(w, "\n"+p.Bold("acts"))
	}
	for _, r := range h.Acts {
		out, detail := "open", "cut short; the next sweep --apply finds out how it went"
		if r.Outcome != nil {
			out, detail = r.Outcome.Outcome, r.Outcome.Detail
		}
		fmt.Fprintf(w, "  %s  %-7s  %s  %s\n", text.Time(r.Intent.At), text.Clean(out), text.Clean(r.Intent.ID),
			text.Clean(report.Label(decision.Decision{ID: r.Intent.Candidate, Kind: r.Intent.Kind, Label: r.Intent.Label})))
		for _, l := range text.Wrap(text.Clean(detail), p.Width-4) {
			fmt.Fprintln(w, "    "+p.Dim(l))
		}
	}
}
