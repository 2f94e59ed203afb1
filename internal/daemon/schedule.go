package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/report"
)

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
func changedVerdicts(before, now []decision.Decision) []string {
	was := map[string]decision.Decision{}
	for _, d := range before {
		was[d.ID] = d
	}
	var out []string
	for _, d := range now {
		if b, ok := was[d.ID]; ok && (b.Verdict != d.Verdict || b.Awaits() != d.Awaits()) {
			out = append(out, fmt.Sprintf("%s was %s", d.ID, standing(b)))
		}
	}
	slices.Sort(out)
	return out
}

func standing(d decision.Decision) string {
	if d.Awaits() {
		return "waiting"
	}
	return d.Verdict
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
