package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newRestore(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore ACT...",
		Short: "Bring back what acts set aside",
		Long: `Restore brings a folder back to where it was, with its place in its repository; for a tmux session it starts one of the same name
that shows the saved scrollback, for a herdr tab it opens one of the same label and says where the saved text is. It overwrites nothing. ACT is as trash and history print it and may be
shortened. Each act is restored by itself: when one fails, the others are still restored.`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, acts []string) error { return a.restore(cmd.Context(), acts) },
	}
}

func (a *app) restore(ctx context.Context, acts []string) error {
	s := &sweep.Sweeper{Machine: &a.Machine}
	defer s.Close()
	if err := s.Lock(ctx, true, sweep.AskedWait); err != nil {
		return err
	}
	kept, lost := s.OpenTrash(ctx)
	var known []string
	byID := map[string]ledger.Act{}
	for _, r := range kept {
		known = append(known, r.Intent.ID)
		byID[r.Intent.ID] = r
	}
	var ids []string
	var wanted []decision.Intent
	for _, act := range acts {
		id, err := ops.Pick(act, known, ops.Trashed)
		if err != nil { // before anything is brought back
			return errors.Join(lost, err)
		}
		if !slices.Contains(ids, id) {
			ids, wanted = append(ids, id), append(wanted, byID[id].Intent)
		}
	}
	if lost != nil {
		a.Note("%v; the manifests in the trash say how to bring %s back, and that it was is not recorded", lost, strings.Join(ids, ", "))
	}
	host, err := processes.Host(a.Cfg.Collect.Processes.Root, processes.KnownNames())
	if err != nil {
		return fmt.Errorf("restore %s: %w; nothing was restored", strings.Join(ids, ", "), err)
	}
	actuator := a.Actuators(host, sweep.IntendedRoots(wanted))
	defer s.Hands.Begin()()
	var back []sweep.Restored
	var failed error
	code := 0
	for _, in := range wanted {
		one, err := s.RestoreOne(ctx, actuator[in.Kind], in)
		if one != nil {
			back = append(back, *one)
		}
		if err == nil {
			continue
		}
		failed = errors.Join(failed, fmt.Errorf("restore %s: %w", in.ID, err))
		if errors.Is(err, actuators.ErrPart) || errors.Is(err, actuators.ErrRefused) {
			code = max(code, exit.Part)
		} else {
			code = exit.Failed
		}
	}
	if len(back) > 0 {
		failed = errors.Join(a.sayRestored(back), failed)
	}
	if code == exit.Part {
		return exit.Error{Code: exit.Part, Err: failed}
	}
	return failed
}

// sayRestored says what was brought back: for one act an object, for several a list of them.
func (a *app) sayRestored(back []sweep.Restored) error {
	var v any = back
	if len(back) == 1 {
		v = back[0]
	}
	return a.show(v, "", func(w io.Writer) {
		for _, one := range back {
			fmt.Fprintln(w, "brought back: "+text.Clean(one.Detail))
			if one.Again != "" {
				fmt.Fprintf(w, "  %s: %s\n", text.Clean(one.Again), text.Clean(one.NextCommand))
			}
		}
	})
}
