package ledger_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestOwnersAreWhatWasSavedLast(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := must.Get(ledger.Open(path))(t)
	at := time.Unix(1769882400, 5).UTC()
	a := snapshot.Owner{Source: "codev/default", Terminal: "a", Workspace: "/w", Builder: "builder-1", Worktree: "/w/.builders/1", FirstAt: at, LastAt: at.Add(time.Hour)}
	a.Kind, a.BootID, a.PID, a.StartTicks, a.RowAt = "dev", "a-boot", 812, 1<<63-1, &at
	b := snapshot.Owner{Source: "codev/default", Terminal: "b", Workspace: "/w", Builder: "builder-2", FirstAt: at, LastAt: at}
	other := a
	other.Source = "codev/other"
	for _, next := range [][]snapshot.Owner{{b, other, a}, {}, {a}} {
		must.Do(t, l.SaveOwners(t.Context(), next))
		must.Do(t, l.Close())
		l = must.Get(ledger.Open(path))(t)
		want := next
		if len(next) == 3 {
			want = []snapshot.Owner{a, b, other}
		}
		got := must.Get(l.Owners(t.Context()))(t)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	must.Do(t, l.Close())
}
