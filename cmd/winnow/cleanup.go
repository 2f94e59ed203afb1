package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newCleanup(a *app) *cobra.Command {
	var safe, mine bool
	cmd := &cobra.Command{
		Use:   "cleanup ID --safe [--mine]",
		Short: "Close one finished worker's session, or reap one candidate, now",
		Long: `Cleanup closes the one session that a registry records for a worker that has ended, when nothing keeps it. Or it reaps one other
candidate. It uses the rules and the floor of a sweep, but needs no second look: a person has looked, and asks
for this one thing. A process that was at work since an earlier look is kept all the same.
When it refuses, it says why and touches nothing. It never touches branches and worktrees for a session.
ID is as sweep --all prints it, or the worker's id in its registry.

A worktree that no rule finds a reason for goes with --mine, by which you say that it is yours and may go: only one that is your user's,
given by its whole id (dir:/path), in which there is nothing that is not in its repository, and that nothing keeps. Its commits stay,
and winnow restore brings it back.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if !safe {
				return config.Mistakef("only --safe is offered: winnow cleanup %s --safe closes it when no rule objects", text.Quote(ids[0]))
			}
			if mine && !strings.HasPrefix(ids[0], snapshot.KindDir+":") {
				return config.Mistakef("--mine is for a worktree by its whole id: winnow cleanup dir:/path --safe --mine")
			}
			return a.cleanup(cmd.Context(), ids[0], mine)
		},
	}
	cmd.Flags().BoolVar(&safe, "safe", false, "only where no rule objects")
	cmd.Flags().BoolVar(&mine, "mine", false, "a worktree that holds nothing is yours, and may go: your word is reason enough")
	return cmd
}

// Cleaned is what winnow cleanup prints as JSON when it did it.
type Cleaned struct {
	Cleaned string        `json:"cleaned"`
	Worker  string        `json:"worker,omitempty"`
	Act     *decision.Act `json:"act"`
	// Settled are acts of an earlier sweep that was cut short, with how they went in the end.
	Settled []decision.Act `json:"settled,omitempty"`
}

func (a *app) cleanup(ctx context.Context, arg string, mine bool) error {
	e, p, err := a.Engine(ctx)
	if err != nil {
		return err
	}
	s, err := a.OpenSweeper(ctx, e, p, true, sweep.AskedWait)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Halted(); err != nil {
		return fmt.Errorf("%w; nothing was closed", err)
	}
	started := time.Now()
	settled, err := s.Settle(ctx)
	if err != nil {
		return err
	}
	mem := s.Remembered(ctx)
	snap, err := s.LookFor(ctx, sources.Scope{}, mem, s.Engine)
	if err != nil {
		return err
	}
	if err := a.PartInFull(ctx, snap, arg); err != nil {
		return fmt.Errorf("look into %s: %w; nothing was closed", arg, err)
	}
	t, no, err := a.FindTarget(ctx, snap, arg)
	if err != nil {
		return err
	}
	if mine && no == nil && t.Id != arg { // another one that merely has this in its name
		return config.Mistakef("--mine needs the whole id of a worktree, and %s was not found; nothing was done", arg)
	}
	t.Mine = mine
	snap.Asked = t.Word()
	if no != nil {
		return a.refuse(*no)
	}
	if err := a.InFull(ctx, snap, t.Id); err != nil {
		return fmt.Errorf("look into %s: %w; nothing was closed", t.Id, err)
	}
	res, err := s.Engine.Decide(ctx, snap, &s.Cfg.Rules.Config)
	if err != nil {
		return fmt.Errorf("decide: %w; nothing was closed", err)
	}
	if no = a.Closable(t, snap, res.Decisions...); no != nil {
		return a.refuse(*no)
	}
	d, no := t.Verdict(res, s.Cfg.Act.Kinds)
	if no != nil {
		return a.refuse(*no)
	}
	r := report.New(report.Cleanup, ulid.Make().String(), snap, p, a.Ruled(snap), res, &a.Cfg.Rules.Config, snapshot.KindNames())
	mem = s.Learn(mem, snap)
	if err := s.Record(ctx, r.Sweep, started, r, snap, eval.Sightings(mem.Sightings, snap, res.Decisions), mem, res.Decisions); err != nil {
		return err
	}
	s.Logger = s.NewLogger(ctx, r, snap)
	s.Later = append(s.Later, s.Deliver)
	act := s.ActOn(ctx, r.Sweep, snap, t, d)
	if err := s.Ledger.NoteActs(context.WithoutCancel(ctx), r.TakenAt, []decision.Act{act}, sweep.Identities([]decision.Decision{d})); err != nil {
		s.Log.Warn("note acts", "error", err)
	}
	no, code := t.Undone(act), exit.Done
	if no != nil {
		code = no.Code
	}
	if err := s.Ledger.FinishSweep(context.WithoutCancel(ctx), r.Sweep, time.Now(), r.Census, code); err != nil {
		return fmt.Errorf("record the end of the cleanup: %w", err)
	}
	if no != nil {
		return a.refuse(*no)
	}
	return a.cleaned(t, act, settled)
}

// cleaned says what was done.
func (a *app) cleaned(t sweep.Asked, act decision.Act, settled []decision.Act) error {
	out := Cleaned{Cleaned: t.Id, Act: &act, Settled: settled}
	if own := t.Own(); own != nil {
		out.Worker = own.ID
	}
	return a.show(out, "", func(w io.Writer) {
		report.Acts(w, a.paint.Paint, "settled: acts that an earlier sweep was cut short in", settled)
		report.Acts(w, a.paint.Paint, "acts", []decision.Act{act})
	})
}
