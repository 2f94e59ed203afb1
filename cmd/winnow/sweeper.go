package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/collectors/panes/codev"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
)

// sweeper is one or more sweeps under one lock with one ledger.
type sweeper struct {
	*core
	engine *eval.Engine
	policy *policy.Policy
	ledger *ledger.Ledger
	// broken is why there is no ledger: the look then spares everything and nothing is remembered.
	broken error
	unlock []func() error
	// seen is what the last sweep looked at.
	seen *snapshot.Snapshot
	// later is what is still to be written down of sweeps. It is done when their reports were given, so that no person waits for it.
	later []func(context.Context)
	// window, where it is set, gives every candidate a fresh wait after a time in which nothing looked, or the machine slept.
	window *window
	// brakes, where it is set, is asked between the decisions and the acts: true has the sweep only observe.
	brakes func(*snapshot.Snapshot, []decision.Decision) bool
	// base, where it is set, takes note of what the sweep sees, for later ones that find nothing new.
	base *baseline
	// order has the acts of the sweep begin in one order with what is granted; nil until the first one begins.
	order *ledger.Grants
	// logger logs the decisions of the sweep under way; nil where none are logged.
	logger *decisionLogger
}

// openSweeper takes the lock, for which it waits that long, and opens the ledger. Without a ledger nothing may be done, but a dry run still shows what it
// sees.
func (a *core) openSweeper(ctx context.Context, e *eval.Engine, p *policy.Policy, apply bool, wait time.Duration) (*sweeper, error) {
	s := &sweeper{core: a, engine: e, policy: p}
	if err := s.lock(ctx, apply, wait); err != nil {
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
	for _, do := range s.later {
		do(context.Background())
	}
	s.later = nil
	s.logger.close()
	if s.order != nil {
		if err := s.order.Close(); err != nil {
			s.log.Warn("close the order of grants and acts", "error", err)
		}
	}
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
		mem = s.remembered(ctx)
		mem.fresh, mem.baseline = s.window, s.base
	}
	mode := report.DryRun
	if f.apply {
		mode = report.Apply
	}
	halted := s.paused()
	if halted != nil {
		f.apply = false
	}
	var settled []decision.Act
	if mode == report.Apply && halted == nil {
		var err error
		if settled, err = s.settle(ctx); err != nil {
			return nil, err
		}
	} else if err := s.sayUnsettled(ctx); err != nil {
		return nil, err
	}
	snap, err := s.lookFor(ctx, sources.Scope{}, mem, s.engine)
	if err == nil && (f.fetch || s.cfg.Collect.Dirs.Fetch) {
		snap, err = s.fetched(ctx, snap, mem)
	}
	if err != nil {
		return nil, err
	}
	s.seen = snap
	mem.baseline = nil
	if s.window != nil {
		if s.window.why != "" {
			mem.sightings = nil
		}
		mem.fresh = nil // the looks before acts count what this one did
	}
	res, err := s.engine.Decide(ctx, snap, &s.cfg.Rules.Config)
	if err != nil {
		return nil, fmt.Errorf("decide: %w; nothing was done", err)
	}
	if f.apply && s.brakes != nil && s.brakes(snap, res.Decisions) {
		f.apply, mode = false, report.DryRun
	}
	next := eval.Sightings(mem.sightings, snap, res.Decisions)
	r := report.New(mode, id, snap, s.policy, s.ruled(snap), res, &s.cfg.Rules.Config, f.show.kinds)
	r.Settled = settled
	if halted != nil && mode == report.Apply {
		r.Pause(halted.Error())
	}
	s.sayBundles(r)
	s.measure(ctx, snap, r.Decisions, mayGo)
	if !f.apply {
		s.foresee(ctx, r, snap, mem, res)
	}
	if s.ledger == nil {
		past, _ := s.past(ctx, snap) // no ledger, nothing to read
		r.Held(f.caps(s.cfg).Plan(s.touched(f.show.kinds), f.chosen(res.Decisions), past))
		s.alarms(ctx, r, snap, res.Decisions)
		return r, nil
	}
	mem = s.learn(mem, snap)
	past, err := s.past(ctx, snap)
	if err != nil {
		return nil, err
	}
	r.Held(f.caps(s.cfg).Plan(s.touched(f.show.kinds), f.chosen(res.Decisions), past))
	if err := s.record(ctx, id, started, r, snap, next, mem, res.Decisions); err != nil {
		return nil, err
	}
	s.logger = s.newLogger(ctx, r, snap)
	s.logger.flipped(ctx, res.Decisions)
	if f.apply {
		s.act(ctx, r, snap, mem, res, past, f)
		if ctx.Err() == nil && f.only == nil {
			s.purge(ctx, r, snap)
		}
	}
	s.weigh(context.WithoutCancel(ctx), r)
	s.alarms(ctx, r, snap, res.Decisions)
	s.later = append(s.later, func(ctx context.Context) { s.keepRecording(ctx, r, snap, res.Decisions) }, s.deliver)
	if s.base != nil {
		s.base.complete(s.core, snap, res.Decisions, r, snap.Holds)
	}
	return r, s.finish(ctx, r, f)
}

