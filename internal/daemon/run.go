package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/oklog/ulid/v2"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
)

// Run sweeps until ctx ends, while no other daemon runs on this state folder.
func (d *Daemon) Run(ctx context.Context) (err error) {
	if d.unlock, err = d.Alone(ctx); err != nil {
		return err
	}
	defer d.letOthers()
	return d.Loop(ctx)
}

// letOthers gives back the lock of the daemon.
func (d *Daemon) letOthers() {
	if err := d.unlock(); err != nil {
		d.Log.Warn("release the lock of the daemon", "error", err)
	}
}

// stillAlone makes sure that the lock is where others look for it. Where the state folder was removed it is made again, with all that lies in it; an error says that another daemon has it by now.
func (d *Daemon) stillAlone(ctx context.Context) error {
	now, err := os.Lstat(d.RunLock())
	if err == nil && os.SameFile(now, d.lockFile) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	d.letOthers()
	d.unlock = func() error { return nil }
	unlock, err := d.Alone(ctx)
	if err != nil {
		return fmt.Errorf("the state folder %s was removed while winnow run had it: %w", d.Cfg.State, err)
	}
	d.unlock, d.Base = unlock, nil
	d.Say("the state folder %s was removed, with all that was remembered, and is made again", d.Cfg.State)
	for i := range d.running {
		if d.Options.Components[i].InState {
			d.running[i].by = nil
		}
	}
	d.RestartChanged(ctx)
	return nil
}

// Alone makes sure that no other daemon runs on this state folder. winnow status has the lock for a moment when it asks whether one runs, so it is tried for a second.
func (d *Daemon) Alone(ctx context.Context) (unlock func() error, err error) {
	if err := d.TrustState(); err != nil {
		return nil, err
	}
	s := sweep.Sweeper{Machine: &d.Machine}
	unlock, err = s.WaitFor(ctx, sweep.SweepWait, "process %d is winnow run; waiting up to %s", func() (func() error, error) { return lock.Take(d.RunLock()) })
	var held *lock.Held
	if errors.As(err, &held) {
		return nil, fmt.Errorf("another winnow run has the state folder %s: process %d, since %s; this one did nothing", d.Cfg.State, held.PID, held.Since.Local().Format(time.DateTime))
	}
	if err == nil {
		d.lockFile, _ = os.Lstat(d.RunLock()) // where it has gone by now, stillAlone finds that
	}
	return unlock, err
}

// Once is one sweep, as the daemon sweeps.
func (d *Daemon) Once(ctx context.Context) error {
	end, err := d.StartAll(ctx, true)
	if err != nil {
		return err
	}
	defer end()
	d.patience = sweep.AskedWait // nothing tries again
	began := time.Now()
	r, err := d.Sweep(ctx, pace.Start)
	d.TellAll(Ended{Why: pace.Start, Began: began, At: time.Now(), Report: r, Err: err})
	if err != nil {
		return err
	}
	d.News(r)
	if fresh := d.Status().Last.Fresh; fresh != "" {
		d.Say("every wait begins again: %s. A timer that sweeps less often than every %s needs its time in --every, or nothing that waits goes", fresh, text.Span(d.gap()))
	}
	return exit.CodeError(r.Code(false))
}

