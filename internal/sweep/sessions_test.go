package sweep

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestSessionsAreNotKnownWithoutProcesses: where the processes cannot be read, no folder counts as one without an open session.
func TestSessionsAreNotKnownWithoutProcesses(t *testing.T) {
	t.Parallel()
	cfg := must.Get(config.Load("", []string{"HOME=" + t.TempDir()}))(t)
	m := &Machine{Looker: look.Looker{Loader: ruleset.Loader{Folder: state.Folder{Cfg: cfg, Log: hclog.NewNullLogger()}}}}
	folders := []decision.Dir{{Path: t.TempDir()}}
	if found, err := m.sessionsIn(t.Context(), folders); err != nil {
		t.Errorf("with processes: %v, %v", found, err)
	}
	cfg.Collect.Processes.Root = t.TempDir()
	if found, err := m.sessionsIn(t.Context(), folders); err == nil {
		t.Errorf("without processes it is known: %v", found)
	}
}
