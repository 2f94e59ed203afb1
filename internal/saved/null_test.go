package saved

import (
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestNull: a process that a document has as null is an unknown one.
func TestNull(t *testing.T) {
	t.Parallel()
	s := must.Get(Decode([]byte(`{"schema": "winnow.snapshot/v1", "taken_at": "2026-01-02T03:04:05Z", "host": {}, "sources": {}, "processes": {"process:1@1": null}}`)))(t)
	if p := s.Processes["process:1@1"]; p == nil || p.PID != 0 || p.Name != "" {
		t.Errorf("%+v", p)
	}
}
