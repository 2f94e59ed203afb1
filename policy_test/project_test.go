package policy_test

import (
	"fmt"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// sayings are what projects may say of themselves, the widest and the oddest of it among them; nil is a fact that could not be read.
var sayings = []map[string]any{
	{"protected": []any{}, "holds": []any{}, "off": []any{}},
	{"protected": []any{"**"}, "holds": []any{}, "off": []any{}},
	{"protected": []any{"[oops", "../**", "/", "*"}, "holds": []any{}, "off": []any{}},
	{"protected": []any{}, "holds": []any{map[string]any{"path": ".", "reason": "x"}}, "off": []any{}},
	{"protected": []any{}, "holds": []any{}, "off": []any{"protect.live", "protect.unsaved", "protect.protected", "protect.unknown", "protect.debounce"}},
	{"protected": []any{}, "holds": []any{}, "off": []any{"reap.dirs.landed", "reap.processes.orphan", "reap.sessions.idle_shell", "reap.tabs.idle_shell", "reap.terminals.husk"}},
	{"holds": []any{}, "off": []any{}},
	{"protected": []any{}, "holds": []any{}},
	{},
}

// TestAttackNothingThatAProjectSaysReaps puts projects that say anything at all into every world that a case plays in, and wants nothing
// that stayed without them to go.
func TestAttackNothingThatAProjectSaysReaps(t *testing.T) {
	stage.NeedSecond(t, "thousands of worlds are decided")
	if attack.Raced {
		t.Skip("some ten thousand worlds are decided, which takes minutes under the race detector; .ci/run runs it without")
	}
	t.Parallel()
	e := shipped(t)
	a := attack.New(t, "a project's trusted file says anything that it can, in every world of the cases: nothing that stayed is reaped")
	all := cases(t)
	all["herd"], all["tower"] = Case{World: "herd"}, Case{World: "tower"}
	kept := 0
	for name, c := range all {
		config, world := configOf(t, c), worldOf(t, c)
		before := decide(t, e, config, without(world, []string{"projects"}))
		for i, says := range sayings {
			var projects []any
			for _, path := range []string{"/w/acme", "/home/u", "/", ""} {
				projects = append(projects, policytest.Merge(says, map[string]any{"path": path, "file": path + "/.winnow/config.yaml", "state": "trusted", "worktrees": []any{"/w", "/home"}}))
			}
			wrong := ""
			after, err := e.Decide(t.Context(), parse(t, policytest.Merge(world, map[string]any{"projects": projects})), config)
			if err != nil { // the failure of one candidate does not fail all: it keeps that candidate
				t.Fatal(err)
			}
			for _, now := range after.Decisions {
				id, was := now.ID, before[now.ID]
				switch {
				case now.Verdict == decision.Reap && (was == nil || was.Verdict != decision.Reap):
					wrong = fmt.Sprintf("%s, saying %d: %s is reaped", name, i, id)
				case now.Verdict == decision.Spare && was != nil && was.Verdict == decision.Reap:
					kept++
				}
			}
			a.Check(wrong)
		}
	}
	if kept == 0 {
		t.Error("nothing was kept for a project either, so this shows nothing")
	}
}
