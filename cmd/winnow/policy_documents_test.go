package main

import (
	"testing"

	"github.com/winnow-reaper/winnow/testkit/schema"
)

// TestSchemasOfPolicyDocumentsAreCurrent keeps the published schemas of what commands on policies print equal to the Go types.
func TestSchemasOfPolicyDocumentsAreCurrent(t *testing.T) {
	t.Parallel()
	packages := []string{"../../engine/flips", "../../engine/decision", "../../engine/explain", "../../engine/policy", "comparison", "report"}
	schema.Current(t, Promotion{}, PromotionSchema, []string{"../../docs/schemas/policy-promote.json"}, packages)
	schema.Current(t, Trial{}, TrialSchema, []string{"../../docs/schemas/policy-try.json"}, packages)
}
