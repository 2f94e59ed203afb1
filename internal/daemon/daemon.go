// Package daemon is winnow run: one loop that sweeps on a schedule and after events, with what runs beside it.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/metrics"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Daemon is winnow run: one loop, in which alone it sweeps and changes what it holds. Others see it through status.
type Daemon struct {
	*ops.Ops
	Options Options
	engine  *eval.Engine
	policy  *policy.Policy
	Pace    *pace.Pace
	// woken has one place: many events before the loop looks are one.
	woken, asked chan struct{}
	// Base is what the last whole look saw, nil where the next one must be whole.
	Base *look.Fingerprint
	// since counts the sweeps since the last whole one.
	since int
	// decidesBy and configured are what the baseline was made by.
	decidesBy  string
	configured *config.Config
	// events tells what may have changed; nil before the loop begins.
	events *events
	// said is what the latest line was about, so that a line is printed only for what is new.
	said string
	// saidActs is the same for the acts of the latest sweep.
	saidActs map[string]bool
	// unlock gives back the lock that one daemon has of a state folder, and lockFile is the file that it is on.
	unlock   func() error
	lockFile os.FileInfo
	// patience is how long a sweep waits for another one that has the lock.
	patience time.Duration
	// keptOff is since when another sweep has had the lock at every try, zero where the latest try had it.
	keptOff time.Time

	// metrics counts since the first time that it was to; nil where it never was.
	metrics *metrics.Metrics
	// manager is the service manager that wants to hear of it; nil where none does.
	manager *Manager
	// running are the components that were begun, in the order of Options.Components.
	running []running

	mu        sync.Mutex
	status    document.Status
	last      *report.Report
	listeners map[int]func(Ended)
	listening int
}

// Options say what a daemon does, and whom it tells.
type Options struct {
	// Apply lets it act, as act.enabled does. Every is from one sweep to the next, 0 for run.every.
	Apply bool
	Every time.Duration
	// Load reads the configuration again.
	Load func() (*config.Config, error)
	// Line is given a line for a person. Report, where it is set, is given every report in place of the lines about what is new.
	Line   func(string)
	Report func(*report.Report)
	// Components begin in this order and end in the opposite one, after the loop.
	Components []Component
}

// New prepares the daemon. What is wrong with the configuration or the policies at the start is an error.
func New(ctx context.Context, from *ops.Ops, o Options) (*Daemon, error) {
	d := &Daemon{Ops: from, Options: o, woken: make(chan struct{}, 1), asked: make(chan struct{}, 1)}
	d.Pace = pace.New(d.PaceOptions())
	if err := d.Load(ctx, from.Cfg); err != nil {
		return nil, err
	}
	now := time.Now()
	d.status = document.Status{Mode: document.Observing, Since: now, Started: now, PID: os.Getpid(), Brakes: []brakes.Brake{}, Wakes: map[string]int{}, Policies: now}
	return d, nil
}

func (d *Daemon) Close() {
	if err := d.engine.Close(); err != nil {
		d.Log.Warn("end what evaluates the policies", "error", err)
	}
}

// Wake has the daemon sweep soon: something may have changed. It never waits.
func (d *Daemon) Wake(source string) {
	d.mu.Lock()
	d.status.Wakes[source]++
	d.mu.Unlock()
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

// Ask has the daemon sweep now, or right after the sweep that is under way. It never waits.
func (d *Daemon) Ask() {
	select {
	case d.asked <- struct{}{}:
	default:
	}
}

// Status gives how the daemon stands.
func (d *Daemon) Status() document.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.status
	out.Wakes, out.Events = maps.Clone(out.Wakes), d.events.states()
	return out
}

// Last gives the report of the latest sweep that looked, nil before the first. It is never written to.
func (d *Daemon) Last() *report.Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// wants reports whether the operator lets it act.
func (d *Daemon) wants() bool { return d.Options.Apply || d.Cfg.Act.Enabled }

// doing says in a word what it does with what may go.
func (d *Daemon) doing() string {
	if d.wants() {
		return "acting"
	}
	return "observing"
}

// gap is after how long without a look no wait counts any more: three schedules.
func (d *Daemon) gap() time.Duration { return 3*d.Pace.Every + time.Minute }

