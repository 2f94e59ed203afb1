package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

// TestTabsThatFollowWhatTheyShow: a tab is asked about again only where nothing else keeps it, and all that it shows goes.
func TestTabsThatFollowWhatTheyShow(t *testing.T) {
	t.Parallel()
	shown := func(ids ...any) decision.Reason {
		return decision.Reason{Rule: decision.RuleShowing, Evidence: map[string]any{"sessions": ids}}
	}
	found := []decision.Reason{{Rule: "reap.tabs.ownerless"}}
	tab := func(objections ...decision.Reason) decision.Decision {
		return decision.Decision{ID: "tab:vscode/3f9a01bc/1", Kind: snapshot.KindTab, Verdict: decision.Spare, Findings: found, Objections: objections}
	}
	with := func(d decision.Decision, change func(*decision.Decision)) decision.Decision { change(&d); return d }
	goes := map[string]bool{"terminal:codev/d/a": true, "terminal:codev/d/b": true}
	for name, c := range map[string]struct {
		of   decision.Decision
		want []string
	}{
		"all that it shows goes":        {tab(shown("terminal:codev/d/a", "terminal:codev/d/b")), []string{"terminal:codev/d/a", "terminal:codev/d/b"}},
		"a part of it stays":            {tab(shown("terminal:codev/d/a", "terminal:codev/d/c")), nil},
		"what it shows is not known":    {tab(shown()), nil},
		"what it shows is not a list":   {tab(decision.Reason{Rule: decision.RuleShowing, Evidence: map[string]any{"sessions": "terminal:codev/d/a"}}), nil},
		"it waits for a second look":    {tab(shown("terminal:codev/d/a"), decision.Reason{Rule: decision.RuleDebounce}), nil},
		"something else keeps it":       {tab(shown("terminal:codev/d/a"), decision.Reason{Rule: "protect.held"}), nil},
		"another rule names sessions":   {tab(decision.Reason{Rule: "protect.mine", Evidence: map[string]any{"sessions": []any{"terminal:codev/d/a"}}}), nil},
		"no rule found a reason":        {with(tab(shown("terminal:codev/d/a")), func(d *decision.Decision) { d.Findings = nil }), nil},
		"it goes by itself":             {with(tab(), func(d *decision.Decision) { d.Verdict = decision.Reap }), nil},
		"it is a candidate of any kind": {with(tab(shown("terminal:codev/d/a")), func(d *decision.Decision) { d.Kind = snapshot.KindDir }), nil},
	} {
		got := sweep.Showing([]decision.Decision{c.of}, func(id string) bool { return goes[id] })[c.of.ID]
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