// remembered is the memory for looks that acts rest on.
func (s *sweeper) remembered(ctx context.Context) memory {
	mem := s.remember(ctx, s.ledger)
	mem.reread = func(ctx context.Context) ([]snapshot.Hold, error) { return s.holds(ctx, s.ledger) }
	return mem
}

// lookOf is what the next look compares its clocks with.
func lookOf(s *snapshot.Snapshot) ledger.Look {
	h := s.Host
	return ledger.Look{
		At: s.TakenAt, BootID: h.BootID, UpSeconds: h.UpSeconds, AwakeSeconds: h.AwakeSeconds,
		SteadySince: h.SteadySince, LastResumeAt: h.LastResumeAt, Asleep: h.Asleep,
	}
}

// learn adds what this look knows of terminals' owners, of which processes are below agents and of the mounts on which folders lie, so that the looks before each act of the sweep know it as well: what one act takes
// away may have been all that says whose the next one is.
func (a *core) learn(mem memory, snap *snapshot.Snapshot) memory {
	mem.owners = codev.Owners(snap, mem.owners, a.cfg.Alarms.Remember)
	mem.descents = subject.Descents(snap, &a.cfg.Rules.Config, mem.descents)
	var err error
	if mem.mounts, err = dirs.Mounted(filepath.Join(a.cfg.Collect.Processes.Root, "self", "mountinfo"), snap, mem.mounts); err != nil {
		a.log.Warn("the mounts on which folders lie are not remembered", "error", err)
	}
	return mem
}

// record writes down what was seen and decided, before anything is done about it.
func (s *sweeper) record(ctx context.Context, id string, started time.Time, r *report.Report, snap *snapshot.Snapshot, next map[string]snapshot.Sighting, mem memory, ds []decision.Decision) error {
	sw := ledger.Sweep{ID: id, Started: started, Mode: r.Mode, Revision: r.Policy.Revision, Digest: r.Policy.Digest,
		Rules: s.rulesName(os.Environ()), BootID: snap.Host.BootID, Sources: speakers(snap)}
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
		if err := s.ledger.SaveDescents(ctx, mem.descents); err != nil {
			return fmt.Errorf("record what runs below agents: %w; nothing was done", err)
		}
		if err := s.ledger.SaveMounts(ctx, mem.mounts); err != nil {
			return fmt.Errorf("record the mounts on which folders lie: %w; nothing was done", err)
		}
	}
	if err := s.ledger.SaveLook(ctx, lookOf(snap)); err != nil {
		return fmt.Errorf("record look: %w; nothing was done", err)
	}
	return nil
}

