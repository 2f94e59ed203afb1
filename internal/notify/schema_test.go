package notify

import (
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// TestNotificationSchemaIsCurrent keeps the published schema of what a webhook gets equal to the Go type.
func TestNotificationSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Document{}, Schema, []string{"../../docs/reference/schemas/notification.json"}, nil)
}
