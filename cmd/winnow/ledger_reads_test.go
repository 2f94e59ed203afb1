package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/state"
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

// TestATrashIsLookedForWhereActsWere: also below a root that no configuration names any more.
func TestATrashIsLookedForWhereActsWere(t *testing.T) {
	t.Parallel()
	home := musts.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	cfg, err := config.Load("", []string{"HOME=" + home})
	musts.Do(t, err)
	a := (&app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.NewNullLogger()}), out: io.Discard, errOut: io.Discard}).watched()
	if got := a.TrashRoots(nil, []string{home, filepath.Join(home, "gone")}); !slices.Contains(got, home) || slices.Contains(got, filepath.Join(home, "gone")) {
		t.Errorf("%v", got)
	}
	if got := a.TrashRoots(nil, nil); slices.Contains(got, home) {
		t.Errorf("without the record: %v", got)
	}
}
