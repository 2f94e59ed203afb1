// Package sweep decides about one look and acts on it: the pipeline, and the only place that acts.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/winnow-reaper/winnow/collectors/dirs/disks"
	"github.com/winnow-reaper/winnow/collectors/panes/codev"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
)

// Sweeper is one or more sweeps under one lock with one ledger.
type Sweeper struct {
	*Machine
	Engine *eval.Engine
	Policy *policy.Policy
	Ledger *ledger.Ledger
	// broken is why there is no ledger: the look then spares everything and nothing is remembered.
	broken error
	unlock []func() error
	kept   kept
	// Seen is what the last sweep looked at.
	Seen *snapshot.Snapshot
	// Later is what is still to be written down of sweeps. It is done when their reports were given, so that no person waits for it.
	Later []func(context.Context)
	// Window, where it is set, gives every candidate a fresh wait after a time in which nothing looked, or the machine slept.
	Window *look.Window
	// Brakes, where it is set, is asked between the decisions and the acts: true has the sweep only observe.
	Brakes func(*snapshot.Snapshot, []decision.Decision) bool
	// Base, where it is set, takes note of what the sweep sees, for later ones that find nothing new.
	Base *look.Fingerprint
	// order has the acts of the sweep begin in one order with what is granted; nil until the first one begins.
	order *ledger.Grants
	// Logger logs the decisions of the sweep under way; nil where none are logged.
	Logger *decisionLogger
}

// OpenSweeper takes the lock, for which it waits that long, and opens the ledger. Without a ledger nothing may be done, but a dry run still shows what it
// sees.
func (m *Machine) OpenSweeper(ctx context.Context, e *eval.Engine, p *policy.Policy, apply bool, wait time.Duration) (*Sweeper, error) {
	s := &Sweeper{Machine: m, Engine: e, Policy: p}
	if err := s.Lock(ctx, apply, wait); err != nil {
		return nil, err
	}
	if s.broken != nil {
		return s, nil
	}
	l, err := ledger.Open(m.LedgerPath())
	if err != nil {
		if apply {
			s.Close()
			return nil, fmt.Errorf("%w; nothing was done", err)
		}
		s.broken = err
		return s, nil
	}
	s.Ledger = l
	return s, nil
}

// Close writes down what was left for after the report, and gives the ledger and the locks back.
func (s *Sweeper) Close() {
	for _, do := range s.Later {
		do(context.Background())
	}
	s.Later = nil
	s.Logger.close()
	if s.order != nil {
		if err := s.order.Close(); err != nil {
			s.Log.Warn("close the order of grants and acts", "error", err)
		}
	}
	if s.Ledger != nil {
		if err := s.Ledger.Close(); err != nil {
			s.Log.Warn("close ledger", "error", err)
		}
	}
	for _, u := range slices.Backward(s.unlock) {
		if err := u(); err != nil {
			s.Log.Warn("release lock", "error", err)
		}
	}
}

// Sweep is one pass: settle, look, decide, remember, and act when asked to.
func (s *Sweeper) Sweep(ctx context.Context, f Options) (*report.Report, error) {
	id, started := ulid.Make().String(), time.Now()
	mem := look.PriorState{Path: s.LedgerPath(), Err: s.broken}
	if s.Ledger != nil {
		mem = s.Remembered(ctx)
		mem.Fresh, mem.Baseline = s.Window, s.Base
	}
	mode := report.DryRun
	if f.Apply {
		mode = report.Apply
	}
	halted := s.Paused()
	if halted != nil {
		f.Apply = false
	}
	var settled []decision.Act
	if mode == report.Apply && halted == nil {
		var err error
		if settled, err = s.Settle(ctx); err != nil {
			return nil, err
		}
	} else if err := s.sayUnsettled(ctx); err != nil {
		return nil, err
	}
	snap, err := s.LookFor(ctx, sources.Scope{}, mem, s.Engine)
	if err == nil && (f.Fetch || s.Cfg.Collect.Dirs.Fetch) {
		snap, err = s.fetched(ctx, snap, mem)
	}
	if err != nil {
		return nil, err
	}
	s.Seen = snap
	mem.Baseline = nil
	if s.Window != nil {
		if s.Window.Why != "" {
			mem.Sightings = nil
		}
		mem.Fresh = nil // the looks before acts count what this one did
	}
	res, err := s.Decide(ctx, snap, mem)
	if err != nil {
		return nil, fmt.Errorf("decide: %w; nothing was done", err)
	}
	if f.Apply && s.Brakes != nil && s.Brakes(snap, res.Decisions) {
		f.Apply, mode = false, report.DryRun
	}
	next := eval.Sightings(mem.Sightings, snap, res.Decisions)
	r := report.New(mode, id, snap, s.Policy, s.Ruled(snap), res, &s.Cfg.Rules.Config, f.Show.Kinds)
	r.Settled = settled
	if halted != nil && mode == report.Apply {
		r.Pause(halted.Error())
	}
	s.SayBundles(r)
	s.AddSizes(ctx, snap, r.Decisions, decision.Decision.Stands) // of what nothing objects to, or the wait alone
	if !f.Apply {
		s.Foresee(ctx, r, snap, mem, res)
	}
	if ids := r.Select(f.Show.Select); ids != nil {
		f.Only = ids
	}
	if s.Ledger == nil {
		past, _ := s.Past(ctx, snap) // no ledger, nothing to read
		r.Held(f.Caps(s.Cfg).Plan(s.Touched(f.Show.Kinds), f.chosen(res.Decisions), past))
		s.Alarms(ctx, r, snap, res.Decisions)
		return r, nil
	}
	mem = s.Learn(mem, snap)
	past, err := s.Past(ctx, snap)
	if err != nil {
		return nil, err
	}
	r.Held(f.Caps(s.Cfg).Plan(s.Touched(f.Show.Kinds), f.chosen(res.Decisions), past))
	if err := s.Record(ctx, started, r, snap, next, mem, res.Decisions); err != nil {
		return nil, err
	}
	s.Logger = s.NewLogger(ctx, r, snap)
	s.Logger.flipped(ctx, res.Decisions)
	if f.Apply {
		s.act(ctx, r, snap, mem, res, past, f)
		if ctx.Err() == nil && f.Only == nil {
			s.purge(ctx, r, snap)
		}
	}
	s.Weigh(context.WithoutCancel(ctx), r)
	s.Alarms(ctx, r, snap, res.Decisions)
	s.Later = append(s.Later, func(ctx context.Context) { s.keepRecording(ctx, r, snap, res.Decisions) }, s.Deliver)
	if s.Base != nil {
		s.Base.Complete(&s.Looker, snap, res.Decisions, r, snap.Holds)
	}
	return r, s.finish(ctx, r, f)
}

