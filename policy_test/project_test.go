package policy_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// sayings are what projects may say of themselves, the widest and the oddest of it among them; nil is a fact that could not be read.
var sayings = []map[string]any{
	{"keeps": []any{}, "off": []any{}},
	{"keeps": globbed("**"), "off": []any{}},
	{"keeps": globbed("[oops", "../**", "/", "*", ""), "off": []any{}},
	{"keeps": []any{matching("id", "**"), matching("label", "*"), matching("owner", "**"), matching("kind", "dir"), matching("label", "no such label")}, "off": []any{}},
	{"keeps": []any{policytest.Merge(matching("id", "**"), map[string]any{"until": "2001-01-01"})}, "off": []any{}},
	{"keeps": []any{policytest.Merge(matching("id", "**"), map[string]any{"rules": []any{"protect.live", "", "reap.dirs.landed"}})}, "off": []any{}},
	{"keeps": []any{}, "off": []any{"protect.live", "protect.unsaved", "protect.protected", "protect.unknown", "protect.debounce"}},
	{"keeps": []any{}, "off": []any{"reap.dirs.landed", "reap.processes.orphan", "reap.sessions.idle_shell", "reap.tabs.idle_shell", "reap.terminals.husk"}},
	{"off": []any{}},
	{"keeps": []any{}},
	{},
}

// matching is an entry of a project's file, without an end.
func matching(key, glob string) map[string]any {
	return map[string]any{"match": map[string]any{key: glob}, "why": "y", "who": "z", "until": "never"}
}

// globbed are entries of a project's file that are plain globs.
func globbed(globs ...string) []any {
	out := []any{}
	for _, g := range globs {
		out = append(out, map[string]any{"match": map[string]any{"path": g}})
	}
	return out
}

// TestAttackNothingThatAProjectSaysReaps puts projects that say anything at all into every world that a case plays in, and wants nothing
// that stayed without them to go.
func TestAttackNothingThatAProjectSaysReaps(t *testing.T) {
	if attack.Raced {
		t.Skip("some ten thousand worlds are decided, which takes minutes under the race detector; .ci/run runs it without")
	}
	t.Parallel()
	e := shipped(t)
	a := attack.New(t, "a project's trusted file says anything that it can, in every world of the cases: nothing that stayed is reaped")
	all := cases(t)
	all["herd"], all["tower"] = Case{World: "herd"}, Case{World: "tower"}
	kept, part := 0, 32 // of so many worlds one is taken
	if stage.Second() {
		part = 1
	}
	for n, name := range slices.Sorted(maps.Keys(all)) {
		if n%part != 0 {
			continue
		}
		c := all[name]
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
