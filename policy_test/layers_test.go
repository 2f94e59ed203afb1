package policy_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// reaped are the candidates that go, also with the worktree that they lie in.
func reaped(s *snapshot.Snapshot, ds []decision.Decision) map[string]bool {
	out := map[string]bool{}
	for _, d := range ds {
		out[d.ID] = d.Verdict == decision.Reap
	}
	for id, d := range s.Dirs {
		if d.Content != nil && out[d.Content.ID] {
			out[id] = true
		}
	}
	return out
}

// TestParametersReapNoMoreInTheDirectionThatKeeps moves every parameter whose direction the program knows both ways, in worlds of the cases, and holds
// that nothing goes in the milder one of two that stays in the harsher one: grants of parameters rest on it.
func TestParametersReapNoMoreInTheDirectionThatKeeps(t *testing.T) {
	stage.NeedSecond(t, "thousands of worlds are decided")
	if attack.Raced {
		t.Skip("some ten thousand worlds are decided, and nothing runs beside anything: without the race detector, as .ci/run does")
	}
	t.Parallel()
	e := shipped(t)
	all := cases(t)
	all["herd"], all["tower"], all["machine"] = Case{World: "herd"}, Case{World: "tower"}, Case{}
	names := slices.Sorted(maps.Keys(all))
	moved := map[string]bool{}
	for n, name := range names {
		c := all[name]
		base, world := configOf(t, c), parse(t, worldOf(t, c))
		for i, key := range config.Parameters() {
			if (n+i)%share != 0 && !slices.Contains(whole, name) {
				continue
			}
			// From the mildest to the harshest.
			var before map[string]bool
			for step, v := range steps(config.Direction(key), at(t, base, key)) {
				now := world
				res := must.Get(e.Decide(t.Context(), now, with(t, base, key, v)))(t)
				goes := reaped(world, res.Decisions)
				for id := range before {
					if before[id] && !goes[id] {
						t.Errorf("%s: with rules.%s at %.80v, which should keep less, %s stays, and it goes with a value that should keep more (step %d)", name, key, v, id, step)
					}
				}
				moved[key] = moved[key] || before != nil && !maps.Equal(before, goes)
				before = goes
			}
		}
	}
	maps.DeleteFunc(moved, func(_ string, m bool) bool { return !m })
	if len(moved) < atLeast {
		t.Errorf("only %d parameters changed a decision, so this shows little: %q", len(moved), slices.Sorted(maps.Keys(moved)))
	}
}

// share is how many worlds there are for each one in which a parameter is moved, and whole are worlds in which all of them are. With a share of 1 it
// takes minutes. atLeast is how many parameters must change a decision.
const (
	share   = 128
	atLeast = 15
)

var whole = []string{"machine"}

// steps are values of a parameter from the mildest to the harshest, with the one that it has among them.
func steps(direction string, v any) []any {
	list, _ := v.([]any)
	some := []any{}
	for i, x := range list {
		if i%2 == 0 {
			some = append(some, x)
		}
	}
	f, _ := v.(float64)
	half := f / 2
	if f == math.Trunc(f) { // sizes are whole numbers
		half = math.Trunc(half)
	}
	switch direction {
	case "larger":
		return []any{f*1000 + 1e8, f*2 + 60, f, half, 0.0}
	case "smaller":
		return []any{0.0, half, f, f*2 + 1, 1e9}
	case "more":
		return []any{v, some, []any{}}
	case "fewer":
		return []any{[]any{}, some, v}
	case "yes":
		return []any{true, false}
	}
	return nil
}

// at is the value of a parameter as JSON has it.
func at(t *testing.T, c *subject.Config, key string) any {
	t.Helper()
	var v any = tree(t, c)
	for part := range strings.SplitSeq(key, ".") {
		section, _ := v.(map[string]any)
		v = section[part]
	}
	return v
}

func tree(t *testing.T, c *subject.Config) map[string]any {
	t.Helper()
	data := must.Get(json.Marshal(c))(t)
	var out map[string]any
	must.Do(t, json.Unmarshal(data, &out))
	return out
}

// with is a configuration with another value of one parameter.
func with(t *testing.T, c *subject.Config, key string, v any) *subject.Config {
	t.Helper()
	parts := strings.Split(key, ".")
	doc := tree(t, c)
	section := doc
	for _, part := range parts[:len(parts)-1] {
		section, _ = section[part].(map[string]any)
	}
	if section == nil { // a parameter that policies do not see
		return c
	}
	section[parts[len(parts)-1]] = v
	data := must.Get(json.Marshal(doc))(t)
	var out subject.Config
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return &out
}
