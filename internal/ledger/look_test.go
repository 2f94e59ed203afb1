package ledger_test

import (
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestSteady(t *testing.T) {
	t.Parallel()
	const jump = 10 * time.Second
	booted, earlier, resumed := t0.Add(-time.Hour), t0.Add(-30*time.Minute), t0.Add(-40*time.Minute)
	prev := ledger.Look{At: t0, BootID: "b1", UpSeconds: new(3600.0), AwakeSeconds: new(3000.0), SteadySince: &earlier, LastResumeAt: &resumed}
	host := func(boot string, up, awake *float64) snapshot.Host {
		return snapshot.Host{BootID: boot, BootedAt: &booted, UpSeconds: up, AwakeSeconds: awake}
	}
	at := t0.Add(time.Minute)
	for name, tc := range map[string]struct {
		prev           *ledger.Look
		host           snapshot.Host
		at             time.Time
		steady, resume *time.Time
	}{
		"the first look is steady since the boot": {nil, host("b1", new(3600.0), new(3600.0)), at, &booted, nil},
		"nothing happened":                        {&prev, host("b1", new(3660.0), new(3060.0)), at, &earlier, &resumed},
		"the clocks are not read at one moment":   {&prev, host("b1", new(3660.4), new(3059.9)), at, &earlier, &resumed},
		"another boot":                            {&prev, host("b2", new(30.0), new(30.0)), at, &at, nil},
		"a resume":                                {&prev, host("b1", new(3660.0), new(3030.0)), at, &at, &at},
		"the wall clock went ahead":               {&prev, host("b1", new(3640.0), new(3040.0)), at, &at, &resumed},
		"the wall clock was put back":             {&prev, host("b1", new(3720.0), new(3120.0)), at, &at, &resumed},
		"a jump that is let pass":                 {&prev, host("b1", new(3651.0), new(3051.0)), at, &earlier, &resumed},
		"time since boot went back":               {&prev, host("b1", new(3599.0), new(2999.0)), t0, &at, &resumed},
		"less suspended than before":              {&prev, host("b1", new(3660.0), new(3070.0)), at, &at, &resumed},
		"no boot id":                              {&prev, host("", new(3660.0), new(3060.0)), at, nil, nil},
		"no time since boot":                      {&prev, host("b1", nil, new(3060.0)), at, nil, nil},
		"no time awake":                           {&prev, host("b1", new(3660.0), nil), at, nil, nil},
		"a first look without clocks":             {nil, host("b1", nil, nil), at, nil, nil},
		"the last look had no clocks":             {&ledger.Look{At: t0, BootID: "b1", SteadySince: &earlier}, host("b1", new(3660.0), new(3060.0)), at, &at, nil},
		"the last look knew nothing steady":       {&ledger.Look{At: t0, BootID: "b1", UpSeconds: new(3600.0), AwakeSeconds: new(3000.0)}, host("b1", new(3660.0), new(3060.0)), at, &at, nil},
		"the last look had no boot id":            {&ledger.Look{At: t0, UpSeconds: new(3600.0), AwakeSeconds: new(3000.0), SteadySince: &earlier}, host("b1", new(3660.0), new(3060.0)), at, &at, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steady, resume := ledger.Steady(tc.prev, tc.host, tc.at, jump)
			if name == "time since boot went back" {
				tc.steady = &tc.at
			}
			must.Equal(t, []*time.Time{tc.steady, tc.resume}, []*time.Time{steady, resume}, "steady since, last resume")
		})
	}
}

func TestLookIsKept(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	if k, err := l.Look(ctx); err != nil || k != nil {
		t.Fatalf("a new ledger has look %v, %v; want none", k, err)
	}
	for _, want := range []ledger.Look{
		{At: t0, BootID: "b1", UpSeconds: new(1.5), AwakeSeconds: new(0.0), SteadySince: &t0, LastResumeAt: new(t0.Add(1))},
		{At: t0.Add(time.Second)}, // what is unknown stays unknown
		{At: t0.Add(2 * time.Second), Asleep: &[]snapshot.Asleep{}},
		{At: t0.Add(3 * time.Second), Asleep: &[]snapshot.Asleep{{From: t0.Add(-time.Hour), Until: t0, Seconds: 1800.5}}},
	} {
		must.Do(t, l.SaveLook(ctx, want))
		got := must.Get(l.Look(ctx))(t)
		must.Equal(t, &want, got, "look")
	}
}
