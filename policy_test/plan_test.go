package policy_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/policies"
)

// TestShippedPlan: what was prepared of the shipped policies is what their rules give. A stale one costs time at every start and nothing else, since it is passed over.
func TestShippedPlan(t *testing.T) {
	const file = "../policies/shipped.plan"
	tree := policy.Tree{Name: "embedded", FS: policies.Files}
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{tree}})
	if err != nil {
		t.Fatal(err)
	}
	planned, err := eval.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	code, err := plan.Encode(planned)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Prepare(code)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, policies.Prepared) {
		t.Fatalf("%s is stale: run go generate ./policies, and commit it", file)
	}
	ready, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{tree}, Prepared: policies.Prepared})
	if err != nil {
		t.Fatal(err)
	}
	if ready.Plan() == nil || ready.Compiler() != nil {
		t.Error("the policies were built although they were prepared")
	}
}
