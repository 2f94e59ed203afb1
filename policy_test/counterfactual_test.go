package policy_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/figures"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// TestEveryWayIsTheSmallest searches what would turn the verdicts of a fixed sample of the cases' candidates, and lets OPA itself decide each
// document with what was found: the verdict is the other one, and with any part of it alone it is not. TEST_TIMES=8 takes all cases.
func TestEveryWayIsTheSmallest(t *testing.T) {
	stage.NeedSecond(t, "thousands of worlds are decided")
	if attack.Raced {
		t.Skip("thousands of documents are decided one after the other: without the race detector, as .ci/run does")
	}
	t.Parallel()
	every := max(1, 8/uint32(stage.Trials(1, 1)))
	engine, stock := shipped(t), opa(t)
	var mu sync.Mutex
	asked, found := 0, 0
	var missed []string
	t.Run("cases", func(t *testing.T) {
		for name, c := range cases(t) {
			if crc32.ChecksumIEEE([]byte(name))%every != 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				j := subject.Join(parse(t, worldOf(t, c)), configOf(t, c))
				for id := range c.Want {
					sub, ok := j.Subject(id)
					if !ok || c.Want[id] == nil {
						continue
					}
					o := must.Get(engine.Counterfactual(t.Context(), sub, eval.Search{}))(t)
					proves(t, stock, sub, o)
					if testing.Verbose() {
						data, _ := json.Marshal(o)
						t.Logf("%s %s: %s", name, id, data)
					}
					mu.Lock()
					asked++
					if len(o.Ways) > 0 {
						found++
					} else {
						missed = append(missed, fmt.Sprintf("%s %s: %s", name, id, o.Limit))
					}
					mu.Unlock()
				}
			})
		}
	})
	slices.Sort(missed)
	figures.Logf(t, "a way for %d of %d candidates; none for\n%s", found, asked, strings.Join(missed, "\n"))
	if asked == 0 || found*100 < asked*75 {
		t.Errorf("a way was found for %d of %d candidates; want at least 75 of 100", found, asked)
	}
}

// proves asks OPA about every way and about every proper part of it, the empty one included.
func proves(t *testing.T, stock rego.PreparedEvalQuery, sub *subject.Subject, o *decision.Counterfactual) {
	t.Helper()
	if (len(o.Ways) == 0) == (o.Limit == "") {
		t.Errorf("%s: %d ways, and the limit %q", sub.ID, len(o.Ways), o.Limit)
	}
	for _, way := range o.Ways {
		for chosen := range 1 << len(way) {
			var doc any = plain(t, sub)
			for i, c := range way {
				if chosen>>i&1 == 1 {
					doc = otherwise(t, doc, c)
				}
			}
			got, whole := verdict(t, stock, doc), chosen == 1<<len(way)-1
			if (got == o.Verdict) != whole {
				t.Errorf("%s: %s with changes %b of %v; want %s with all of them alone", sub.ID, got, chosen, way, o.Verdict)
			}
		}
	}
}

func verdict(t *testing.T, stock rego.PreparedEvalQuery, doc any) string {
	t.Helper()
	rs, err := stock.Eval(t.Context(), rego.EvalInput(doc))
	if err != nil || len(rs) != 1 {
		t.Fatalf("%d answers: %v", len(rs), err)
	}
	said, ok := rs[0].Expressions[0].Value.(map[string]any)
	if !ok {
		t.Fatalf("no decision: %v", rs[0].Expressions[0].Value)
	}
	word, _ := said["verdict"].(string)
	return word
}

// otherwise is a document with one fact otherwise.
func otherwise(t *testing.T, doc any, c decision.Change) any {
	t.Helper()
	ref := must.Get(ast.ParseRef(c.Fact))(t)
	return set(t, doc, ref[1:], c)
}

func set(t *testing.T, at any, path ast.Ref, c decision.Change) any {
	t.Helper()
	if len(path) == 0 {
		return c.To
	}
	switch v := at.(type) {
	case nil:
		return set(t, map[string]any{}, path, c)
	case map[string]any:
		name := string(path[0].Value.(ast.String))
		if len(path) == 1 && c.Gone {
			delete(v, name)
		} else {
			v[name] = set(t, v[name], path[1:], c)
		}
		return v
	case []any:
		i, _ := path[0].Value.(ast.Number).Int()
		if len(path) == 1 && c.Gone {
			return slices.Delete(v, i, i+1)
		}
		v[i] = set(t, v[i], path[1:], c)
		return v
	}
	t.Fatalf("%s: no such fact", c.Fact)
	return nil
}
