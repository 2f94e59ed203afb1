package snapshot_test

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// TestSchemaIsCurrent keeps the published schema of the snapshot equal to the Go type.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, snapshot.Snapshot{}, snapshot.Schema, []string{"../../docs/reference/schemas/snapshot.json"}, nil)
}