// Remembered is the memory for looks that acts rest on.
func (s *Sweeper) Remembered(ctx context.Context) look.PriorState {
	mem := s.LoadPrior(ctx, s.Ledger)
	mem.Reread = func(ctx context.Context) ([]snapshot.Hold, error) { return s.Holds(ctx, s.Ledger) }
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

// Learn adds what this look knows of terminals' owners, of which processes are below agents and of the mounts on which folders lie, so that the looks before each act of the sweep know it as well: what one act takes
// away may have been all that says whose the next one is.
func (m *Machine) Learn(mem look.PriorState, snap *snapshot.Snapshot) look.PriorState {
	mem.Owners = codev.Owners(snap, mem.Owners, m.Cfg.Alarms.Remember)
	mem.Ancestries = subject.Ancestries(snap, &m.Cfg.Rules.Config, mem.Ancestries)
	var err error
	if mem.Mounts, err = disks.Mounted(filepath.Join(m.Cfg.Collect.Processes.Root, "self", "mountinfo"), snap, mem.Mounts); err != nil {
		m.Log.Warn("the mounts on which folders lie are not remembered", "error", err)
	}
	return mem
}

// recordOf is a sweep as the ledger has it.
func (s *Sweeper) recordOf(started time.Time, r *report.Report, host snapshot.Host, speakers map[string]int) ledger.Sweep {
	return ledger.Sweep{ID: r.Sweep, Started: started, Mode: r.Mode, Revision: r.Policy.Revision, Digest: r.Policy.Digest,
		Rules: s.RulesName(os.Environ()), BootID: host.BootID, Sources: speakers}
}

// Record writes down what was seen and decided, before anything is done about it.
func (s *Sweeper) Record(ctx context.Context, started time.Time, r *report.Report, snap *snapshot.Snapshot, next map[string]snapshot.Sighting, mem look.PriorState, ds []decision.Decision) error {
	sw := s.recordOf(started, r, snap.Host, look.Speakers(snap))
	steps := []recordStep{
		{"sweep", func() error { return s.Ledger.BeginSweep(ctx, sw) }},
		{"decisions", func() error { return s.Ledger.SaveDecisions(ctx, r.Sweep, ds) }},
		{"sightings", func() error { return s.Ledger.SaveSightings(ctx, next) }},
	}
	if mem.Err == nil { // what could not be read is not written over
		steps = append(steps,
			recordStep{"owners", func() error { return s.Ledger.SaveOwners(ctx, mem.Owners) }},
			recordStep{"what runs below agents", func() error { return s.Ledger.SaveAncestries(ctx, mem.Ancestries) }},
			recordStep{"the mounts on which folders lie", func() error { return s.Ledger.SaveMounts(ctx, mem.Namespace, mem.Mounts) }},
			recordStep{"which processes are connected", func() error { return s.Ledger.SaveConnected(ctx, snap) }})
	}
	return record(append(steps, recordStep{"look", func() error { return s.Ledger.SaveLook(ctx, lookOf(snap)) }})...)
}

// recordStep writes one thing into the ledger.
type recordStep struct {
	what string
	do   func() error
}

// record takes the steps up to the first that fails.
func record(steps ...recordStep) error {
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("record %s: %w; nothing was done", step.what, err)
		}
	}
	return nil
}

