package ledger_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// below is an intent on a folder below a root.
func below(id, root string) decision.Intent {
	in := intent(id, t0)
	in.Identity.Dir.Root = root
	return in
}

// TestRoots: the folders below which acts were begun are remembered once each, with any outcome of the acts.
func TestRoots(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	must.Do(t, l.Intend(ctx, below("01A", "/w/b")))
	must.Do(t, l.Intend(ctx, below("01B", "/w/a")))
	must.Do(t, l.Intend(ctx, below("01C", "/w/b")))
	must.Do(t, l.Intend(ctx, below("01D", "")))
	process := intent("01E", t0)
	process.Kind, process.Identity = "process", decision.Identity{Key: "k", Process: &decision.Process{PID: 1}}
	must.Do(t, l.Intend(ctx, process))
	must.Do(t, l.Settled(ctx, "01A", decision.Outcome{Outcome: decision.Done}))
	if added, err := l.Adopt(ctx, below("01F", "/w/\xff"), decision.Outcome{Outcome: decision.Done, RestoreUntil: new(t0)}); err != nil || !added {
		t.Fatal(added, err)
	}
	// The same act, which the ledger has already: nothing is adopted.
	if added, err := l.Adopt(ctx, below("01F", "/w/other"), decision.Outcome{Outcome: decision.Done}); err != nil || added {
		t.Fatal(added, err)
	}
	roots := must.Get(l.Roots(ctx))(t)
	if diff := cmp.Diff([]string{"/w/a", "/w/b", "/w/\xff"}, roots); diff != "" {
		t.Error(diff)
	}
}

// TestASweepDoesNotReadAllActs: they are kept for good, and what every sweep asks about them must not take longer with each.
func TestASweepDoesNotReadAllActs(t *testing.T) {
	t.Parallel()
	l := open(t)
	for i := range 20 {
		in := below(fmt.Sprintf("%03d", i), "/w")
		must.Do(t, l.Intend(t.Context(), in))
		must.Do(t, l.Settled(t.Context(), in.ID, decision.Outcome{Outcome: decision.Done, RestoreUntil: new(t0)}))
		if i > 3 {
			must.Do(t, l.MarkPurged(t.Context(), in.ID, t0))
		}
	}
	db := must.Get(sql.Open("sqlite", l.Path()))(t)
	defer db.Close()
	for question, index := range ledger.EverySweep {
		var a, b, c int
		var first string
		must.Do(t, db.QueryRow("EXPLAIN QUERY PLAN SELECT id, intent FROM acts "+question, 1).Scan(&a, &b, &c, &first))
		if !strings.Contains(first, index) {
			t.Errorf("%s: %s; want the index %s", question, first, index)
		}
	}
}