// Loop sweeps until ctx ends. That is its normal end.
func (d *Daemon) Loop(ctx context.Context) error {
	now := make(chan os.Signal, 1)
	signal.Notify(now, syscall.SIGUSR1)
	defer signal.Stop(now)
	reload := make(chan struct{}, 1)
	d.Hands.OnHangUp(func() {
		select {
		case reload <- struct{}{}:
		default: // one reload that is still to come reads what is there then
		}
	})
	defer d.Hands.OnHangUp(nil)
	end, err := d.StartAll(ctx, false)
	if err != nil {
		return err
	}
	defer end()
	d.Say("%s, every %s; winnow pause stops acts, SIGUSR1 sweeps now", d.doing(), text.Span(d.Pace.Every))
	d.manager.says(systemd.SdNotifyReady + "\nSTATUS=" + d.doing() + ", before the first sweep")
	defer func() { d.manager.says(systemd.SdNotifyStopping) }()
	defer d.Watches()()
	d.adjustSchedule(time.Now())
	pressure := time.NewTicker(pressureEvery)
	defer pressure.Stop()
	for {
		d.manager.Moves()
		at, why := d.Pace.Next(time.Now())
		d.waits(at, why)
		timer := time.NewTimer(time.Until(at))
		select {
		case <-ctx.Done():
			timer.Stop()
			d.Say("stopped: %v", context.Cause(ctx))
			return nil
		case <-reload:
			d.reload(ctx)
		case <-now:
			d.Pace.Ask()
		case <-d.woken:
			d.Pace.Event(time.Now())
		case <-d.asked:
			d.Pace.Ask()
		case <-pressure.C:
			d.adjustSchedule(time.Now())
		case <-timer.C:
			if err := d.stillAlone(ctx); err != nil {
				return err
			}
			began := time.Now()
			r, err := d.Sweep(ctx, why)
			d.Swept(ctx, why, began, r, err)
		}
		timer.Stop()
	}
}

// reload reads the configuration and the policies again. What is wrong changes nothing.
func (d *Daemon) reload(ctx context.Context) {
	defer d.manager.reloading()()
	cfg, err := d.Options.Load()
	if err == nil {
		err = stillRules(d.Cfg.File, cfg.File)
	}
	if err == nil && cfg.State != d.Cfg.State {
		err = fmt.Errorf("state has become %s: start winnow run again for another state folder", cfg.State)
	}
	if err == nil {
		err = d.Load(ctx, cfg)
	}
	d.mu.Lock()
	if d.status.Reloads, d.status.Reload = d.status.Reloads+1, ""; err != nil {
		d.status.ReloadsFailed, d.status.Reload = d.status.ReloadsFailed+1, err.Error()
	}
	d.mu.Unlock()
	if err != nil {
		d.Say("SIGHUP: not reloaded, and what ran before goes on: %v", err)
		return
	}
	d.Say("SIGHUP: reloaded; policies %s, %s", d.policy.Revision, d.doing())
	d.RestartChanged(ctx)
	d.adjustSchedule(time.Now())
	d.Pace.Ask()
}

// stillRules makes sure that the file that ruled is there. Without it the defaults would rule, or the machine's file: what a person protects would go unprotected because the file is being
// written, or lies on a disk that is not mounted.
func stillRules(was, is string) error {
	if was == is || was == "" {
		return nil
	}
	if _, err := os.Lstat(was); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	instead := "the defaults hold"
	if is != "" {
		instead = is + " rules"
	}
	return fmt.Errorf("the configuration %s is missing: put it back, or start winnow run again so that %s", was, instead)
}

// Load prepares the policies of a configuration, and takes both in place of those that ran. After an error these go on.
func (d *Daemon) Load(ctx context.Context, cfg *config.Config) error {
	with := *d.Ops // a copy: others may be looking at this one
	own := *cfg    // so it is of the configuration, into which policies put their parameters
	if cfg != d.configured {
		with.Fingerprint = state.ConfigFingerprint(cfg)
	}
	with.Cfg, with.Workers = &own, nil
	e, p, err := with.EngineBy(ctx, bundles.Look{Ask: true})
	if err != nil {
		return err
	}
	old := d.engine
	d.mu.Lock()
	d.Ops, d.engine, d.policy = &with, e, p
	if old == nil || p.Digest != d.decidesBy || cfg != d.configured {
		d.Base = nil
	}
	if p.Digest != d.decidesBy {
		d.status.Policies = time.Now()
	}
	d.decidesBy, d.configured = p.Digest, cfg
	d.mu.Unlock()
	d.Pace.Options = d.PaceOptions()
	if old != nil {
		if err := old.Close(); err != nil {
			d.Log.Warn("end what evaluated the policies before", "error", err)
		}
	}
	return nil
}

func (d *Daemon) PaceOptions() pace.Options {
	r := d.Cfg.Run
	return pace.Options{Every: cmp.Or(max(d.Options.Every, 0), r.Every), Jitter: float64(r.Jitter), Settle: r.Settle, Burst: r.Burst, Rest: r.Rest, Share: float64(r.Share), Chance: rand.Float64}
}

