package policy_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// trusting is a world in which repositories at some paths have the exceptions of that digest.
func trusting(world document, exceptions string, worktrees []any, paths ...string) document {
	var projects []any
	for _, path := range paths {
		projects = append(projects, map[string]any{
			"path": path, "file": path + "/.winnow/config.yaml", "state": "trusted", "worktrees": worktrees, "exceptions": exceptions,
			"protected": []any{}, "holds": []any{}, "off": []any{},
		})
	}
	return policytest.Merge(world, map[string]any{"projects": projects})
}

// TestAttackARepositorysExceptionsOnlyKeep has repositories bring the widest and the oddest exceptions, in worlds of the cases, and wants nothing to go
// that stayed without them. Where the exceptions are missing everything in the repository stays.
func TestAttackARepositorysExceptionsOnlyKeep(t *testing.T) {
	if attack.Raced {
		t.Skip("hundreds of worlds are decided: without the race detector, as .ci/run does")
	}
	t.Parallel()
	a := attack.New(t, "a trusted repository's exceptions match anything that they can, in worlds of the cases: nothing that stayed is reaped")
	alone, with := shipped(t), shipped(t)
	names := []string{"everything", "folders", "not here", "nothing", "passed"}
	var repositories []eval.Repository
	for name, x := range map[string]snapshot.Keep{
		"everything": {Match: snapshot.Match{ID: "**"}, Until: "never"}, "folders": {Match: snapshot.Match{Path: "**", Kind: "dir"}, Until: "never"},
		"nothing": {Match: snapshot.Match{Label: "no such label"}, Until: "never"}, "passed": {Match: snapshot.Match{ID: "**"}, Until: "2001-01-01"},
	} {
		x.Why, x.Who, x.Within = "y", "z", name
		repositories = append(repositories, eval.Repository{Digest: name, Exceptions: []snapshot.Keep{x}})
	}
	with.Admit(repositories...)
	all, part := cases(t), stage.Trials(16, 4) // of so many worlds one is taken
	said := map[string]int{}
	for n, name := range slices.Sorted(maps.Keys(all)) {
		if n%part != 0 {
			continue
		}
		c := all[name]
		config, world := configOf(t, c), without(worldOf(t, c), []string{"projects"})
		before, err := alone.Decide(t.Context(), parse(t, world), config)
		if err != nil {
			t.Fatal(err)
		}
		was, had := reaped(parse(t, world), before.Decisions), map[string]bool{} // had: kept by an exception of the configuration's own
		for _, d := range before.Decisions {
			had[d.ID] = slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule == "protect.excepted" })
		}
		exceptions := names[n/part%len(names)]
		after, err := with.Decide(t.Context(), parse(t, trusting(world, exceptions, []any{"/w"}, "/w/acme", "/home/u")), config)
		if err != nil {
			t.Fatal(err)
		}
		wrong := ""
		for _, d := range after.Decisions {
			if d.Verdict == decision.Reap && !was[d.ID] {
				wrong = name + ", with exceptions that match " + exceptions + ": " + d.ID + " is reaped"
			}
			for _, o := range d.Objections {
				if o.Rule == "protect.excepted" && !had[d.ID] || o.Evidence["repository"] != nil {
					said[exceptions+" "+o.Rule]++
				}
			}
		}
		a.Check(wrong)
	}
	for _, want := range []string{"everything protect.excepted", "folders protect.excepted", "not here " + decision.RuleUnknown} {
		if said[want] == 0 {
			t.Errorf("%s: nothing was kept by it, so this shows nothing; what was: %v", want, said)
		}
	}
	if said["passed protect.excepted"] != 0 {
		t.Errorf("exceptions that have passed kept something: %v", said)
	}
}

// past is a moment before every look.
