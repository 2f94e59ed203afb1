package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// History is what winnow history prints as JSON.
type History struct {
	Sweeps []ledger.Sweep `json:"sweeps"`
	Acts   []ledger.Act   `json:"acts"`
}

func newHistory(a *app) *cobra.Command {
	since := span(24 * time.Hour)
	var check bool
	var head string
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Sweeps and acts from the ledger",
		Long: `History shows sweeps and acts from the ledger.

Everything that is written about an act is chained: each entry has a digest over the one before. --verify checks the chain and the acts against it, and
says where they were edited, removed, put in or put into another order by hand. It prints the last link: keep it elsewhere, and a later --verify --head
LINK also tells that nothing before it was rewritten or cut off, which the ledger alone cannot show. A chain that breaks is exit 1.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if head != "" && !check {
				return config.Mistakef("--head needs --verify")
			}
			if check {
				return a.verifyHistory(cmd.Context(), head)
			}
			h := History{Sweeps: []ledger.Sweep{}, Acts: []ledger.Act{}}
			from := time.Now().Add(-time.Duration(since))
			err := a.ReadLedger(func(l *ledger.Ledger) (err error) {
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
	cmd.Flags().BoolVar(&check, "verify", false, "check that the acts are what was written about them")
	cmd.Flags().StringVar(&head, "head", "", "with --verify: a `link` that was kept, which must be in the chain")
	cmd.Flags().Var(&since, "since", "how far back, such as 90m or 2d")
	return cmd
}

// Verified is what winnow history --verify prints as JSON.
type Verified struct {
	Ledger string `json:"ledger"`
	// Holds is false where there are faults.
	Holds bool `json:"holds"`
	ledger.Chain
}

// verifyHistory checks the chain of acts. known is a link that was kept elsewhere, "" for none.
func (a *app) verifyHistory(ctx context.Context, known string) error {
	if known != "" && !aLink.MatchString(known) {
		return config.Mistakef("--head: %.80q is no link: it has 64 hexadecimal digits, as winnow history --verify prints it", known)
	}
	v := Verified{Ledger: a.LedgerPath(), Chain: ledger.Chain{Faults: []ledger.Fault{}}}
	read := false
	err := a.ReadLedger(func(l *ledger.Ledger) (err error) {
		read = true
		v.Chain, err = l.Verify(ctx, known)
		return err
	})
	if err != nil {
		return err
	}
	if !read && known != "" {
		v.Faults = append(v.Faults, ledger.Fault{Problem: "there is no ledger, so the link is not in it: it was removed, or this is another state folder"})
	}
	v.Holds = v.Chain.Holds()
	if err := a.show(v, "  ", func(w io.Writer) { a.verifiedText(w, v) }); err != nil {
		return err
	}
	if !v.Holds {
		return exit.Error{Code: exit.Failed}
	}
	return nil
}

var aLink = regexp.MustCompile(`^\s*[0-9a-fA-F]{64}\s*$`)

func (a *app) verifiedText(w io.Writer, v Verified) {
	p := a.paint
	if v.Holds && v.Head == "" {
		fmt.Fprintf(w, "no act was written down yet; the ledger is %s\n", text.Clean(v.Ledger))
		return
	}
	if v.Holds {
		fmt.Fprintf(w, "the chain holds: %s in %s, and they are what was written\n", text.Plural(v.Acts, "act"), fmt.Sprintf("%d %s", v.Entries, ops.Entries(v.Entries)))
	} else {
		fmt.Fprintf(w, "%s: %s in %s\n", p.Bold("the chain breaks"), text.Plural(v.Acts, "act"), fmt.Sprintf("%d %s", v.Entries, ops.Entries(v.Entries)))
		for _, f := range v.Faults {
			fmt.Fprintf(w, "  %s\n", text.Clean(f.Problem))
		}
		if v.More > 0 {
			fmt.Fprintf(w, "  and %d more\n", v.More)
		}
		fmt.Fprintf(w, "nothing was changed; the ledger is %s\n", text.Clean(v.Ledger))
	}
	if v.Head != "" {
		fmt.Fprintf(w, "the last link is %s\n", text.Clean(v.Head))
	}
}

func (a *app) historyText(w io.Writer, h History, since time.Duration) {
	p := a.paint
	if len(h.Sweeps) == 0 && len(h.Acts) == 0 {
		fmt.Fprintf(w, "nothing in the last %s; the ledger is %s\n", text.Span(since), text.Clean(a.LedgerPath()))
		return
	}
	fmt.Fprintln(w, p.Bold("sweeps"))
	for _, s := range h.Sweeps {
		took := "not finished"
		if s.Finished != nil {
			took = "took " + text.Took(s.Finished.Sub(s.Started))
		}
		fmt.Fprintf(w, "  %s  %-7s  %s  %s\n", text.Time(s.Started), text.Clean(s.Mode), text.Clean(s.ID), p.Dim(took))
	}
	if len(h.Acts) > 0 {
		fmt.Fprintln(w, "\n"+p.Bold("acts"))
	}
	for _, r := range h.Acts {
		out, detail := "open", "cut short; the next sweep --apply finds out how it went"
		if r.Outcome != nil {
			out, detail = r.Outcome.Outcome, report.Aside(decision.Act{ID: r.Intent.ID, Outcome: *r.Outcome})
		}
		said, _, again := strings.Cut(detail, "; winnow restore ")
		switch { // nothing brings back what is no longer in the trash
		case !again:
		case r.PurgedAt != nil:
			detail = said + "; removed for good at " + text.Time(*r.PurgedAt)
		case r.RestoredAt != nil:
			detail = said + "; brought back at " + text.Time(*r.RestoredAt)
		}
		fmt.Fprintf(w, "  %s  %-7s  %s  %s\n", text.Time(r.Intent.At), text.Clean(out), text.Clean(r.Intent.ID),
			text.Clean(report.Label(decision.Decision{ID: r.Intent.Candidate, Kind: r.Intent.Kind, Label: r.Intent.Label})))
		for _, l := range text.Wrap(text.Clean(detail), p.Width-4) {
			fmt.Fprintln(w, "    "+p.Dim(l))
		}
		if r.Intent.Decision != "" {
			fmt.Fprintln(w, "    "+p.Dim("decision "+text.Clean(r.Intent.Decision)))
		}
	}
}
