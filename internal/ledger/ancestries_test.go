package ledger_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestAncestriesAreWhatWasSavedLast(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := must.Get(ledger.Open(path))(t)
	at := time.Unix(1769882400, 5).UTC()
	a := snapshot.Ancestry{BootID: "a-boot", PID: 812, StartTicks: 1<<63 - 1, LastAt: at, Agents: []snapshot.AncestryAgent{{PID: 5, StartTicks: 7, Name: "claude"}, {PID: 4, StartTicks: 6, Name: "codex"}}}
	b := snapshot.Ancestry{BootID: "a-boot", PID: 813, StartTicks: 9, LastAt: at, Agents: []snapshot.AncestryAgent{{PID: 5, StartTicks: 7, Name: "claude"}}}
	for _, next := range [][]snapshot.Ancestry{{a, b}, {}, {b}} {
		must.Do(t, l.SaveAncestries(t.Context(), next))
		must.Do(t, l.Close())
		l = must.Get(ledger.Open(path))(t)
		must.Equal(t, next, must.Get(l.Ancestries(t.Context()))(t), "descents")
	}
	must.Do(t, l.Close())
}
