package review

import (
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// TestReviewSchemaIsCurrent keeps the published schema of the list equal to the Go type.
func TestReviewSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Document{}, Schema, []string{"../../docs/reference/schemas/review.json"},
		[]string{"../story", "../report", "../../engine/decision", "../../engine/snapshot"})
}
