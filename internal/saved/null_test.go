package saved

import "testing"

// TestNull: a process that a document has as null is an unknown one.
func TestNull(t *testing.T) {
	t.Parallel()
	s, err := Decode([]byte(`{"schema": "winnow.snapshot/v1", "taken_at": "2026-01-02T03:04:05Z", "host": {}, "sources": {}, "processes": {"process:1@1": null}}`))
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Processes["process:1@1"]; p == nil || p.PID != 0 || p.Name != "" {
		t.Errorf("%+v", p)
	}
}
