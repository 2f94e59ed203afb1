package document

import (
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// TestExplanationSchemaIsCurrent keeps the published schema of an explanation equal to the Go type.
func TestExplanationSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Referring(t, Explanation{}, ExplanationSchema, []string{"../../docs/reference/schemas/explanation.json"},
		[]string{"../../engine/explain", "../../engine/decision", "../../engine/snapshot", "../../engine/subject", "../report"})
}

// TestPolicyDiffSchemaIsCurrent keeps the published schema of the comparison equal to the Go type.
func TestPolicyDiffSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Comparison{}, ComparisonSchema, []string{"../../docs/reference/schemas/policy-diff.json"},
		[]string{"../../engine/compare", "../../engine/decision", "../../engine/explain", "../report"})
}

// TestAgentsAndStatsSchemasAreCurrent keeps the published schemas of the agents that are known, and of what was reclaimed, equal to the Go types.
func TestAgentsAndStatsSchemasAreCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Stats{}, StatsSchema, []string{"../../docs/reference/schemas/stats.json"}, nil)
	schema.Current(t, Agents{}, AgentsSchema, []string{"../../docs/reference/schemas/agents.json"}, nil)
}
