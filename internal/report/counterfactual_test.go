package report

import (
	"encoding/json"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// TestCounterfactualInWords: one sentence, in the words of the facts.
func TestCounterfactualInWords(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		o    *decision.Counterfactual
		want string
	}{
		"not searched": {nil, ""},
		"two facts, one a span of time": {
			&decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{{
				{Fact: "input.dir.git.dirty", From: json.Number("3"), To: json.Number("0")},
				{Fact: "input.idle", From: json.Number("7200"), To: json.Number("259200"), Bound: "at least"},
			}}},
			"it would go if input.dir.git.dirty were 0 (it is 3) and input.idle were at least 3d (it is 2h)",
		},
		"each of two facts keeps it": {
			&decision.Counterfactual{Verdict: decision.Spare, Ways: []decision.Way{
				{{Fact: "input.dir.holders_known", From: true, To: false}},
				{{Fact: "input.tab.pane_count", Unknown: true, To: 2.0}},
			}},
			"it would stay if input.dir.holders_known were false (it is true), or if input.tab.pane_count were 2 (it is not known)",
		},
		"lists and what is gone": {
			&decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{{
				{Fact: "input.hold", From: map[string]any{"owner": "me"}, Gone: true},
				{Fact: "input.holders", From: []any{"a", "b"}, To: []any{}},
				{Fact: "input.spawns[1]", From: map[string]any{"id": "x"}, Gone: true},
				{Fact: "input.terminal.below", From: []any{}, Gone: true},
			}}},
			`it would go if there were no input.hold (it is {"owner":"me"}) and input.holders were empty (it is ["a","b"]) and there were no input.spawns[1] (it is {"id":"x"})` +
				" and input.terminal.below were not known (it is [])",
		},
		"an earlier look, and a pane": {
			&decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{{
				{Fact: "input.sighting", Unknown: true, To: map[string]any{"first": json.Number("300"), "idle": json.Number("300")}},
				{Fact: "input.tab.panes[0]", From: map[string]any{}, To: map[string]any{"dead": false}},
			}}},
			"it would go if a look 5m ago had found the same, and it had done nothing since and nothing but its shell ran in input.tab.panes[0]",
		},
		"no way": {
			&decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{}, Limit: "no single fact would change this. --rules"},
			"no single fact would change this. --rules",
		},
		"who uses a folder": {
			&decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{{{Fact: "input.holders", To: []any{}, From: []any{
				map[string]any{"how": "cwd", "name": "bash", "pid": json.Number("1064")}}}}}},
			"it would go if bash (1064) had left it",
		},
		"a hostile value": {
			&decision.Counterfactual{Verdict: decision.Reap, Ways: []decision.Way{{{Fact: "input.dir.git.upstream", From: "\x1b[31mred\n", To: "x"}}}},
			`it would go if input.dir.git.upstream were "x" (it is "\u001b[31mred\n")`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if have := Counterfactual(c.o); have != c.want {
				t.Errorf("have %s\nwant %s", have, c.want)
			}
		})
	}
}