// Ruled names the files that ruled.
func (m *Machine) Ruled(s *snapshot.Snapshot) report.ConfigRef {
	ref := report.ConfigRef{Files: []string{}}
	if m.Cfg.File != "" {
		ref.Files = append(ref.Files, m.Cfg.File)
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
func (s *Sweeper) finish(ctx context.Context, r *report.Report, f Options) error {
	ctx = context.WithoutCancel(ctx)
	if err := s.Ledger.FinishSweep(ctx, r.Sweep, time.Now(), r.Census, r.Code(f.Show.ExitCode)); err != nil {
		return fmt.Errorf("record the end of the sweep: %w", err)
	}
	if err := s.Ledger.Prune(ctx, ledger.Keep{Decisions: keepDecisions, Sweeps: keepSweeps}); err != nil {
		s.Log.Warn("prune ledger", "error", err)
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
	// AskedWait is for what a person or an orchestrator asked for by name.
	AskedWait = 20 * time.Second
	// SweepWait is for a sweep, which says the same a moment later.
	SweepWait = time.Second
	// userLockWait is for an acting sweep of the same user that has another state folder.
	userLockWait = time.Minute
)

// Lock takes the state folder, and for acts the user's lock on this machine, so that one sweep acts at a time. It waits that long for the state folder.
func (s *Sweeper) Lock(ctx context.Context, apply bool, wait time.Duration) error {
	if err := s.TrustState(); err != nil {
		if apply {
			return err
		}
		s.broken = err
		return nil
	}
	unlock, err := s.WaitFor(ctx, wait, "process %d is sweeping; waiting up to %s", func() (func() error, error) {
		return lock.Take(filepath.Join(s.Cfg.State, "lock"))
	})
	var held *lock.Held
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

// WaitFor takes a lock, and while another process has it tries again until the time is over. It says that it waits, in those words, to which it gives the
// holder and the time, when it has waited for a second.
func (s *Sweeper) WaitFor(ctx context.Context, wait time.Duration, words string, take func() (func() error, error)) (func() error, error) {
	began, said := time.Now(), false
	for {
		unlock, err := take()
		var held *lock.Held
		if !errors.As(err, &held) || time.Since(began) >= wait || ctx.Err() != nil {
			return unlock, err
		}
		if !said && held.PID != 0 && time.Since(began) > time.Second {
			said = true
			s.Note(words, held.PID, wait)
		}
		// Two that begin at the same moment both give way, and shall not meet again.
		select {
		case <-ctx.Done():
		case <-time.After(50*time.Millisecond + rand.N(100*time.Millisecond)):
		}
	}
}

func (s *Sweeper) lockUser(ctx context.Context) error {
	unlock, err := s.WaitFor(ctx, userLockWait, "process %d is acting for this user with another state folder; waiting up to %s", s.Acting.Lock)
	if err == nil {
		s.unlock = append(s.unlock, unlock)
		return nil
	}
	s.Close()
	if errors.As(err, new(*lock.Held)) {
		return fmt.Errorf("another sweep of this user is acting: %w", err)
	}
	return fmt.Errorf("%w; nothing was done", err)
}

// Machine looks, judges and acts.
type Machine struct{ look.Looker }

// SeenAgain writes down that all that stood was seen once more.
func (s *Sweeper) SeenAgain(ctx context.Context, started time.Time, r *report.Report, host snapshot.Host, b *look.Fingerprint) error {
	sightings, err := s.Ledger.Sightings(ctx)
	if err != nil {
		return err
	}
	for id, x := range sightings {
		x.LastAt, x.Count = r.TakenAt, x.Count+1
		sightings[id] = x
	}
	look := lookOf(&snapshot.Snapshot{TakenAt: r.TakenAt, Host: host})
	sw := s.recordOf(started, r, host, b.Spoke)
	return record(
		recordStep{"sightings", func() error { return s.Ledger.SaveSightings(ctx, sightings) }},
		recordStep{"look", func() error { return s.Ledger.SaveLook(ctx, look) }},
		recordStep{"sweep", func() error { return s.Ledger.SameSweep(ctx, sw, time.Now(), r.Census, r.Code(false)) }})
}

// Braked is what is remembered for the brakes, without what a person brought back since.
func (s *Sweeper) Braked(ctx context.Context) (m brakes.Memory, err error) {
	if err := s.Ledger.Brakes(ctx, &m); err != nil || len(m.Ended) == 0 {
		return m, err
	}
	first := slices.MinFunc(slices.Collect(maps.Values(m.Ended)), func(x, y brakes.Ended) int { return x.At.Compare(y.At) })
	acts, err := s.Ledger.Acts(ctx, first.At)
	if err != nil {
		return m, err
	}
	var restored []string
	for _, a := range acts {
		if a.RestoredAt != nil {
			restored = append(restored, a.Intent.ID)
		}
	}
	return m.Without(restored), nil
}
