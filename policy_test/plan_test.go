package policy_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestShippedPlan: what was prepared of the shipped policies is what their rules give. A stale one costs time at every start and nothing else, since it is passed over.
func TestShippedPlan(t *testing.T) {
	const file = "../policies/shipped.plan"
	tree := policy.Tree{Name: "embedded", FS: policies.Files}
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{tree}})
	must.Do(t, err)
	planned := must.Get(eval.Plan(p))(t)
	code := must.Get(plan.Encode(planned))(t)
	want := must.Get(p.Prepare(code))(t)
	if *update {
		must.Do(t, os.WriteFile(file, want, 0o644))
		return
	}
	if !bytes.Equal(want, policies.Prepared) {
		t.Fatalf("%s is stale: run go generate ./policies, and commit it", file)
	}
	ready, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{tree}, Prepared: policies.Prepared})
	must.Do(t, err)
	if ready.Plan() == nil || ready.Compiler() != nil {
		t.Error("the policies were built although they were prepared")
	}
}
