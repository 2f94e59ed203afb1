package policy_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestSpansAgree holds that a rule's message and the program's own columns write the same duration in the same words.
func TestSpansAgree(t *testing.T) {
	t.Parallel()
	source := must.Get(policies.Files.ReadFile("lib/reasons/reasons.rego"))(t)
	q, err := rego.New(rego.Query("x := [data.policies.lib.reasons.span(s) | some s in input]"), rego.StrictBuiltinErrors(true),
		rego.Module("words.rego", string(source))).PrepareForEval(t.Context())
	must.Do(t, err)
	var seconds []float64
	for _, edge := range []float64{0, 1, 10, 60, 3600, 86400, 10 * 86400, 31 * 86400, 366 * 86400, 60 * 366 * 86400} {
		seconds = append(seconds, edge-1, edge-0.25, edge, edge+0.25, edge+1)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for limit := 2.0; limit < 5e9; limit *= 2 {
		for range 60 {
			seconds = append(seconds, r.Float64()*limit)
		}
	}
	rs, err := q.Eval(t.Context(), rego.EvalInput(seconds))
	if err != nil || len(rs) != 1 {
		t.Fatal(rs, err)
	}
	data := must.Get(json.Marshal(rs[0].Bindings["x"]))(t)
	var spans []string
	if err := json.Unmarshal(data, &spans); err != nil || len(spans) != len(seconds) {
		t.Fatalf("%d spans of %d: %v", len(spans), len(seconds), err)
	}
	for i, s := range seconds {
		if want := text.Span(time.Duration(s * float64(time.Second))); spans[i] != want {
			t.Errorf("%f seconds: %q in Rego, %q in Go", s, spans[i], want)
		}
	}
}
