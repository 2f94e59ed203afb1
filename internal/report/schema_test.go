package report

import (
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// TestReportSchemaIsCurrent keeps the published schema of the report equal to the Go type.
func TestReportSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Report{}, Schema, []string{"../../docs/reference/schemas/report.json"}, []string{"../../engine/snapshot", "../../engine/decision"})
}

// TestPolicySchemasAreCurrent keeps the published schemas of what the commands about policies print equal to the Go types.
func TestPolicySchemasAreCurrent(t *testing.T) {
	t.Parallel()
	dirs := []string{"../../engine/policy", "../../engine/policy/lint", "../../engine/tester"}
	for file, of := range map[string]struct {
		v     any
		title string
	}{
		"policy-check": {PolicyCheck{}, PolicyCheckSchema}, "policy-test": {PolicyTest{}, PolicyTestSchema},
		"policy-fmt": {PolicyFormat{}, PolicyFormatSchema},
	} {
		schema.Current(t, of.v, of.title, []string{"../../docs/reference/schemas/" + file + ".json"}, dirs)
	}
}
