package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

func TestAsleep(t *testing.T) {
	t.Parallel()
	booted := t0.Add(-10 * time.Hour)
	known := []snapshot.Asleep{{From: t0.Add(-9 * time.Hour), Until: t0.Add(-8 * time.Hour), Seconds: 1800}}
	look := func(at time.Time, boot string, up, awake time.Duration, asleep *[]snapshot.Asleep) *ledger.Look {
		return &ledger.Look{At: at, BootID: boot, UpSeconds: new(up.Seconds()), AwakeSeconds: new(awake.Seconds()), Asleep: asleep}
	}
	host := func(booted time.Time, up, awake time.Duration) snapshot.Host {
		return snapshot.Host{BootID: "b", BootedAt: &booted, UpSeconds: new(up.Seconds()), AwakeSeconds: new(awake.Seconds())}
	}
	before := t0.Add(-2 * time.Hour) // the last look, when the machine had been up for 8 hours and slept half an hour of them
	last := look(before, "b", 8*time.Hour, 8*time.Hour-30*time.Minute, &known)
	blind := look(before, "b", 0, 0, &known)
	blind.UpSeconds = nil
	stretch := func(from, until time.Time, d time.Duration) snapshot.Asleep {
		return snapshot.Asleep{From: from, Until: until, Seconds: d.Seconds()}
	}
	for name, c := range map[string]struct {
		prev *ledger.Look
		host snapshot.Host
		want []snapshot.Asleep
	}{
		"a first look at a machine that never slept": {nil, host(booted, 10*time.Hour, 10*time.Hour), []snapshot.Asleep{}},
		"a first look after a resume": {nil, host(booted, 10*time.Hour, 2*time.Hour),
			[]snapshot.Asleep{stretch(booted, t0, 8*time.Hour)}},
		"a look of a version that did not keep it": {look(before, "b", 8*time.Hour, time.Hour, nil), host(booted, 10*time.Hour, 2*time.Hour),
			[]snapshot.Asleep{stretch(booted, t0, 8*time.Hour)}},
		"nothing happened":                  {last, host(booted, 10*time.Hour, 10*time.Hour-30*time.Minute), known},
		"the clocks were not read together": {last, host(booted, 10*time.Hour, 10*time.Hour-30*time.Minute-900*time.Millisecond), known},
		"it slept since":                    {last, host(booted, 10*time.Hour, 9*time.Hour), []snapshot.Asleep{known[0], stretch(before, t0, 30*time.Minute)}},
		"the wall clock was set ahead":      {last, host(booted, 9*time.Hour, 9*time.Hour-30*time.Minute), []snapshot.Asleep{known[0], stretch(before, t0, time.Hour)}},
		"the wall clock was put back":       {last, host(booted, 11*time.Hour, 11*time.Hour-30*time.Minute), known},
		"it slept, and the clock was put back": {last, host(booted, 12*time.Hour, 11*time.Hour-30*time.Minute),
			[]snapshot.Asleep{known[0], stretch(before, t0, time.Hour)}},
		"the last look had no clocks": {blind, host(booted, 10*time.Hour, 9*time.Hour), []snapshot.Asleep{known[0], stretch(booted, t0, time.Hour)}},
		"it was off overnight, and slept since": {look(t0.Add(-12*time.Hour), "a", time.Hour, time.Hour, &known), host(booted, 10*time.Hour, 9*time.Hour),
			[]snapshot.Asleep{known[0], stretch(t0.Add(-12*time.Hour), booted, 2*time.Hour), stretch(booted, t0, time.Hour)}},
		"no look for weeks before the boot": {look(t0.Add(-600*time.Hour), "a", time.Hour, time.Hour, &known), host(booted, 10*time.Hour, 10*time.Hour),
			[]snapshot.Asleep{known[0], stretch(t0.Add(-600*time.Hour), booted, 72*time.Hour)}},
		"the last look's clock was ahead of the boot": {look(t0.Add(-time.Hour), "a", time.Hour, time.Hour, &known), host(booted, 10*time.Hour, 10*time.Hour),
			[]snapshot.Asleep{known[0], stretch(booted, t0.Add(-time.Hour), 72*time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ledger.Asleep(c.prev, c.host, t0)
			if got == nil {
				t.Fatal("not known")
			}
			if d := cmp.Diff(c.want, *got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	for name, forget := range map[string]func(*snapshot.Host){
		"the boot": func(h *snapshot.Host) { h.BootID = "" }, "when it booted": func(h *snapshot.Host) { h.BootedAt = nil },
		"time up": func(h *snapshot.Host) { h.UpSeconds = nil }, "time awake": func(h *snapshot.Host) { h.AwakeSeconds = nil },
	} {
		h := host(booted, 10*time.Hour, 9*time.Hour)
		forget(&h)
		if got := ledger.Asleep(last, h, t0); got != nil {
			t.Errorf("%s is not known, and when it slept is: %v", name, *got)
		}
	}
}

// TestAsleepStaysSmall: a machine that naps between any two looks keeps a list of bounded length, from which no sleep is missing.
func TestAsleepStaysSmall(t *testing.T) {
	t.Parallel()
	booted := t0
	prev := &ledger.Look{At: t0, BootID: "b", UpSeconds: new(0.0), AwakeSeconds: new(0.0), Asleep: &[]snapshot.Asleep{}}
	const naps = 1000
	for i := range naps {
		at := t0.Add(time.Duration(i+1) * time.Hour)
		h := snapshot.Host{BootID: "b", BootedAt: &booted, UpSeconds: new(float64(i+1) * 3600), AwakeSeconds: new(float64(i+1) * 1800)}
		asleep := ledger.Asleep(prev, h, at)
		prev = &ledger.Look{At: at, BootID: "b", UpSeconds: h.UpSeconds, AwakeSeconds: h.AwakeSeconds, Asleep: asleep}
	}
	sum := 0.0
	for _, a := range *prev.Asleep {
		sum += a.Seconds
	}
	if len(*prev.Asleep) > 64 || sum != naps*1800 || !(*prev.Asleep)[0].From.Equal(t0) {
		t.Errorf("%d stretches of %f seconds together from %s", len(*prev.Asleep), sum, (*prev.Asleep)[0].From)
	}
}
