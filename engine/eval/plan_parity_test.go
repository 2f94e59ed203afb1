package eval_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// TestPlanSaysWhatOPASays holds the engine's plan to OPA's own evaluator on the same candidates: whether they are in scope, and every rule that finds or objects,
// with its message and its evidence.
func TestPlanSaysWhatOPASays(t *testing.T) {
	t.Parallel()
	stage.NeedSecond(t, "some ten thousand documents are decided twice")
	attack.WithoutRaces(t)
	policy := rules.Shipped(t)
	e := worlds.Engine(t, policy, eval.Limits{Workers: 1, Timeout: time.Minute})
	same := comparison{engine: e, found: map[string]int{}}
	for seed := range uint64(4) {
		config := worlds.Every()
		if seed%2 == 1 {
			for kind, rules := range map[string][]string{"dir": {"reap.dirs.disposable"}, "session": {"reap.sessions.idle_shell", "reap.sessions.finished"}, "process": {"reap.processes.orphan"}} {
				config.Levels = append(config.Levels, subject.RuleLevel{Rule: "protect.unsaved", Kind: kind, Level: "off"})
				for i, rule := range rules {
					config.Levels = append(config.Levels, subject.RuleLevel{Rule: rule, Kind: kind, Level: []string{"ask", "observe", "off"}[(int(seed)+i)/2%3]})
				}
			}
		}
		for _, missing := range []float64{0, 0.02, 0.15} {
			m := worlds.New(seed, missing)
			same.hold(t, m, fmt.Sprintf("world %d, %g missing", seed, missing), m.World(150), config)
			same.hold(t, m, fmt.Sprintf("further world %d, %g missing", seed, missing), m.Further(150), config)
		}
	}
	all := must.Get(policytest.Incidents())(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		doc := must.Get(c.Document())(t)
		config := must.Get(c.Rules())(t)
		for _, missing := range []float64{0, 0.03} {
			s := must.Get(policytest.Parse(without(random, missing, doc)))(t)
			same.hold(t, nil, fmt.Sprintf("%s, %g missing", name, missing), s, config)
		}
	}
	t.Logf("%d candidates in scope, %d out of scope, %d without an answer: %v", same.in, same.out, same.failed, same.found)
	if same.failed > (same.in+same.out)/100 {
		t.Errorf("%d of %d candidates had no answer", same.failed, same.in+same.out)
	}
	for _, kind := range snapshot.KindNames() {
		if same.found[kind] < 100 {
			t.Errorf("%d candidates of the kind %s in scope, want at least 100", same.found[kind], kind)
		}
	}
	for r := range policy.Rules() {
		if same.found[r] < 10 {
			t.Errorf("%s said something of %d candidates, want at least 10", r, same.found[r])
		}
	}
}

// comparison holds an engine's plan to OPA's evaluator.
type comparison struct {
	engine          *eval.Engine
	in, out, failed int
	// found counts candidates by kind and by the rules that spoke of them.
	found map[string]int
}

// hold compares all candidates of a snapshot, and odd ones that a maker makes of them.
func (c *comparison) hold(t *testing.T, m *worlds.Maker, world string, s *snapshot.Snapshot, config *subject.Config) {
	t.Helper()
	j := subject.Join(s, config)
	judge := eval.NewAsker(t, c.engine, j)
	defer judge.Close()
	for _, kind := range snapshot.KindNames() {
		for _, id := range j.IDs(kind) {
			sub, ok := j.Subject(id)
			if !ok {
				t.Fatalf("%s: no subject %s", world, id)
			}
			c.one(t, world, judge, sub)
			if m != nil {
				for range 3 {
					c.one(t, world+", odd", judge, m.Odd(sub))
				}
			}
		}
	}
}

func (c *comparison) one(t *testing.T, world string, judge *eval.Asker, sub *subject.Subject) {
	t.Helper()
	want, err := judge.Topdown(sub)
	if err != nil { // such as of a folder for which two facts say where another repository lies: then there is nothing to compare
		c.failed++
		return
	}
	have, err := judge.Plan(sub)
	if err != nil {
		c.failed++ // the engine asks OPA's evaluator then
		return
	}
	if diff := cmp.Diff([]any{want.In, saying(t, want.Findings), saying(t, want.Objections)}, []any{have.In, saying(t, have.Findings), saying(t, have.Objections)}); diff != "" {
		t.Errorf("%s: %s (-OPA +plan):\n%s", world, sub.ID, diff)
	}
	if !want.In {
		c.out++
		return
	}
	c.in++
	c.found[sub.Kind]++
	for _, rule := range rulesOf(slices.Concat(want.Findings, want.Objections)) {
		c.found[rule]++
	}
}

// saying is what reasons say, each once, with their evidence as JSON has it.
func saying(t *testing.T, reasons []decision.Reason) []decision.Reason {
	t.Helper()
	said := map[string]decision.Reason{}
	for _, r := range reasons {
		var plain decision.Reason
		must.Do(t, json.Unmarshal(worlds.JSON(t, decision.Reason{Rule: r.Rule, Message: r.Message, Evidence: r.Evidence}), &plain))
		said[string(worlds.JSON(t, plain))] = plain
	}
	out := make([]decision.Reason, 0, len(said))
	for _, text := range slices.Sorted(maps.Keys(said)) {
		out = append(out, said[text])
	}
	return out
}

func rulesOf(reasons []decision.Reason) []string {
	var out []string
	for _, r := range reasons {
		out = append(out, r.Rule)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// without is a copy of a document from which facts are taken away, each with a likelihood.
func without(r *rand.Rand, missing float64, v any) map[string]any {
	out, _ := copyWithout(r, missing, v).(map[string]any)
	for _, key := range []string{"schema", "taken_at"} {
		out[key] = v.(map[string]any)[key]
	}
	return out
}

func copyWithout(r *rand.Rand, missing float64, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if r.Float64() >= missing || strings.Contains(k, ":") {
				out[k] = copyWithout(r, missing, v[k])
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = copyWithout(r, missing, v[i])
		}
		return out
	}
	return v
}