// State is how the daemon stands.
func (d *Daemon) State() document.State {
	now := d.Now()
	s := document.State{Schema: document.StateSchema, Version: version.Read().Version, Status: d.Status(), StateFolder: now.Cfg.State, Alarms: []report.Alarm{}, NotRead: []string{}}
	switch p := now.Paused(); { // that of now, also when no sweep has seen yet that it began, ended or was replaced
	case p != nil:
		if s.Paused == nil {
			s.Mode, s.Since = document.Paused, p.Since
		}
		s.Paused = p
	case p == nil && s.Paused != nil:
		s.Paused = nil
		if s.Mode = document.Observing; len(s.Brakes) > 0 {
			s.Mode = document.Braked
		} else if d.Options.Apply || now.Cfg.Act.Enabled {
			s.Mode = document.Acting
		}
	}
	if r := d.Last(); r != nil {
		s.Policy, s.Alarms = r.Policy, append(s.Alarms, r.Alarms...)
		s.NotRead = append(s.NotRead, report.NotRead(r.Sources)...)
	}
	return s
}

// shortSweep is a sweep that finds nothing new by the baseline of the last whole one: what that saw and decided stands, and is seen again. It gives no report where a whole sweep is needed, and
// says why.
func (d *Daemon) shortSweep(ctx context.Context, why string) (*report.Report, string, error) {
	b := d.Base
	switch {
	case b == nil:
		return nil, "the first", nil
	case why != pace.Schedule && why != pace.Event:
		return nil, why, nil
	case d.since+1 >= d.Cfg.Run.FullEvery:
		return nil, "every so often", nil
	case d.wants() && slices.ContainsFunc(b.Ds, func(x decision.Decision) bool { return x.Verdict == decision.Reap }):
		return nil, "something goes", nil
	case (d.Paused() != nil) != (d.Status().Paused != nil): // who asks is to see it
		return nil, "a pause began or ended", nil
	}
	s, err := d.OpenSweeper(ctx, d.engine, d.policy, false, 0)
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	if s.Ledger == nil {
		return nil, "no ledger", nil
	}
	var m brakes.Memory
	if err := s.Ledger.Brakes(ctx, &m); err != nil {
		return nil, "", err
	}
	if len(m.Tripped) != len(d.Status().Brakes) { // who asks is to see it
		return nil, "a brake tripped or was released", nil
	}
	started, began := time.Now(), host.Now()
	last, err := s.Ledger.Look(ctx)
	if err != nil {
		return nil, "", err
	}
	holds, err := s.Holds(ctx, s.Ledger)
	if err != nil {
		return nil, "", err
	}
	host := b.Host
	host.UpSeconds, host.AwakeSeconds = began.Up, began.Awake
	jump := config.Seconds(d.Cfg.Rules.ClockJump)
	if fresh := ledger.Fresh(last, host, began.At, jump, d.gap()); fresh != "" {
		return nil, fresh, nil
	}
	if changed := b.Changed(ctx, &d.Looker, holds); changed != "" {
		return nil, changed, nil
	}
	host.SteadySince, host.LastResumeAt = ledger.Steady(last, host, began.At, jump)
	host.Asleep = ledger.Asleep(last, host, began.At)
	r := *b.R
	r.Sweep, r.TakenAt, r.NothingNew = ulid.Make().String(), began.At, true
	r.Acts, r.Settled, r.Purged = []decision.Act{}, nil, nil
	if err := s.SeenAgain(ctx, started, &r, host, b); err != nil {
		return nil, "", err
	}
	d.since++
	return &r, "", nil
}

// changedVerdicts says in what a whole look decided otherwise than what stood by short ones, a line a candidate: some of it waited for its time, and some a short look cannot see.
func changedVerdicts(before, now []decision.Decision) (out []string) {
	was := map[string]decision.Decision{}
	for _, d := range before {
		was[d.ID] = d
	}
	for _, d := range now {
		if b, ok := was[d.ID]; ok && (b.Verdict != d.Verdict || b.Awaits() != d.Awaits()) {
			stood := b.Verdict
			if b.Awaits() {
				stood = "waiting"
			}
			out = append(out, fmt.Sprintf("%s was %s", d.ID, stood))
		}
	}
	slices.Sort(out)
	return out
}