// Sweep is one sweep of the daemon. It observes unless it wants to act and neither a pause nor a brake keeps it from that. Where it fails after it has looked the report says what it did before.
func (d *Daemon) Sweep(ctx context.Context, why string) (*report.Report, error) {
	d.Sweeping(true)
	defer d.Sweeping(false)
	began := time.Now()
	if len(d.Cfg.Policy.Bundles) > 0 && (why == pace.Schedule || why == pace.Request) {
		if err := d.Load(ctx, d.configured); err != nil {
			return nil, err
		}
	}
	r, needed, err := d.shortSweep(ctx, why)
	if r != nil || err != nil {
		if r != nil {
			d.stood(r, why, began)
		}
		return r, err
	}
	f := sweep.Options{Apply: d.wants(), Show: sweep.Listing{Kinds: snapshot.KindNames()}}
	pause := d.Paused()
	if pause != nil {
		f.Apply = false
	}
	s, err := d.OpenSweeper(ctx, d.engine, d.policy, f.Apply, d.patience)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.Window = &look.Window{Gap: d.gap()}
	before, disagreed := d.Base, []string(nil)
	if before != nil && s.Ledger != nil && needed == "every so often" {
		if holds, err := s.Holds(ctx, s.Ledger); err != nil || before.Changed(ctx, &d.Looker, holds) != "" {
			before = nil // it says itself that there is something new
		}
	} else {
		before = nil
	}
	d.Base = nil
	if d.Cfg.Run.FullEvery > 1 {
		if s.Base, err = d.NewFingerprint(); err != nil {
			return nil, err
		}
	}
	var m brakes.Memory
	if s.Ledger != nil {
		if m, err = s.Braked(ctx); err != nil {
			return nil, fmt.Errorf("%w; nothing was done", err)
		}
	}
	if len(m.Tripped) > 0 {
		f.Apply = false
	}
	var tripped []brakes.Brake
	s.Brakes = func(seen *snapshot.Snapshot, ds []decision.Decision) bool {
		m, tripped = m.CheckBefore(swept(seen, ds), brakes.Limits(d.Cfg.Run.Brakes))
		return len(tripped) > 0
	}
	r, err = s.Sweep(ctx, f)
	if err != nil {
		if r != nil && f.Apply && !r.Paused { // it acted, and could not be recorded to its end
			err = errors.Join(err, d.brake(s, r, &m, tripped))
		}
		d.DoneBefore(r)
		return r, err
	}
	d.since = 0
	if s.Base != nil && s.Base.R != nil && len(r.Acts) == 0 {
		d.Base = s.Base
		if before != nil {
			disagreed = changedVerdicts(before.Ds, d.Base.Ds)
		}
	}
	if f.Apply && !r.Paused {
		if err := d.brake(s, r, &m, tripped); err != nil {
			d.DoneBefore(r)
			return r, err
		}
	}
	if d.events != nil {
		d.events.set(d.Targets(s.Seen, s.Base), s.Seen, d.Cfg.Run.TmuxHooks)
	}
	d.stands(s, r, why, began, pause, m)
	d.disagreed(disagreed)
	return r, nil
}

// DoneBefore says what a sweep did that failed after its acts; r is nil where it failed before.
func (d *Daemon) DoneBefore(r *report.Report) {
	if r != nil && len(r.Acts)+len(r.Purged) > 0 {
		d.News(r)
	}
}

// swept is a sweep that is to act, as the brakes see it before its acts.
func swept(seen *snapshot.Snapshot, ds []decision.Decision) brakes.Swept {
	return brakes.Swept{At: seen.TakenAt, Decisions: ds, Like: func(id string) string { return likeness(seen, id) }}
}

