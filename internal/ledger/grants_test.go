package ledger_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestNoGrantOnAProcessThatHasEnded: an act on something else may have taken it along, and no act names it then. Where that is not known it is granted.
func TestNoGrantOnAProcessThatHasEnded(t *testing.T) {
	t.Parallel()
	lines := map[string][]int{"process:10@1": {10, 1}}
	g := must.Get(ledger.OpenGrants(lock.Acting{Name: "winnow-grants", Home: t.TempDir()}, filepath.Join(t.TempDir(), "state"), func(id string) ([]int, error) {
		if id == "process:12@1" {
			return nil, errors.New("it could not be read")
		}
		return lines[id], nil
	}))(t)
	t.Cleanup(func() { must.Do(t, g.Close()) })
	for id, ended := range map[string]bool{"process:10@1": false, "process:11@1": true, "process:12@1": false, "dir:/x": false} {
		var begun *ledger.Begun
		err := g.Lease(t.Context(), snapshot.Hold{ID: id, Owner: "o", Reason: "r", Since: time.Now()})
		if errors.As(err, &begun) != ended || err != nil && !ended {
			t.Errorf("a lease on %s: %v", id, err)
		} else if ended && err.Error() != "it came too late: process:11@1 has ended" {
			t.Error(err)
		}
	}
}
