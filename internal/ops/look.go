package ops

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// LookOnce sees, decides and remembers, as a sweep without --apply, and lets go of the lock.
func (o *Ops) LookOnce(ctx context.Context, e *eval.Engine, p *policy.Policy, f sweep.Listing) (*report.Report, *snapshot.Snapshot, error) {
	s, err := o.OpenSweeper(ctx, e, p, false, sweep.AskedWait)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	r, err := s.Sweep(ctx, sweep.Options{Show: f})
	return r, s.Seen, err
}

// DryRun sees, decides and remembers all kinds of candidates, as winnow sweep.
func (o *Ops) DryRun(ctx context.Context) (*report.Report, *snapshot.Snapshot, error) {
	e, p, err := o.Engine(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer o.Close(e)
	r, snap, err := o.LookOnce(ctx, e, p, sweep.Listing{Kinds: snapshot.KindNames()})
	if err != nil {
		return nil, nil, err
	}
	tripped, err := o.Brakes(ctx)
	r.Alarms = append(r.Alarms, brakeAlarms(tripped)...)
	return r, snap, err
}

// OnlyLook is a sweep that writes nothing down, not even what it saw: as a dry run, with what the ledger remembers.
func (o *Ops) OnlyLook(ctx context.Context) (*report.Report, *snapshot.Snapshot, error) {
	e, p, err := o.Engine(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer o.Close(e)
	s := &sweep.Sweeper{Machine: &o.Machine, Engine: e, Policy: p}
	mem := o.LoadPriorReadOnly(ctx)
	snap, err := o.LookFor(ctx, sources.Scope{}, mem, e)
	if err != nil {
		return nil, nil, err
	}
	res, err := s.Decide(ctx, snap, mem)
	if err != nil {
		return nil, nil, fmt.Errorf("decide: %w", err)
	}
	r := report.New(report.DryRun, "", snap, p, o.Ruled(snap), res, &o.Cfg.Rules.Config, snapshot.KindNames())
	o.SayBundles(r)
	o.AddSizes(ctx, snap, r.Decisions, decision.Decision.Stands)
	s.Foresee(ctx, r, snap, mem, res)
	var m alarm.Memory
	var tripped brakes.Memory
	past, err := s.Past(ctx, snap) // without a ledger
	if err != nil {
		return nil, nil, err
	}
	err = o.ReadLedger(func(l *ledger.Ledger) (err error) {
		s.Ledger = l
		defer func() { s.Ledger = nil }()
		if past, err = s.Past(ctx, snap); err != nil {
			return err
		}
		s.Weigh(ctx, r)
		m, err = l.AlarmMemory(ctx)
		return errors.Join(err, l.Brakes(ctx, &tripped))
	})
	if err != nil {
		o.Log.Warn("read what the ledger remembers", "error", err) // the look says so too, and keeps everything
	}
	r.Held((&sweep.CapOptions{}).Caps(o.Cfg).Plan(o.Touched(snapshot.KindNames()), res.Decisions, past))
	_, alarms := alarm.Look(m, snap, res.Decisions, s.RulesName(os.Environ()), o.Cfg.Alarms.Limits())
	for _, al := range alarms {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: al.Rule, Message: al.Message + sweep.Next(al)})
	}
	r.Alarms = append(r.Alarms, brakeAlarms(tripped.Tripped)...)
	return r, snap, nil
}

// brakeAlarms are the brakes that hold, as alarms: they are the daemon's, and no look finds them.
func brakeAlarms(tripped []brakes.Brake) (out []report.Alarm) {
	return text.Map(tripped, func(b brakes.Brake) report.Alarm {
		return report.Alarm{Rule: "brake_" + b.Rule,
			Message: text.Time(b.At) + ": " + b.Message + "; the daemon only observes until winnow brakes release"}
	})
}
