package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

// TestIdsAreThoseOfTheLastSweep has the completion offer what the latest sweep decided on, and not what an early one did.
func TestIdsAreThoseOfTheLastSweep(t *testing.T) {
	t.Parallel()
	l, err := ledger.Open(filepath.Join(t.TempDir(), "ledger.db"))
	musts.Do(t, err)
	defer l.Close()
	for i := range 25 {
		id := fmt.Sprint("s", i)
		musts.Do(t, l.BeginSweep(t.Context(), ledger.Sweep{ID: id, Started: time.Unix(int64(i), 0)}))
		if i == 24 {
			break // it was cut short
		}
		musts.Do(t, l.SaveDecisions(t.Context(), id, []decision.Decision{{ID: "dir:/w/" + id, Kind: "dir", Verdict: "spare", InScope: true}}))
	}
	got, err := lastDecided(t.Context(), l)
	musts.Do(t, err)
	musts.Equal(t, []string{described("dir:/w/s23", "spare ")}, got, "completions")
}
