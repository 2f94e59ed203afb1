package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"winnow/actuators"
	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/text"
	"winnow/collectors/processes"
	"winnow/engine/decision"
	"winnow/ledger"
)

func newTrash(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "trash",
		Short: "List what can be brought back, and until when",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			kept, err := a.kept(cmd.Context())
			if err != nil {
				a.note("%v; what follows is what the manifests in the trash say", err)
			}
			return errors.Join(err, list(a, kept, func(w io.Writer) {
				if len(kept) == 0 {
					fmt.Fprintln(w, "the trash is empty")
				}
				var rows []text.Row
				for _, r := range kept {
					rows = append(rows, text.Row{Lead: r.Intent.Kind, Color: a.paint.Yellow,
						Label: report.Label(decision.Decision{ID: r.Intent.Candidate, Kind: r.Intent.Kind, Label: r.Intent.Label}),
						Text:  fmt.Sprintf("until %s; winnow restore %s", r.Intent.RestoreUntil.Local().Format(time.DateTime), r.Intent.ID)})
				}
				a.paint.Rows(w, rows...)
			}))
		},
	}
}

func newRestore(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore ACT",
		Short: "Bring back what an act set aside",
		Long: `Restore brings a folder back to where it was, with its place in its repository; for a tmux session it starts one of the same name
that shows the saved scrollback, for a herdr tab it opens one of the same label and says where the saved text is. It overwrites nothing. ACT is as trash and history print it and may be shortened.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, acts []string) error { return a.restore(cmd.Context(), acts[0]) },
	}
}

func (a *app) restore(ctx context.Context, act string) error {
	s := &sweeper{app: a}
	defer s.close()
	if err := s.lock(ctx, true); err != nil {
		return err
	}
	kept, lost := s.openTrash(ctx)
	var known []string
	byID := map[string]ledger.Act{}
	for _, r := range kept {
		known = append(known, r.Intent.ID)
		byID[r.Intent.ID] = r
	}
	id, err := pick(act, known, "act in the trash")
	if err != nil {
		return errors.Join(lost, err)
	}
	if lost != nil {
		a.note("%v; its manifest says how to bring %s back, and that it was is not recorded", lost, id)
	}
	host, err := processes.Host(a.cfg.Collect.Processes.Root, processes.KnownNames())
	if err != nil {
		return fmt.Errorf("restore %s: %w; nothing was restored", id, err)
	}
	in := byID[id].Intent
	restorer, ok := a.actuators(host, intendedRoots([]decision.Intent{in}))[in.Kind].(actuators.Restorer)
	if !ok {
		return fmt.Errorf("restore %s: a %s cannot be brought back", id, in.Kind)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("restore %s: %w; nothing was restored", id, context.Cause(ctx))
	}
	defer s.hands.take()()
	ctx = context.WithoutCancel(ctx) // half a restore is worse than a late one
	where, err := restorer.Restore(ctx, in)
	part := errors.Is(err, actuators.ErrPart)
	if errors.Is(err, actuators.ErrRefused) && !part {
		return codeError{report.ExitPart, fmt.Errorf("restore %s: %w", id, err)}
	}
	if err != nil && !part {
		return fmt.Errorf("restore %s: %w", id, err)
	}
	if s.ledger != nil { // one that came back in part is in the trash no more either
		if err := s.ledger.MarkRestored(ctx, id, time.Now()); err != nil {
			return fmt.Errorf("record the restore of %s, which was done: %w", id, err)
		}
	}
	if part {
		return codeError{report.ExitPart, fmt.Errorf("restore %s: %w", id, err)}
	}
	return a.say(map[string]string{"restored": id, "candidate": in.Candidate, "detail": where}, "brought back: %s", where)
}
