package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestBefore gives what a look is compared with: the earliest sweep of the last minutes and of this boot, and the most that was read from a source,
// as far as the same rules decided.
func TestBefore(t *testing.T) {
	t.Parallel()
	l := open(t)
	ctx := t.Context()
	now := t0.Add(48 * time.Hour)
	sweep := func(id string, ago time.Duration, rules, boot string, sources map[string]int, ds ...decision.Decision) {
		t.Helper()
		must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: now.Add(-ago), Mode: "dry-run", Rules: rules, BootID: boot, Sources: sources}))
		must.Do(t, l.SaveDecisions(ctx, id, ds))
	}
	d := func(id, verdict string, rules ...string) decision.Decision {
		x := decision.Decision{ID: id, Kind: "session", Verdict: verdict, InScope: true, Findings: []decision.Reason{}, Objections: []decision.Reason{}}
		for _, r := range rules {
			x.Objections = append(x.Objections, decision.Reason{Rule: r, Message: "m"})
		}
		return x
	}
	const minute = time.Minute
	sweep("1", 30*time.Hour, "r", "b", map[string]int{"registry/w": 99, "proc": 99})
	sweep("2", 20*time.Hour, "r", "a", map[string]int{"registry/w": 20, "proc": 400})
	sweep("3", 2*time.Hour, "r", "b", map[string]int{"registry/w": 12, "proc": 300})
	sweep("4", 14*minute, "other", "b", map[string]int{"registry/w": 50}, d("session:other", "spare", decision.RuleLive))
	sweep("5", 13*minute, "r", "a", map[string]int{"proc": 500}, d("session:boot", "spare", decision.RuleLive))
	sweep("6", 12*minute, "r", "b", nil, d("session:cleanup", "spare", decision.RuleLive))
	sweep("7", 10*minute, "r", "b", map[string]int{"registry/w": 4, "proc": 90},
		d("session:live", "spare", decision.RuleLive), d("session:owned", "spare", "protect.young", decision.RuleOwned),
		d("session:shown", "spare", decision.RuleAttached), d("session:wait", "spare", decision.RuleDebounce), d("session:none", "spare"),
		d("session:reap", "reap"))
	sweep("8", 5*minute, "r", "b", map[string]int{"proc": 80}, d("session:later", "spare", decision.RuleLive))

	ask := ledger.Asked{Rules: "r", BootID: "b", Jump: now.Add(-15 * minute), Shrunk: now.Add(-24 * time.Hour), InBoot: []string{"proc"}}
	got := must.Get(l.Census(ctx, ask))(t)
	want := ledger.Census{
		At:   now.Add(-10 * minute),
		Used: map[string]bool{"session:live": true, "session:owned": true, "session:shown": true},
		Most: map[string]ledger.Most{"registry/w": {Seen: 20, At: now.Add(-20 * time.Hour)}, "proc": {Seen: 90, At: now.Add(-10 * minute)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	ask.Rules = "new"
	got = must.Get(l.Census(ctx, ask))(t)
	if diff := cmp.Diff(ledger.Census{Used: map[string]bool{}, Most: map[string]ledger.Most{}}, got); diff != "" {
		t.Errorf("with rules without a known sweep: -want +got:\n%s", diff)
	}
}
