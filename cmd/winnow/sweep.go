package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/text"
	"winnow/collectors/panes/codev"
	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/policy"
	"winnow/engine/snapshot"
	"winnow/ledger"
)

type sweepFlags struct {
	apply, confirm bool
	show           showFlags
}

// showFlags are what sweep and decide share.
type showFlags struct {
	kinds    []string
	all      bool
	exitCode bool
}

func (f *showFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.kinds, "kind", nil, "only these `kinds`: tab, session, terminal, dir, process")
	cmd.Flags().BoolVar(&f.all, "all", false, "also list what is spared, with every reason")
	cmd.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with 4 when something would be reaped")
}

func (f *showFlags) check() error {
	for _, k := range f.kinds {
		if !slices.Contains(snapshot.KindNames(), k) {
			return config.Mistakef("--kind: unknown kind %q; the nearest is %q", k, text.Nearest(k, snapshot.KindNames()))
		}
	}
	if len(f.kinds) == 0 {
		f.kinds = snapshot.KindNames()
	}
	return nil
}

func newSweep(a *app) *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "See, decide and print; with --apply also act",
		Long: `Sweep looks at everything, decides for each candidate and prints what would go and why. It changes nothing without
--apply. What it saw is remembered all the same, and a later --apply may count it as the first look.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.sweepCommand(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.apply, "apply", false, "carry the decisions out")
	cmd.Flags().BoolVar(&f.confirm, "confirm", false, "with --apply: wait rules.confirm_after and sweep a second time, for sessions, tabs and terminals; processes wait for longer")
	f.show.add(cmd)
	return cmd
}

func (a *app) sweepCommand(ctx context.Context, f sweepFlags) error {
	if err := f.show.check(); err != nil {
		return err
	}
	if f.confirm && !f.apply {
		return config.Mistakef("--confirm needs --apply: without it nothing would be done at the second look")
	}
	e, p, err := a.engine(ctx)
	if err != nil {
		return err
	}
	s, err := a.openSweeper(ctx, e, p, f.apply)
	if err != nil {
		return err
	}
	defer s.close()
	r, err := s.sweep(ctx, f)
	if err != nil {
		return err
	}
	if f.confirm && a.waits(r) {
		if err := r.Write(a.out, a.paint.Paint, a.flags.format, f.show.all); err != nil {
			return err
		}
		if err := a.wait(ctx, config.Seconds(a.cfg.Rules.ConfirmAfter)); err != nil {
			return err
		}
		if r, err = s.sweep(ctx, f); err != nil {
			return err
		}
	}
	if err := r.Write(a.out, a.paint.Paint, a.flags.format, f.show.all); err != nil {
		return err
	}
	if code := r.Code(f.show.exitCode); code != report.ExitDone {
		return codeError{code: code}
	}
	return nil
}

// waits reports whether a second look, rules.confirm_after from now, could reap something that this one could not.
func (a *app) waits(r *report.Report) bool {
	next := r.TakenAt.Add(config.Seconds(a.cfg.Rules.ConfirmAfter))
	return slices.ContainsFunc(r.Decisions, func(d decision.Decision) bool {
		at, known := report.Due(d, r.TakenAt)
		return d.Verdict == decision.Spare && d.Waits() && (!known || !at.After(next))
	})
}

// wait pauses for d, saying so to a person.
func (a *app) wait(ctx context.Context, d time.Duration) error {
	if a.flags.format == "text" {
		a.note("waiting %s for the second look", d)
	}
	select {
	case <-ctx.Done():
		return codeError{report.ExitPart, errors.New("interrupted between two looks; what the first one saw is remembered, nothing more was done")}
	case <-time.After(d):
		return nil
	}
}

// sweeper is one or more sweeps under one lock with one ledger.
type sweeper struct {
	*app
	engine *eval.Engine
	policy *policy.Policy
	ledger *ledger.Ledger
	// broken is why there is no ledger: the look then spares everything and nothing is remembered.
	broken error
	unlock []func() error
}

// openSweeper takes the lock and opens the ledger. Without a ledger nothing may be done, but a dry run still shows what it sees.
func (a *app) openSweeper(ctx context.Context, e *eval.Engine, p *policy.Policy, apply bool) (*sweeper, error) {
	s := &sweeper{app: a, engine: e, policy: p}
	if err := s.lock(ctx, apply); err != nil {
		return nil, err
	}
	if s.broken != nil {
		return s, nil
	}
	l, err := ledger.Open(a.ledgerPath())
	if err != nil {
		if apply {
			s.close()
			return nil, fmt.Errorf("%w; nothing was done", err)
		}
		s.broken = err
		return s, nil
	}
	s.ledger = l
	return s, nil
}

func (s *sweeper) close() {
	if s.ledger != nil {
		if err := s.ledger.Close(); err != nil {
			s.log.Warn("close ledger", "error", err)
		}
	}
	for _, u := range slices.Backward(s.unlock) {
		if err := u(); err != nil {
			s.log.Warn("release lock", "error", err)
		}
	}
}

// sweep is one pass: settle, look, decide, remember, and act when asked to.
func (s *sweeper) sweep(ctx context.Context, f sweepFlags) (*report.Report, error) {
	id, started := ulid.Make().String(), time.Now()
	mem := memory{path: s.ledgerPath(), err: s.broken}
	if s.ledger != nil {
		mem = remember(ctx, s.ledgerPath(), s.ledger)
	}
	mode := report.DryRun
	if f.apply {
		mode = report.Apply
	}
	var settled []decision.Act
	if f.apply {
		var err error
		if settled, err = s.settle(ctx); err != nil {
			return nil, err
		}
	} else if err := s.sayUnsettled(ctx); err != nil {
		return nil, err
	}
	snap, err := s.look(ctx, scope{}, mem)
	if err != nil {
		return nil, err
	}
	res, err := s.engine.Decide(ctx, snap, &s.cfg.Rules.Config)
	if err != nil {
		return nil, fmt.Errorf("decide: %w; nothing was done", err)
	}
	next := eval.Sightings(mem.sightings, snap, res.Decisions)
	r := report.New(mode, id, snap, s.policy, s.ruled(snap), res, f.show.kinds)
	r.Settled = settled
	if s.ledger == nil {
		s.alarms(ctx, r, snap, res.Decisions)
		return r, nil
	}
	mem = s.learn(mem, snap)
	if err := s.record(ctx, id, started, r, snap, next, mem, res.Decisions); err != nil {
		return nil, err
	}
	if f.apply {
		s.act(ctx, r, snap, mem, res, f.show.kinds)
		if ctx.Err() == nil {
			s.purge(ctx, r, snap)
		}
	}
	s.alarms(ctx, r, snap, res.Decisions)
	return r, s.finish(ctx, r, f)
}

// lookOf is what the next look compares its clocks with.
func lookOf(s *snapshot.Snapshot) ledger.Look {
	h := s.Host
	return ledger.Look{
		At: s.TakenAt, BootID: h.BootID, UpSeconds: h.UpSeconds, AwakeSeconds: h.AwakeSeconds,
		SteadySince: h.SteadySince, LastResumeAt: h.LastResumeAt, Asleep: h.Asleep,
	}
}

// learn adds what this look knows of terminals' owners, so that the looks before each act of the sweep know it as well: what one act takes
// away may have been all that says whose the next one is.
func (a *app) learn(mem memory, snap *snapshot.Snapshot) memory {
	mem.owners = codev.Owners(snap, mem.owners, a.cfg.Alarms.Remember)
	return mem
}

// record writes down what was seen and decided, before anything is done about it.
func (s *sweeper) record(ctx context.Context, id string, started time.Time, r *report.Report, snap *snapshot.Snapshot, next map[string]snapshot.Sighting, mem memory, ds []decision.Decision) error {
	sw := ledger.Sweep{ID: id, Started: started, Mode: r.Mode, Revision: r.Policy.Revision, Digest: r.Policy.Digest}
	if err := s.ledger.BeginSweep(ctx, sw); err != nil {
		return fmt.Errorf("record sweep: %w; nothing was done", err)
	}
	if err := s.ledger.SaveDecisions(ctx, id, ds); err != nil {
		return fmt.Errorf("record decisions: %w; nothing was done", err)
	}
	if err := s.ledger.SaveSightings(ctx, next); err != nil {
		return fmt.Errorf("record sightings: %w; nothing was done", err)
	}
	if mem.err == nil { // what could not be read is not written over
		if err := s.ledger.SaveOwners(ctx, mem.owners); err != nil {
			return fmt.Errorf("record owners: %w; nothing was done", err)
		}
	}
	if err := s.ledger.SaveLook(ctx, lookOf(snap)); err != nil {
		return fmt.Errorf("record look: %w; nothing was done", err)
	}
	return nil
}

// ruled names the files that ruled.
func (a *app) ruled(s *snapshot.Snapshot) report.ConfigRef {
	ref := report.ConfigRef{Files: []string{}}
	if a.cfg.File != "" {
		ref.Files = append(ref.Files, a.cfg.File)
	}
	for _, p := range s.Projects {
		ref.Projects = append(ref.Projects, report.ProjectRef{Path: p.Path, File: p.File, State: p.State, Why: p.Why, SHA256: p.SHA256})
		if p.State != snapshot.ProjectUntrusted {
			ref.Files = append(ref.Files, p.File)
		}
	}
	return ref
}
