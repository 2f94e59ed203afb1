package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestRepositories gives the owners of folders that the latest sweeps decided on, and neither those of other kinds nor of earlier sweeps.
func TestRepositories(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	sweep := func(i int, owners ...string) {
		id := fmt.Sprint("sweep", i)
		must.Do(t, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0.Add(time.Duration(i) * time.Minute)}))
		all := []decision.Decision{{ID: "process:1@1", Kind: "process", InScope: true, Owner: "/w/process"}}
		for _, owner := range owners {
			all = append(all, decision.Decision{ID: fmt.Sprint("dir:/w/", i, owner), Kind: "dir", InScope: true, Owner: owner})
		}
		must.Do(t, l.SaveDecisions(ctx, id, all))
	}
	sweep(0, "/w/old")
	for i := 1; i < 20; i++ {
		sweep(i, "/w/b", "/w/a", "")
	}
	want := func(want string) {
		t.Helper()
		got := must.Get(l.Repositories(ctx))(t)
		if d := cmp.Diff(want, fmt.Sprint(got)); d != "" {
			t.Error(d)
		}
	}
	want("[/w/a /w/b /w/old]")
	sweep(20, "/w/c")
	want("[/w/a /w/b /w/c]")
}
