package comparison

import (
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// TestPolicyDiffSchemaIsCurrent keeps the published schema of the comparison equal to the Go type.
func TestPolicyDiffSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Document{}, Schema, []string{"../../docs/reference/schemas/policy-diff.json"}, []string{"../../engine/flips", "../../engine/decision", "../report"})
}
