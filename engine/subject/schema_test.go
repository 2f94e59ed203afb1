package subject_test

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// TestSchemaIsCurrent keeps the schema that the engine and stock OPA check policies with equal to the Go type.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, subject.Subject{}, subject.Schema, []string{"../../policies/schemas/subject.json"}, []string{"../snapshot"})
}
