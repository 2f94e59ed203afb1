package sources

import (
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestNeedsOfRules holds that a rule which is off for folders needs nothing there: what it would keep is then looked into.
func TestNeedsOfRules(t *testing.T) {
	t.Parallel()
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: policies.Files}}})
	must.Do(t, err)
	for need, rule := range map[string]string{"holders": decision.RuleLive, "age": "protect.young", "parts": "reap.content.rebuildable"} {
		set := Set{Config: &config.Config{}, Policy: p, Log: hclog.NewNullLogger()}
		if !slices.Contains(set.neededOfDirs(), need) {
			t.Errorf("no rule needs %s", need)
		}
		set.Config.Rules.Levels = []subject.RuleLevel{{Kind: snapshot.KindDir, Rule: rule, Level: decision.Off}}
		if slices.Contains(set.neededOfDirs(), need) {
			t.Errorf("%s is off, and %s is needed all the same", rule, need)
		}
		if o := set.dirOptions(Scope{}); o.UsedToo != (need == "holders") || o.YoungToo != (need == "age") || o.WholeOnly != (need == "parts") {
			t.Errorf("%s is off: %v, %v, %v", rule, o.UsedToo, o.YoungToo, o.WholeOnly)
		}
	}
}
