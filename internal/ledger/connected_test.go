package ledger_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestConnectedIsWhatTheLastLookFound remembers since when processes are connected, and forgets those that no longer are.
func TestConnectedIsWhatTheLastLookFound(t *testing.T) {
	t.Parallel()
	l := must.Get(ledger.Open(filepath.Join(t.TempDir(), "ledger.db")))(t)
	t.Cleanup(func() { _ = l.Close() })
	at := time.Unix(1769882400, 5).UTC()
	both := map[string]*snapshot.Process{"process:1@2": {ConnectedSince: &at}, "process:3@4": {ConnectedSince: &at}, "process:5@6": {}}
	must.Do(t, l.SaveConnected(t.Context(), &snapshot.Snapshot{Processes: both}))
	must.Equal(t, must.Get(l.Connected(t.Context()))(t), map[string]time.Time{"process:1@2": at, "process:3@4": at}, "both")
	delete(both, "process:1@2")
	must.Do(t, l.SaveConnected(t.Context(), &snapshot.Snapshot{Processes: both}))
	must.Equal(t, must.Get(l.Connected(t.Context()))(t), map[string]time.Time{"process:3@4": at}, "one")
}
