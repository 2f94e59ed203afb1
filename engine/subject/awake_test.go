package subject_test

import (
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

func TestAwake(t *testing.T) {
	t.Parallel()
	night := snapshot.Asleep{From: *ago(36000), Until: *ago(600), Seconds: 28800} // eight hours somewhere in the last ten, but for ten minutes
	for name, c := range map[string]struct {
		asleep *[]snapshot.Asleep
		t      *time.Time
		want   *float64
	}{
		"the machine did not sleep":               {&[]snapshot.Asleep{}, ago(7200), new(7200.0)},
		"before all of it":                        {&[]snapshot.Asleep{night}, ago(40000), new(11200.0)},
		"just before it":                          {&[]snapshot.Asleep{night}, ago(36000), new(7200.0)},
		"within it, so all of it may be later":    {&[]snapshot.Asleep{night}, ago(30000), new(1200.0)},
		"within it, and not all of it fits after": {&[]snapshot.Asleep{night}, ago(20000), new(600.0)},
		"after it":                              {&[]snapshot.Asleep{night}, ago(300), new(300.0)},
		"twice":                                 {&[]snapshot.Asleep{night, {From: *ago(200), Until: *ago(100), Seconds: 50}}, ago(40000), new(11150.0)},
		"more than there was, by what overlaps": {&[]snapshot.Asleep{night, night}, ago(36000), new(0.0)},
		"a time to come":                        {&[]snapshot.Asleep{night}, ago(-5), new(-5.0)},
		"no time":                               {&[]snapshot.Asleep{night}, nil, nil},
		"a stretch without a beginning":         {&[]snapshot.Asleep{{Until: *ago(600), Seconds: 5}}, ago(300), nil},
		"a stretch without an end":              {&[]snapshot.Asleep{{From: *ago(600), Seconds: 5}}, ago(300), nil},
		"a stretch without a length":            {&[]snapshot.Asleep{{From: *ago(600), Until: *ago(300)}}, ago(300), nil},
	} {
		s := &snapshot.Snapshot{TakenAt: now, Host: snapshot.Host{Asleep: c.asleep}}
		same(t, name, c.want, subject.Awake(s, c.t))
	}
}

// TestAwakeOverLooks plays a machine that is looked at, sleeps for a night and is looked at again, with the ledger's own account of it.
func TestAwakeOverLooks(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	var last *ledger.Look
	booted := now.Add(-20 * hour)
	ages := func(at time.Time, up, awake time.Duration, since ...time.Time) []float64 {
		s := &snapshot.Snapshot{TakenAt: at, Host: snapshot.Host{
			BootID: "b", BootedAt: &booted, UpSeconds: new(up.Seconds()), AwakeSeconds: new(awake.Seconds()),
		}}
		s.Host.Asleep = ledger.Asleep(last, s.Host, at)
		last = &ledger.Look{At: at, BootID: "b", UpSeconds: s.Host.UpSeconds, AwakeSeconds: s.Host.AwakeSeconds, Asleep: s.Host.Asleep}
		out := []float64{}
		for _, x := range since {
			out = append(out, *subject.Awake(s, &x))
		}
		return out
	}
	checkout, old := now.Add(-8*hour-2*time.Minute), now.Add(-12*hour)
	ages(now.Add(-10*hour), 10*hour, 10*hour)
	same(t, "a minute after the resume", []float64{120, 4 * hour.Seconds()}, ages(now, 20*hour, 12*hour, checkout, old))
	same(t, "an hour later", []float64{hour.Seconds() + 120, 5 * hour.Seconds()}, ages(now.Add(hour), 21*hour, 13*hour, checkout, old))

	// Without any look before, all of the sleep since the boot is taken to have been after the checkout.
	last = nil
	same(t, "a first look after the resume", []float64{120, 4 * hour.Seconds()}, ages(now, 20*hour, 12*hour, checkout, old))
	same(t, "an hour after that", []float64{hour.Seconds() + 120, 5 * hour.Seconds()}, ages(now.Add(hour), 21*hour, 13*hour, checkout, old))
	// Of the time before the first look's boot nothing is known. Off after a look is off.
	same(t, "from before the boot", []float64{15 * hour.Seconds()}, ages(now.Add(hour), 21*hour, 13*hour, booted.Add(-2*hour)))
	last.BootID, booted = "a", now.Add(9*hour)
	same(t, "over a night off", []float64{15 * hour.Seconds(), hour.Seconds() + 120},
		ages(now.Add(10*hour), hour, hour, old.Add(-8*hour-hour), now.Add(hour-2*time.Minute)))
}

// TestAwakeWithoutLooks: a snapshot that does not tell when the machine slept shows for how long at least, unless its clocks are missing.
func TestAwakeWithoutLooks(t *testing.T) {
	t.Parallel()
	host := snapshot.Host{BootedAt: ago(36000), UpSeconds: new(36000.0), AwakeSeconds: new(7200.0)}
	age := func(change func(*snapshot.Host), t *time.Time) *float64 {
		h := host
		change(&h)
		return subject.Awake(&snapshot.Snapshot{TakenAt: now, Host: h}, t)
	}
	as := func(*snapshot.Host) {}
	same(t, "in this boot", new(1200.0), age(as, ago(30000)))
	same(t, "before", new(11200.0), age(as, ago(40000)))
	same(t, "no clocks at all", new(30000.0), age(func(h *snapshot.Host) { *h = snapshot.Host{} }, ago(30000)))
	same(t, "it never slept", new(30000.0), age(func(h *snapshot.Host) { h.AwakeSeconds = new(36000.0) }, ago(30000)))
	for name, forget := range map[string]func(*snapshot.Host){
		"the boot": func(h *snapshot.Host) { h.BootedAt = nil }, "time up": func(h *snapshot.Host) { h.UpSeconds = nil },
		"time awake": func(h *snapshot.Host) { h.AwakeSeconds = nil },
	} {
		same(t, name, (*float64)(nil), age(forget, ago(30000)))
	}
}

// TestHowBusyAProcessWasAtLeast: what may have been slept before a process began makes it no busier than it was.
func TestHowBusyAProcessWasAtLeast(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asleep snapshot.Asleep
		want   subject.Processors
	}{
		"it slept in its life": {snapshot.Asleep{From: *ago(900), Until: *ago(100), Seconds: 800}, 0.5},
		"perhaps before":       {snapshot.Asleep{From: *ago(5000), Until: *ago(100), Seconds: 800}, 0.1},
		"partly before":        {snapshot.Asleep{From: *ago(1300), Until: *ago(100), Seconds: 800}, 0.2},
	} {
		s := look(func(s *snapshot.Snapshot) {
			s.Host.Asleep = &[]snapshot.Asleep{c.asleep}
			s.Processes["process:5@6"] = &snapshot.Process{PID: 5, StartTicks: 6, StartedAt: ago(1000), CPU: new(100.0)}
		})
		same(t, name, &c.want, of(t, s, "process:5@6").Busy)
	}
}
