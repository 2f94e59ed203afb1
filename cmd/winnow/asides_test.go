package main

import (
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/state"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

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
