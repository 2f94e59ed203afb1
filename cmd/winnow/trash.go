package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newTrash(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trash",
		Short: "List what can be brought back, how large it is, and until when",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			kept, err := a.Kept(cmd.Context())
			if err != nil {
				a.Note("%v; what follows is what the manifests in the trash say", err)
			}
			all := a.Sized(cmd.Context(), kept)
			return errors.Join(err, list(a, all, func(w io.Writer) { a.trashText(w, all) }))
		},
	}
	cmd.AddCommand(newTrashEmpty(a))
	return cmd
}

func (a *app) trashText(w io.Writer, all []sweep.SetAside) {
	if len(all) == 0 {
		fmt.Fprintln(w, "the trash is empty")
		return
	}
	var rows []text.Row
	for _, x := range all {
		said := fmt.Sprintf("set aside %s ago, until %s; winnow restore %s", text.Span(time.Since(x.Intent.At)), text.Time(x.Intent.RestoreUntil), x.Intent.ID)
		if x.Bytes != nil && *x.Bytes > 0 {
			said = text.Size(*x.Bytes) + ", " + said
		}
		rows = append(rows, text.Row{Lead: x.Intent.Kind, Color: a.paint.Yellow, Label: trashLabel(x.Act), Text: said})
	}
	a.paint.Rows(w, rows...)
	fmt.Fprintln(w, total(all)+" in the trash; winnow trash empty removes it for good")
}

func trashLabel(x ledger.Act) string {
	label := report.Label(decision.Decision{ID: x.Intent.Candidate, Kind: x.Intent.Kind, Label: x.Intent.Label})
	if d := x.Intent.Identity.Dir; d != nil && d.Gone {
		label += " (its entry in the repository)"
	}
	return label
}

// total says how many acts there are and what they take up.
func total(all []sweep.SetAside) string {
	var sum int64
	unknown := 0
	for _, x := range all {
		if x.Bytes == nil {
			unknown++
		} else {
			sum += *x.Bytes
		}
	}
	out := fmt.Sprintf("%s, %s", text.Plural(len(all), "act"), text.Size(sum))
	if unknown > 0 {
		out += fmt.Sprintf(" and %d of unknown size", unknown)
	}
	return out
}

// emptied is what trash empty removed and what it left.
type emptied struct {
	Removed []report.Purged `json:"removed"`
	Left    []left          `json:"left"`
	// Freed is how many bytes came free.
	Freed int64 `json:"freed_bytes"`
}

// left is an act whose things were not removed, and why.
type left struct {
	Act       string `json:"act"`
	Candidate string `json:"candidate"`
	Why       string `json:"why"`
}

func newTrashEmpty(a *app) *cobra.Command {
	var older string
	var yes bool
	cmd := &cobra.Command{
		Use:   "empty",
		Short: "Remove for good what was set aside",
		Long: `Empty removes what lies in the trash for good, before its time: nothing brings it back. What a process uses, and what was changed since it
was set aside, stays, and is named. On a terminal it asks first; everywhere else it wants --yes.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.emptyTrash(cmd.Context(), older, yes) },
	}
	cmd.Flags().StringVar(&older, "older", "", "only what was set aside at least so long ago, such as 1d or 12h")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) emptyTrash(ctx context.Context, older string, yes bool) error {
	var least time.Duration
	if older != "" {
		var err error
		if least, err = config.Duration(older); err != nil || least < 0 {
			return config.Mistakef("--older: %q is no duration: write 12h or 1d; nothing was removed", older)
		}
	}
	if err := a.Halted(); err != nil {
		return fmt.Errorf("%w; nothing was removed", err)
	}
	kept, err := a.Kept(ctx)
	if err != nil {
		a.Note("%v; what lies in the trash is what its manifests say", err)
	}
	younger := len(kept)
	kept = slices.DeleteFunc(kept, func(x ledger.Act) bool { return time.Since(x.Intent.At) < least })
	younger -= len(kept)
	all := a.Sized(ctx, kept)
	if len(all) > 0 && !yes {
		if err := a.consent(all); err != nil {
			return err
		}
	}
	out := emptied{Removed: []report.Purged{}, Left: []left{}}
	if len(all) > 0 {
		if err := a.removeAll(ctx, all, &out); err != nil {
			return err
		}
	}
	err = a.show(out, "  ", func(w io.Writer) {
		switch {
		case len(all) > 0:
			fmt.Fprintf(w, "%s removed for good, %s freed\n", text.Plural(len(out.Removed), "act"), text.Size(out.Freed))
		case younger > 0:
			fmt.Fprintf(w, "nothing was removed: %s in the trash, younger than %s\n", text.Plural(younger, "act"), text.Span(least))
		default:
			fmt.Fprintln(w, "nothing was removed: the trash is empty")
		}
		var rows []text.Row
		for _, l := range out.Left {
			rows = append(rows, text.Row{Lead: "left", Color: a.paint.Yellow, Label: l.Act, Text: l.Why})
		}
		a.paint.Rows(w, rows...)
	})
	if err == nil && len(out.Left) > 0 {
		return exit.Error{Code: exit.Part}
	}
	return err
}

// consent asks a person at a terminal; anywhere else it refuses.
func (a *app) consent(all []sweep.SetAside) error {
	if a.json() || !term.IsTerminal(os.Stdin.Fd()) {
		return config.Mistakef("%s would be removed for good, and nothing brings it back: say --yes if that is right; nothing was removed", total(all))
	}
	a.trashText(a.errOut, all)
	fmt.Fprintf(a.errOut, "remove %s for good? [y/N] ", total(all))
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the answer: %w; nothing was removed", err)
		}
		return exit.Error{Code: exit.Failed, Err: errors.New("nothing was removed")}
	}
	return nil
}

// removeAll removes each by the rules of purging: only what is unchanged and that no process uses.
func (a *app) removeAll(ctx context.Context, all []sweep.SetAside, out *emptied) error {
	s := &sweep.Sweeper{Machine: &a.Machine}
	defer s.Close()
	if err := s.Lock(ctx, true, sweep.AskedWait); err != nil {
		return err
	}
	still, lost := s.OpenTrash(ctx)
	if lost != nil {
		a.Note("%v; that something was removed is not recorded", lost)
	}
	var intents []decision.Intent
	for _, x := range all {
		intents = append(intents, x.Intent)
	}
	host, err := processes.Host(a.Cfg.Collect.Processes.Root, processes.KnownNames())
	if err != nil {
		return fmt.Errorf("empty the trash: %w; nothing was removed", err)
	}
	byKind := a.Actuators(host, sweep.IntendedRoots(intents))
	defer s.Hands.Begin()()
	for _, x := range all {
		in := x.Intent
		if !slices.ContainsFunc(still, func(k ledger.Act) bool { return k.Intent.ID == in.ID }) {
			continue // somebody else brought it back or removed it meanwhile
		}
		freed, err := s.RemoveOne(ctx, byKind[in.Kind], in)
		if err != nil {
			out.Left = append(out.Left, left{in.ID, in.Candidate, err.Error()})
			continue
		}
		out.Removed = append(out.Removed, report.Purged{Act: in.ID, Candidate: in.Candidate, Bytes: freed})
		out.Freed += freed
	}
	return nil
}