// brake looks whether what was done and what the world shows agree, and writes down what to remember. tripped are the brakes that kept the sweep from acting.
func (d *Daemon) brake(s *sweep.Sweeper, r *report.Report, m *brakes.Memory, tripped []brakes.Brake) error {
	for i := range tripped {
		tripped[i].Sweep = r.Sweep
		m.Tripped[len(m.Tripped)-len(tripped)+i].Sweep = r.Sweep
	}
	if len(tripped) == 0 {
		now := swept(s.Seen, r.Decisions)
		now.Sweep, now.Caps, now.Acts, now.IDs = r.Sweep, r.Caps, r.Acts, ops.Ids(s.Seen)
		*m, tripped = m.CheckAfter(now, brakes.Limits(d.Cfg.Run.Brakes))
	}
	for _, t := range tripped {
		r.Alarms = append(r.Alarms, report.Alarm{Rule: "brake_" + t.Rule, Message: t.Message + "; the daemon only observes until winnow brakes release"})
	}
	if err := s.Ledger.SaveBrakes(context.Background(), m); err != nil {
		return fmt.Errorf("%w; the daemon does not know what it has to remember of its acts", err)
	}
	return nil
}

// likeness is what a candidate has in common with one that takes its place, "" where that cannot be said.
func likeness(s *snapshot.Snapshot, id string) string {
	if t, ok := s.Tabs[id]; ok {
		return fmt.Sprintf("tab %s %s %s", t.Source, t.Workspace, t.Label)
	}
	if x, ok := s.Sessions[id]; ok {
		return fmt.Sprintf("session %s %s", x.Source, x.Name)
	}
	if x, ok := s.Terminals[id]; ok && x.Role != "" {
		return fmt.Sprintf("terminal %s %s", x.Source, x.Role)
	}
	if x, ok := s.Dirs[id]; ok && x.Content == nil {
		return "dir " + x.Path
	}
	if p, ok := s.Processes[id]; ok && p.Exe != nil && p.Cwd != nil && p.ArgvDigest != "" {
		return fmt.Sprintf("process %s %s %s", *p.Exe, *p.Cwd, p.ArgvDigest)
	}
	return ""
}

// stands writes down how a sweep went, for those who ask.
func (d *Daemon) stands(s *sweep.Sweeper, r *report.Report, why string, began time.Time, pause *lock.Pause, m brakes.Memory) {
	mode := document.Observing
	switch {
	case pause != nil || r.Paused:
		mode = document.Paused
	case len(m.Tripped) > 0:
		mode = document.Braked
	case d.wants():
		mode = document.Acting
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if mode != d.status.Mode {
		d.status.Mode, d.status.Since = mode, time.Now()
	}
	d.status.Paused, d.status.Brakes = pause, append([]brakes.Brake{}, m.Tripped...)
	d.status.Last = &document.SweptOnce{Sweep: r.Sweep, At: r.TakenAt, Why: why, Took: time.Since(began).Seconds(), Census: r.Census, Fresh: s.Window.Why}
	d.last = r
}

// stood writes down a sweep that found nothing new.
func (d *Daemon) stood(r *report.Report, why string, began time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.Short++
	d.status.Last = &document.SweptOnce{Sweep: r.Sweep, At: r.TakenAt, Why: why, Took: time.Since(began).Seconds(), Census: r.Census, Short: true}
	d.last = r
}

// disagreed reports what a whole look decided otherwise than what had stood by short looks.
func (d *Daemon) disagreed(stood []string) {
	if len(stood) == 0 {
		return
	}
	d.mu.Lock()
	d.status.Disagreed++
	d.mu.Unlock()
	d.Say("a whole look decided otherwise on %s than stood by the short looks before: %s", text.Plural(len(stood), "candidate"), strings.Join(stood[:min(len(stood), 5)], ", "))
}

// Swept takes note of a sweep that ended, and says what is new.
func (d *Daemon) Swept(ctx context.Context, why string, began time.Time, r *report.Report, err error) {
	now := time.Now()
	err = d.Locked(began, now, err)
	defer func() { d.TellAll(Ended{Why: why, Began: began, At: now, Report: r, Err: err}) }()
	d.mu.Lock()
	if d.status.Problem = ""; err != nil {
		d.status.Problem = err.Error()
	}
	if err != nil {
		d.status.Failed++
	} else {
		d.status.Sweeps++
	}
	d.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		d.Pace.Failed(now)
		if errors.As(err, new(*lock.Held)) {
			d.Log.Debug("another sweep has the lock", "error", err)
			return
		}
		if key := "failed " + err.Error(); key != d.said {
			d.said = key
			d.Say("the sweep failed: %v; it is tried again", err)
		}
		return
	}
	d.Pace.Swept(began, now, look.Confirmable(r))
	d.News(r)
	if !r.NothingNew {
		debug.FreeOSMemory() // the garbage of a whole sweep is not needed until the next one
	}
}

