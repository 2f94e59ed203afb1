package report

import (
	"testing"

	"winnow/testkit/schema"
)

// TestReportSchemaIsCurrent keeps the published schema of the report equal to the Go type.
func TestReportSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Report{}, Schema, []string{"../../../docs/schemas/report.json"}, []string{"../../../engine/snapshot", "../../../engine/decision"})
}