// ruled names the files that ruled.
func (a *core) ruled(s *snapshot.Snapshot) report.ConfigRef {
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

// finish closes the sweep's record.
func (s *sweeper) finish(ctx context.Context, r *report.Report, f sweepFlags) error {
	ctx = context.WithoutCancel(ctx)
	if err := s.ledger.FinishSweep(ctx, r.Sweep, time.Now(), r.Census, r.Code(f.show.exitCode)); err != nil {
		return fmt.Errorf("record the end of the sweep: %w", err)
	}
	if err := s.ledger.Prune(ctx, ledger.Keep{Decisions: keepDecisions, Sweeps: keepSweeps}); err != nil {
		s.log.Warn("prune ledger", "error", err)
	}
	return nil
}

// keepDecisions and keepSweeps are how many of the latest sweeps the ledger keeps with and without their decisions; what led to
// acts is kept at any age.
const (
	keepDecisions = 200
	keepSweeps    = 10000
)

// How long what needs the lock waits for a sweep that has it. A daemon, a timer and an editor sweep every few seconds, mostly for less than one: who asked for
// one thing by name shall not be sent away for that.
const (
	// askedWait is for what a person or an orchestrator asked for by name.
	askedWait = 20 * time.Second
	// sweepWait is for a sweep, which says the same a moment later.
	sweepWait = time.Second
	// userLockWait is for an acting sweep of the same user that has another state folder.
	userLockWait = time.Minute
)

// lock takes the state folder, and for acts the user's lock on this machine, so that one sweep acts at a time. It waits that long for the state folder.
func (s *sweeper) lock(ctx context.Context, apply bool, wait time.Duration) error {
	if err := s.trustState(); err != nil {
		if apply {
			return err
		}
		s.broken = err
		return nil
	}
	unlock, err := s.waitFor(ctx, wait, "process %d is sweeping; waiting up to %s", func() (func() error, error) {
		return ledger.Lock(filepath.Join(s.cfg.State, "lock"))
	})
	var held *ledger.Held
	switch {
	case errors.As(err, &held):
		return fmt.Errorf("another sweep is running: %w", held)
	case err != nil && apply:
		return fmt.Errorf("%w; nothing was done", err)
	case err != nil:
		s.broken = err
		return nil
	}
	s.unlock = append(s.unlock, unlock)
	if !apply {
		return nil
	}
	return s.lockUser(ctx)
}

// waitFor takes a lock, and while another process has it tries again until the time is over. It says that it waits, in those words, to which it gives the
// holder and the time, when it has waited for a second.
func (s *sweeper) waitFor(ctx context.Context, wait time.Duration, words string, take func() (func() error, error)) (func() error, error) {
	began, said := time.Now(), false
	for {
		unlock, err := take()
		var held *ledger.Held
		if !errors.As(err, &held) || time.Since(began) >= wait || ctx.Err() != nil {
			return unlock, err
		}
		if !said && held.PID != 0 && time.Since(began) > time.Second {
			said = true
			s.note(words, held.PID, wait)
		}
		// Two that begin at the same moment both give way, and shall not meet again.
		select {
		case <-ctx.Done():
		case <-time.After(50*time.Millisecond + rand.N(100*time.Millisecond)):
		}
	}
}

// acting is the lock under which this user's sweeps act. It is zero but in tests, which do not wait for one another.
var acting ledger.Acting

// userDir is where the lock lies that all of a user's programs which close tabs may share: the folder that the login made for this user, or,
// if that is missing, the folder of the lock of acts. A folder that another user could have made does not count.
func (a *core) userDir() string {
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", os.Geteuid())} {
		if _, err := os.Lstat(dir); err == nil && filepath.IsAbs(dir) && ledger.Trusted(dir) == nil {
			return dir
		}
	}
	if dir := a.acting.Folder(); dir != "" && ledger.Trusted(dir) == nil {
		return dir
	}
	return a.cfg.State
}

func (s *sweeper) lockUser(ctx context.Context) error {
	unlock, err := s.waitFor(ctx, userLockWait, "process %d is acting for this user with another state folder; waiting up to %s", s.acting.Lock)
	if err == nil {
		s.unlock = append(s.unlock, unlock)
		return nil
	}
	s.close()
	if errors.As(err, new(*ledger.Held)) {
		return fmt.Errorf("another sweep of this user is acting: %w", err)
	}
	return fmt.Errorf("%w; nothing was done", err)
}