// keptOffFor is for how long at most another sweep may have the lock before that counts as a failure: a sweep that hangs holds up the daemon for as long as it lives.
const keptOffFor = 5 * time.Minute

// Locked gives the error of a sweep. That another sweep has the lock is nothing to tell of, unless it has had it at every try for a schedule.
func (d *Daemon) Locked(began, now time.Time, err error) error {
	if !errors.As(err, new(*lock.Held)) {
		d.keptOff = time.Time{}
		return err
	}
	if d.keptOff.IsZero() {
		d.keptOff = began
	}
	if now.Sub(d.keptOff) < min(d.Pace.Every, keptOffFor) {
		return err
	}
	return fmt.Errorf("nothing could be looked at since %s, because %v. Look whether that process hangs; where it does, end it", d.keptOff.Format(time.DateTime), err)
}

// waits writes down when the next sweep is due.
func (d *Daemon) waits(at time.Time, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.Next, d.status.Why = at, why
}

func (d *Daemon) Sweeping(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.Sweeping = on
}

// Say gives a line for a person, with the time.
func (d *Daemon) Say(format string, args ...any) {
	d.Options.Line(time.Now().Format(time.DateTime) + " " + text.Clean(fmt.Sprintf(format, args...)))
}

// News prints what is new in a report: a line a sweep at most for how many go, and one for each act and each alarm. Where whole reports are wanted it gives each of them.
func (d *Daemon) News(r *report.Report) {
	if d.Options.Report != nil {
		d.Options.Report(r)
		return
	}
	d.tellActs(slices.Concat(r.Settled, r.Acts))
	for _, p := range r.Purged {
		d.Say("purged: %s %s, %s", p.Act, p.Candidate, text.Size(p.Bytes))
	}
	var goes, waits int
	failed := report.NotRead(r.Sources)
	for _, dec := range r.Decisions {
		switch {
		case dec.Verdict == decision.Reap:
			goes++
		case dec.Waits():
			waits++
		}
	}
	key := fmt.Sprint(d.status.Mode, goes, waits, failed)
	for _, al := range r.Alarms {
		key += "\n" + al.Rule + " " + al.Candidate + " " + lasting(al)
	}
	if key == d.said {
		return
	}
	d.said = key
	line := fmt.Sprintf("%s: %s to go", d.status.Mode, text.Plural(goes, "candidate"))
	if waits > 0 {
		line += fmt.Sprintf(", and %d that may go after another look", waits)
	}
	if len(failed) > 0 {
		line += "; not read: " + strings.Join(failed, ", ")
	}
	d.Say("%s", line)
	for _, al := range r.Alarms {
		d.Say("alarm %s: %s", al.Rule, al.Message)
	}
}

// tellActs prints a line for each act, and one a kind for all that caps held back. What came to the same at the sweep before is not told again, but for what was done.
func (d *Daemon) tellActs(acts []decision.Act) {
	before := d.saidActs
	d.saidActs = map[string]bool{}
	line := func(key, format string, args ...any) {
		if d.saidActs[key] = true; !before[key] {
			d.Say(format, args...)
		}
	}
	capped, why := map[string]int{}, map[string]string{}
	for _, a := range acts {
		switch a.Outcome.Outcome {
		case decision.Done:
			d.Say("%s: %s %s", a.Outcome.Outcome, a.Candidate, a.Outcome.Detail)
		case decision.Capped:
			capped[a.Kind]++
			why[a.Kind] = a.Outcome.Detail
		default:
			line(a.Outcome.Outcome+" "+a.Candidate, "%s: %s %s", a.Outcome.Outcome, a.Candidate, a.Outcome.Detail)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(capped)) {
		line(fmt.Sprint("capped ", kind, capped[kind]), "capped: %s of kind %s: %s", text.Plural(capped[kind], "act"), kind, why[kind])
	}
}
