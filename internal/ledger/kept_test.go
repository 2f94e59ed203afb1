package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestPassed(t *testing.T) {
	t.Parallel()
	look := func(boot string, up float64, at time.Duration) ledger.Look {
		return ledger.Look{At: t0.Add(at), BootID: boot, UpSeconds: &up}
	}
	none := look("a", 0, time.Hour)
	none.UpSeconds = nil
	for name, c := range map[string]struct {
		prev *ledger.Look
		now  ledger.Look
		want time.Duration
	}{
		"a first look":                         {nil, look("a", 1000, 0), 0},
		"an hour":                              {new(look("a", 100, 0)), look("a", 3700, time.Hour), time.Hour},
		"the wall clock jumped ahead":          {new(look("a", 100, 0)), look("a", 160, 8*24*time.Hour), time.Minute},
		"the wall clock jumped back":           {new(look("a", 100, 0)), look("a", 160, -time.Hour), time.Minute},
		"a boot":                               {new(look("a", 100, 0)), look("b", 60, time.Hour), time.Minute},
		"a machine that is up for longer":      {new(look("a", 100, 0)), look("b", 86400, time.Hour), time.Hour},
		"a boot and a wall clock before it":    {new(look("a", 100, 0)), look("b", 60, -time.Hour), 0},
		"the count is not known":               {new(look("a", 100, 0)), none, 0},
		"the count was not known":              {&none, look("a", 100, time.Hour), 0},
		"the boot is not known":                {new(look("a", 100, 0)), look("", 200, time.Hour), 0},
		"the count went back, which it cannot": {new(look("a", 100, 0)), look("a", 50, time.Hour), 0},
	} {
		if got := ledger.Passed(c.prev, c.now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestWaited counts from the act on, and is not moved by the wall clock.
func TestWaited(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	look := func(up float64, at time.Duration) {
		must.Do(t, l.SaveLook(ctx, ledger.Look{At: t0.Add(at), BootID: "a", UpSeconds: &up}))
	}
	look(100, 0)
	look(200, 100*time.Second)
	must.Do(t, l.Intend(ctx, intent("01AAA", t0)))
	look(260, 8*24*time.Hour)
	look(270, 9*24*time.Hour)
	if got, err := l.Waited(ctx, "01AAA"); err != nil || got != 70*time.Second {
		t.Errorf("waited %s, %v", got, err)
	}
	if _, err := l.Waited(ctx, "01AAB"); !errors.Is(err, ledger.ErrNone) {
		t.Errorf("want ErrNone, got %v", err)
	}
}

// TestAdopt takes in what the ledger does not know, and what it wrongly holds for gone; nothing else.
func TestAdopt(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	until := t0.Add(time.Hour)
	out := decision.Outcome{Outcome: decision.Done, RestoreUntil: &until}
	for id, want := range map[string]bool{"01UNKNOWN": true, "01KEPT": false, "01RESTORED": true, "01PURGED": true, "01OPEN": false, "01REFUSED": true} {
		if id != "01UNKNOWN" {
			must.Do(t, l.Intend(ctx, intent(id, t0)))
		}
		switch id {
		case "01REFUSED":
			must.Do(t, l.Settled(ctx, id, decision.Outcome{Outcome: decision.Refused}))
		case "01KEPT", "01RESTORED", "01PURGED":
			must.Do(t, l.Settled(ctx, id, out))
		}
		switch id {
		case "01RESTORED":
			must.Do(t, l.MarkRestored(ctx, id, t0))
		case "01PURGED":
			must.Do(t, l.MarkPurged(ctx, id, t0))
		}
		if got, err := l.Adopt(ctx, intent(id, t0), out); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", id, got, err, want)
		}
		if again, err := l.Adopt(ctx, intent(id, t0), out); err != nil || again {
			t.Errorf("%s again: %v, %v", id, again, err)
		}
	}
	acts := must.Get(l.Restorable(ctx))(t)
	must.Equal(t, []string{"01UNKNOWN", "01RESTORED", "01REFUSED", "01PURGED", "01KEPT"}, ids(acts), "restorable")
}
