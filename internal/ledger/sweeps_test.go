package ledger_test

import (
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestFresh: what happened while nothing looked, no look knows.
func TestFresh(t *testing.T) {
	t.Parallel()
	const jump, gap = 10 * time.Second, 16 * time.Minute
	prev := &ledger.Look{At: t0, BootID: "b1", UpSeconds: new(3600.0), AwakeSeconds: new(3000.0)}
	for name, c := range map[string]struct {
		prev      *ledger.Look
		boot      string
		up, awake *float64
		wall      time.Duration
		want      string
	}{
		"nothing happened":            {prev, "b1", new(3660.0), new(3060.0), time.Minute, ""},
		"the first look":              {nil, "b1", new(3660.0), new(3060.0), time.Minute, ""},
		"another boot":                {prev, "b2", new(30.0), new(30.0), time.Minute, "the machine booted"},
		"it slept":                    {prev, "b1", new(3660.0), new(3030.0), time.Minute, "the machine was suspended"},
		"the clock was set ahead":     {prev, "b1", new(3660.0), new(3060.0), time.Hour, "the clock was set"},
		"the clock was set back":      {prev, "b1", new(3660.0), new(3060.0), -time.Hour, "the clock was set"},
		"up to the gap":               {prev, "b1", new(3600.0 + 16*60), new(3000.0 + 16*60), 16 * time.Minute, ""},
		"nothing looked for long":     {prev, "b1", new(3600.0 + 17*60), new(3000.0 + 17*60), 17 * time.Minute, "nothing looked for 17m0s"},
		"its count is not known":      {prev, "b1", nil, new(3060.0), time.Minute, "the machine's own count of time is not known"},
		"its boot is not known":       {prev, "", new(3660.0), new(3060.0), time.Minute, "the machine's own count of time is not known"},
		"the last look's was unknown": {&ledger.Look{At: t0, BootID: "b1"}, "b1", new(3660.0), new(3060.0), time.Minute, "the machine's own count of time is not known"},
	} {
		if got := ledger.Fresh(c.prev, snapshot.Host{BootID: c.boot, UpSeconds: c.up, AwakeSeconds: c.awake}, t0.Add(c.wall), jump, gap); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestASameSweep is one sweep more, by which the decisions that stood are still those of the last whole one.
func TestASameSweep(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: "s1", Started: t0}))
	must.Do(t, l.SaveDecisions(ctx, "s1", some(3)))
	must.Do(t, l.SameSweep(ctx, ledger.Sweep{ID: "s2", Started: t0.Add(time.Minute), Mode: "observe", Revision: "r", Digest: "d", Sources: map[string]int{"a": 1}}, t0.Add(time.Minute+time.Second), map[string]int{"x": 1}, 0))
	all := must.Get(l.Sweeps(ctx, time.Time{}))(t)
	if len(all) != 2 || all[0].ID != "s2" || all[0].Finished == nil || all[0].Revision != "r" {
		t.Fatalf("sweeps: %+v", all)
	}
	one := must.Get(l.Decisions(ctx, "s1"))(t)
	two := must.Get(l.Decisions(ctx, "s2"))(t)
	if len(one) != 3 || len(two) != 3 {
		t.Errorf("%d decisions at the whole sweep, %d at the short one, want 3 and 3", len(one), len(two))
	}
	if err := l.SameSweep(ctx, ledger.Sweep{ID: "s2", Started: t0}, t0, nil, 0); err == nil {
		t.Error("one sweep was recorded twice")
	}
}

// TestBrakesAreKept for the next start of the daemon.
func TestBrakesAreKept(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	got := map[string]int{"before": 1}
	must.Do(t, l.Brakes(ctx, &got))
	if len(got) != 1 {
		t.Errorf("nothing was saved, and %v was read", got)
	}
	for _, want := range []int{1, 2} {
		must.Do(t, l.SaveBrakes(ctx, map[string]int{"held": want}))
		got = nil
		must.Do(t, l.Brakes(ctx, &got))
		if got["held"] != want {
			t.Errorf("saved %d, read %v", want, got)
		}
	}
}