// pressureEvery is how often the daemon asks between sweeps: three small files and a statfs each.
const pressureEvery = 15 * time.Second

// adjustSchedule has sweeps come sooner while the machine is short of something, and says when that begins and ends.
func (d *Daemon) adjustSchedule(now time.Time) {
	by := d.Cfg.Run.Pressure
	short := ops.Shortage(d.Pressure(), by)
	factor := 1.0
	if short != "" {
		factor = float64(by.Hurry)
	}
	d.Pace.Hurry(now, factor)
	d.mu.Lock()
	before := d.status.Pressure
	d.status.Pressure = short
	d.mu.Unlock()
	switch {
	case before == "" && short != "":
		d.Base = nil // rules of one's own may ask for it
		d.Say("this machine is short of something (%s): sweeps come %g times as often", short, factor)
	case before != "" && short == "":
		d.Base = nil
		d.Say("this machine is short of nothing any more: sweeps come as often as configured")
	}
}

// Systemd tells the service manager how the daemon stands (sd_notify(3)), where one asks: NOTIFY_SOCKET is set.
var Systemd = Component{
	Name: "systemd",
	By:   func(*config.Config) any { return nil },
	Begin: func(_ context.Context, d *Daemon) (func(), error) {
		if os.Getenv("NOTIFY_SOCKET") == "" {
			return nil, nil
		}
		d.manager = &Manager{D: d}
		forget := d.Listen(func(e Ended) { d.manager.says(statusLine(e)) })
		unwatch := d.manager.watched()
		return func() { unwatch(); forget() }, nil
	},
}

// Manager is the service manager that started the daemon. A nil one is told nothing.
type Manager struct {
	D *Daemon
	// Moved is when the loop last did something, in nanoseconds of the steady clock since the program started.
	Moved atomic.Int64
}

// says sends lines of sd_notify(3). What cannot be told is a line of the log.
func (m *Manager) says(state string) {
	if m == nil {
		return
	}
	if _, err := systemd.SdNotify(false, state); err != nil {
		m.D.Now().Log.Debug("tell the service manager", "error", err)
	}
}

// reloading says that SIGHUP is being followed, and gives what says that it was.
func (m *Manager) reloading() (done func()) {
	m.says(systemd.SdNotifyReloading + "\n" + systemd.SdNotifyMonotonicUsec())
	return func() { m.says(systemd.SdNotifyReady) }
}

// statusLine is the line that systemctl status shows.
func statusLine(e Ended) string {
	s := e.Status
	line := s.Mode
	switch {
	case e.Err != nil:
		line += ", and the latest sweep failed"
	case e.Report != nil:
		goes := 0
		for _, c := range e.Report.Census {
			goes += c.Reap
		}
		line += fmt.Sprintf(", %s to go at %s", text.Plural(goes, "candidate"), e.At.Format(time.TimeOnly))
	}
	return "STATUS=" + line
}

var started = time.Now()

// Moves notes that the loop lives.
func (m *Manager) Moves() {
	if m != nil {
		m.Moved.Store(int64(time.Since(started)))
	}
}

// Longest is for how long a sweep may last before the manager hears nothing more: its looks and acts are bounded each, and the removal of a large folder is what takes longest.
const Longest = time.Hour

// Lives reports whether the loop moved lately.
func (m *Manager) Lives(within time.Duration) bool {
	if m.D.Status().Sweeping {
		within = Longest
	}
	return time.Since(started)-time.Duration(m.Moved.Load()) < within
}

// watched shows the manager that the daemon lives, twice in each time that it gave for that (WatchdogSec), until the function that it gives is called. A loop that hangs shows
// nothing, and the manager starts the daemon again.
func (m *Manager) watched() (stop func()) {
	m.Moves()
	within, err := systemd.SdWatchdogEnabled(false)
	if err != nil || within <= 0 {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(within / 2)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if m.Lives(max(within, 3*pressureEvery)) { // the loop wakes as often as it asks for the pressure
					m.says(systemd.SdNotifyWatchdog)
				}
			}
		}
	}()
	return func() { close(over); <-done }
}
