package top

import (
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// TestTopSchemaIsCurrent keeps the published schema of a look equal to the Go type.
func TestTopSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Look{}, Schema, []string{"../../docs/reference/schemas/top.json"}, nil)
}
