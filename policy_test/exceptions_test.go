package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	ruleset "github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// exceptionsSaying are what a file of exceptions may say, the widest and the oddest among it.
func exceptionsSaying() [][]snapshot.Keep {
	var out [][]snapshot.Keep
	for _, what := range []snapshot.Match{
		{Path: "/**"}, {Path: "~"}, {Path: "/w/feature"}, {Label: "*"}, {Owner: "**"}, {ID: "**"}, {Label: "[oops"}, {Kind: "dir", Label: "f*"}, {},
	} {
		for _, until := range []string{snapshot.Never, "2000-01-01", "2900-01-01", "no time"} {
			for _, rules := range [][]string{nil, {"reap.dirs.landed", "reap.processes.orphan"}, {"protect.live", "protect.unsaved", ""}} {
				out = append(out, []snapshot.Keep{{Match: what, Why: "y", Who: "protect.live", Until: until, Rules: rules, File: "x", Line: 1}})
			}
		}
	}
	return out
}

// TestAttackNothingThatAnExceptionSaysReaps adds exceptions that say anything at all to the policies, in worlds that cases play in, and wants nothing that stayed
// without them to go.
func TestAttackNothingThatAnExceptionSaysReaps(t *testing.T) {
	stage.NeedSecond(t, "thousands of worlds are decided")
	if attack.Raced {
		t.Skip("some thousand worlds are decided, in which nothing runs beside anything: without the race detector, as .ci/run does")
	}
	t.Parallel()
	e := shipped(t)
	a := attack.New(t, "a tree's exceptions say anything that they can, in many worlds of the cases: nothing that stayed is reaped")
	all := map[string]Case{"machine": {}, "herd": {World: "herd"}, "tower": {World: "tower"}}
	n := 0
	for name, c := range cases(t) {
		if n++; n%20 == 0 || len(c.Exceptions) > 0 {
			all[name] = c
		}
	}
	kept := 0
	for name, c := range all {
		config, world := configOf(t, c), worldOf(t, c)
		before := decide(t, e, config, world)
		s := parse(t, world)
		for i, more := range exceptionsSaying() {
			with := *config
			with.Exceptions = append(more, config.Exceptions...)
			after := must.Get(e.Decide(t.Context(), s, &with))(t)
			wrong := ""
			for _, now := range after.Decisions {
				was := before[now.ID]
				switch {
				case now.Verdict == decision.Reap && (was == nil || was.Verdict != decision.Reap):
					wrong = fmt.Sprintf("%s, saying %d: %s is reaped", name, i, now.ID)
				case now.Verdict == decision.Spare && was != nil && was.Verdict == decision.Reap:
					kept++
				}
			}
			a.Check(wrong)
		}
	}
	if kept == 0 {
		t.Error("nothing was kept for an exception either, so this shows nothing")
	}
}

// TestWhatARepositoryKeepsWithoutARuleThatReadsIt stays all the same, and is explained so; what its entries do not match goes. With the rule it is that rule that keeps it.
func TestWhatARepositoryKeepsWithoutARuleThatReadsIt(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for name, text := range ruleset.Texts(t, policies.Files) {
		if !strings.HasPrefix(name, "protect/project/") {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "own", FS: files}}})
	must.Do(t, err)
	bare := eval.New(p, eval.Limits{})
	config := configOf(t, Case{})
	world := func(keeps any) document {
		return policytest.Merge(worldOf(t, Case{}), map[string]any{"projects": []any{map[string]any{
			"path": "/home/u/acme", "file": "/home/u/acme/.winnow/config.yaml", "state": "trusted", "worktrees": []any{"/w/feature"}, "keeps": keeps, "off": []any{},
		}}})
	}
	for want, e := range map[string]*eval.Engine{decision.RuleUnknown: bare, decision.RuleProject: shipped(t)} {
		for name, keeps := range map[string]any{"an entry": []any{matching("label", "feature")}, "what is not known": nil} {
			got := decide(t, e, config, world(keeps))["dir:/w/feature"]
			if got.Verdict != decision.Spare || !slices.Equal(got.Objections, []string{want}) {
				t.Errorf("%s: want %s to keep it, got %+v", name, want, got)
			}
			sub, _ := subject.Join(parse(t, world(keeps)), config).Subject("dir:/w/feature")
			x, err := e.Explain(t.Context(), sub)
			if err != nil || x.Verdict != decision.Spare || x.Objections[0].Rule != want {
				t.Errorf("%s: explained as %+v, %v", name, x.Objections, err)
			}
		}
		if got := decide(t, e, config, world([]any{matching("label", "other")}))["dir:/w/feature"]; got.Verdict != decision.Reap {
			t.Errorf("an entry of something else keeps it: %+v", got)
		}
	}
}

// TestTheExceptionsOfThePoliciesAreAlwaysInForce decides by a configuration that has none of those that the engine's policies bring.
func TestTheExceptionsOfThePoliciesAreAlwaysInForce(t *testing.T) {
	t.Parallel()
	c := Case{}
	tree := policy.Tree{Name: "team", FS: fstest.MapFS{policy.ExceptionsName: {Data: []byte("exceptions: [{match: {path: /w/feature}, why: y, who: z, until: never}]")}}, Prefix: "team"}
	e := shipped(t, tree)
	got := decide(t, e, configOf(t, c), worldOf(t, c))["dir:/w/feature"]
	if got.Verdict != decision.Spare || len(got.Objections) != 1 || got.Objections[0] != "protect.excepted" {
		t.Errorf("want the policies' exception to keep it, got %+v", got)
	}
}
