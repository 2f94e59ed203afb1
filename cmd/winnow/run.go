package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// runFlags are those of winnow run.
type runFlags struct {
	apply, once bool
	every       span
}

func newRun(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Sweep all the time: on a schedule, and soon after something happened",
		Long: `Run is the daemon. It sweeps on a schedule (run.every) and a moment after events; what it sees for the first time it confirms as soon as it may. It observes,
unless --apply or act.enabled lets it act. It stops acting by itself where what it does and what the world shows do not agree (winnow brakes), and
while winnow pause holds.

SIGTERM finishes the act in hand and stops. SIGHUP reads the configuration and the policies again, and keeps the old ones where the new ones are wrong. SIGUSR1 sweeps now.

It prints a line for what is new: something that goes or went, an alarm, a brake. With --format ndjson it prints the report of every sweep, a line each, and
the other lines on stderr.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every := time.Duration(f.every); cmd.Flags().Changed("every") && (every < config.LeastEvery || every > config.MostEvery) {
				return config.Mistakef("--every %s: give a time from 1s to 24h, such as 5m", every)
			}
			return a.run(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVar(&f.apply, "apply", false, "carry the decisions out, as act.enabled does")
	cmd.Flags().BoolVar(&f.once, "once", false, "sweep once and end, for a timer; pause and brakes hold as for the daemon")
	cmd.Flags().Var(&f.every, "every", "from one sweep to the next, in place of run.every; with --once how often the timer sweeps")
	return cmd
}

// run is winnow run.
func (a *app) run(ctx context.Context, f runFlags) error {
	d, err := a.newDaemon(ctx, f)
	switch {
	case errors.As(err, new(ruleset.NoCopy)): // not the code after which a service manager starts it no more (RestartPreventExitStatus)
		return exit.Error{Code: exit.Failed, Err: err}
	case err != nil:
		return err
	}
	defer d.close()
	if f.once {
		return d.once(ctx)
	}
	if d.unlock, err = d.alone(ctx); err != nil {
		return err
	}
	defer d.letOthers()
	return d.loop(ctx)
}

// letOthers gives back the lock of the daemon.
func (d *daemon) letOthers() {
	if err := d.unlock(); err != nil {
		d.Log.Warn("release the lock of the daemon", "error", err)
	}
}

// stillAlone makes sure that the lock is where others look for it. Where the state folder was removed it is made again, with all that lies in it; an error says that another daemon has it by now.
func (d *daemon) stillAlone(ctx context.Context) error {
	now, err := os.Lstat(d.RunLock())
	if err == nil && os.SameFile(now, d.lockFile) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	d.letOthers()
	d.unlock = func() error { return nil }
	unlock, err := d.alone(ctx)
	if err != nil {
		return fmt.Errorf("the state folder %s was removed while winnow run had it: %w", d.Cfg.State, err)
	}
	d.unlock, d.base = unlock, nil
	d.tell("the state folder %s was removed, with all that was remembered, and is made again", d.Cfg.State)
	for i := range d.running {
		if parts()[i].inState {
			d.running[i].by = nil
		}
	}
	d.beginsAgain(ctx)
	return nil
}

// alone makes sure that no other daemon runs on this state folder. winnow status has the lock for a moment when it asks whether one runs, so it is tried for a second.
func (d *daemon) alone(ctx context.Context) (unlock func() error, err error) {
	if err := d.TrustState(); err != nil {
		return nil, err
	}
	s := sweep.Sweeper{Machine: &d.Machine}
	unlock, err = s.WaitFor(ctx, sweep.SweepWait, "process %d is winnow run; waiting up to %s", func() (func() error, error) { return ledger.Lock(d.RunLock()) })
	var held *ledger.Held
	if errors.As(err, &held) {
		return nil, fmt.Errorf("another winnow run has the state folder %s: process %d, since %s; this one did nothing", d.Cfg.State, held.PID, held.Since.Local().Format(time.DateTime))
	}
	if err == nil {
		d.lockFile, _ = os.Lstat(d.RunLock()) // where it has gone by now, stillAlone finds that
	}
	return unlock, err
}

// once is one sweep, as the daemon sweeps.
func (d *daemon) once(ctx context.Context) error {
	end, err := d.begins(ctx, true)
	if err != nil {
		return err
	}
	defer end()
	d.patience = sweep.AskedWait // nothing tries again
	began := time.Now()
	r, err := d.sweep(ctx, pace.Start)
	d.tellAll(ended{Why: pace.Start, Began: began, At: time.Now(), Report: r, Err: err})
	if err != nil {
		return err
	}
	d.news(r)
	if fresh := d.Status().Last.Fresh; fresh != "" {
		d.tell("every wait begins anew: %s. A timer that sweeps less often than every %s needs --every with its time, or nothing that waits ever goes", fresh, text.Span(d.gap()))
	}
	if code := r.Code(false); code != exit.Done {
		return exit.Error{Code: code}
	}
	return nil
}

// loop sweeps until ctx ends. That is its normal end.
func (d *daemon) loop(ctx context.Context) error {
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
	end, err := d.begins(ctx, false)
	if err != nil {
		return err
	}
	defer end()
	d.begun()
	defer func() { d.manager.stopping() }()
	defer d.watches()()
	d.hurries(time.Now())
	pressure := time.NewTicker(pressureEvery)
	defer pressure.Stop()
	for {
		d.manager.moves()
		at, why := d.pace.Next(time.Now())
		d.waits(at, why)
		timer := time.NewTimer(time.Until(at))
		select {
		case <-ctx.Done():
			timer.Stop()
			d.tell("stopped: %v", context.Cause(ctx))
			return nil
		case <-reload:
			d.reload(ctx)
		case <-now:
			d.pace.Ask()
		case <-d.woken:
			d.pace.Event(time.Now())
		case <-d.asked:
			d.pace.Ask()
		case <-pressure.C:
			d.hurries(time.Now())
		case <-timer.C:
			if err := d.stillAlone(ctx); err != nil {
				return err
			}
			began := time.Now()
			r, err := d.sweep(ctx, why)
			d.swept(ctx, why, began, r, err)
		}
		timer.Stop()
	}
}

// reload reads the configuration and the policies again. What is wrong changes nothing.
func (d *daemon) reload(ctx context.Context) {
	defer d.manager.reloading()()
	cfg, err := config.Load(d.flags.config, os.Environ())
	if err == nil {
		err = d.override(cfg)
	}
	if err == nil {
		err = stillRules(d.Cfg.File, cfg.File)
	}
	if err == nil && cfg.State != d.Cfg.State {
		err = fmt.Errorf("state has become %s: start winnow run again for another state folder", cfg.State)
	}
	if err == nil {
		err = d.load(ctx, cfg)
	}
	d.mu.Lock()
	if d.status.Reloads, d.status.Reload = d.status.Reloads+1, ""; err != nil {
		d.status.ReloadsFailed, d.status.Reload = d.status.ReloadsFailed+1, err.Error()
	}
	d.mu.Unlock()
	if err != nil {
		d.tell("SIGHUP: not reloaded, and what ran before goes on: %v", err)
		return
	}
	d.tell("SIGHUP: reloaded; policies %s, %s", d.policy.Revision, d.doing())
	d.beginsAgain(ctx)
	d.hurries(time.Now())
	d.pace.Ask()
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

// load prepares the policies of a configuration, and takes both in place of those that ran. After an error these go on.
func (d *daemon) load(ctx context.Context, cfg *config.Config) error {
	with := *d.app // a copy: others may be looking at this one
	own := *cfg    // so it is of the configuration, into which policies put their parameters
	if cfg != d.configured {
		with.Fingerprint = configFingerprint(cfg)
	}
	with.Cfg, with.Workers = &own, nil
	e, p, err := with.EngineBy(ctx, bundles.Look{Ask: true})
	if err != nil {
		return err
	}
	old := d.engine
	d.mu.Lock()
	d.app, d.engine, d.policy = &with, e, p
	if old == nil || p.Digest != d.decidesBy || cfg != d.configured {
		d.base = nil
	}
	if p.Digest != d.decidesBy {
		d.status.Policies = time.Now()
	}
	d.decidesBy, d.configured = p.Digest, cfg
	d.mu.Unlock()
	d.pace.Options = d.options()
	if old != nil {
		if err := old.Close(); err != nil {
			d.Log.Warn("end what evaluated the policies before", "error", err)
		}
	}
	return nil
}

func (d *daemon) options() pace.Options {
	r := d.Cfg.Run
	every := r.Every
	if d.f.every > 0 {
		every = time.Duration(d.f.every)
	}
	return pace.Options{Every: every, Jitter: float64(r.Jitter), Settle: r.Settle, Burst: r.Burst, Rest: r.Rest, Share: float64(r.Share), Chance: rand.Float64}
}
