package ledger_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// chainedLedger has four acts: one that was purged, one restored, one refused, one open.
func chainedLedger(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := must.Get(ledger.Open(path))(t)
	defer l.Close()
	ctx, until := t.Context(), t0.Add(time.Hour)
	for i := range 4 {
		must.Do(t, l.Intend(ctx, intent(fmt.Sprint("01A", i), t0.Add(time.Duration(i)*time.Second))))
	}
	must.Do(t, l.Settled(ctx, "01A0", decision.Outcome{Outcome: decision.Done, RestoreUntil: &until}))
	must.Do(t, l.Settled(ctx, "01A1", decision.Outcome{Outcome: decision.Done, RestoreUntil: &until}))
	must.Do(t, l.Settled(ctx, "01A2", decision.Outcome{Outcome: decision.Refused, Detail: "no"}))
	must.Do(t, l.MarkPurged(ctx, "01A0", t0))
	must.Do(t, l.MarkRestored(ctx, "01A1", t0))
	return path
}

func verified(t *testing.T, path, known string) ledger.Chain {
	t.Helper()
	l := must.Get(ledger.OpenReadOnly(path))(t)
	defer l.Close()
	return must.Get(l.Verify(t.Context(), known))(t)
}

func TestAChainThatWasNotTouchedHolds(t *testing.T) {
	t.Parallel()
	path := chainedLedger(t)
	c := verified(t, path, "")
	if !c.Holds() || c.Entries != 9 || c.Acts != 4 || len(c.Head) != 64 {
		t.Fatalf("chain: %+v", c)
	}
	l := must.Get(ledger.Open(path))(t)
	defer l.Close()
	must.Do(t, l.Settled(t.Context(), "01A2", decision.Outcome{Outcome: decision.Refused, Detail: "no"})) // again: nothing is written
	if head, err := l.Head(t.Context()); err != nil || head != c.Head {
		t.Errorf("head %s, %v; want %s", head, err, c.Head)
	}
	must.Do(t, l.Settled(t.Context(), "01A3", decision.Outcome{Outcome: decision.Gone}))
	if after := verified(t, path, strings.ToUpper(c.Head)); !after.Holds() || after.Head == c.Head || after.Entries != 10 {
		t.Errorf("an earlier head is in the chain: %+v", after)
	}
	if foreign := verified(t, path, strings.Repeat("0", 64)); foreign.Holds() || !strings.Contains(foreign.Faults[0].Problem, "is not in the chain") {
		t.Errorf("a head of another ledger: %+v", foreign)
	}
}

// TestAChainShowsWhatWasDoneByHand edits the file of a ledger as a person with the sqlite3 program does.
func TestAChainShowsWhatWasDoneByHand(t *testing.T) {
	t.Parallel()
	whole := must.Get(os.ReadFile(chainedLedger(t)))(t)
	for name, c := range map[string]struct {
		change string
		want   string // in the first fault
		entry  int64
		act    string
	}{
		"an intent is edited":       {"UPDATE acts SET intent = replace(intent, '/w/01A0', '/w/other') WHERE id = '01A0'", "it was edited", 0, "01A0"},
		"an outcome is edited":      {`UPDATE acts SET outcome = '{"outcome":"done"}' WHERE id = '01A2'`, "it was edited", 0, "01A2"},
		"an outcome is taken away":  {"UPDATE acts SET outcome = NULL, settled_at = NULL WHERE id = '01A2'", "it was edited", 0, "01A2"},
		"a purge is taken away":     {"UPDATE acts SET purged_at = NULL WHERE id = '01A0'", "it was edited", 0, "01A0"},
		"the time is counted again": {"UPDATE acts SET counted = -1e9 WHERE id = '01A3'", "it was edited", 0, "01A3"},
		"it is kept for longer":     {"UPDATE acts SET restore_until = restore_until + 1 WHERE id = '01A1'", "it was edited", 0, "01A1"},
		"an act is removed":         {"DELETE FROM acts WHERE id = '01A1'", "it was removed", 0, "01A1"},
		"an act is put in":          {"INSERT INTO acts SELECT '01B', sweep, candidate, at, intent, outcome, settled_at, restore_until, restored_at, purged_at, counted FROM acts WHERE id = '01A2'", "was put into the ledger by hand", 0, "01B"},
		"an entry is edited":        {"UPDATE chain SET row = (SELECT row FROM chain WHERE n = 1) WHERE n = 3", "entry 3", 3, "01A2"},
		"an entry's time":           {"UPDATE chain SET at = at + 1 WHERE n = 2", "entry 2", 2, "01A1"},
		"two entries change places": {"UPDATE chain SET n = -1 WHERE n = 2; UPDATE chain SET n = 2 WHERE n = 3; UPDATE chain SET n = 3 WHERE n = -1",
			"entry 2", 2, "01A2"},
		"an entry is removed":       {"DELETE FROM chain WHERE n = 5", "entry 5 is missing", 5, ""},
		"two entries are removed":   {"DELETE FROM chain WHERE n IN (5, 6)", "entries 5 to 6 are missing", 5, ""},
		"the first is removed":      {"DELETE FROM chain WHERE n = 1", "entry 1 is missing", 1, ""},
		"the end is removed":        {"DELETE FROM chain WHERE n > 7; UPDATE acts SET purged_at = NULL, restored_at = NULL", "ends with entry 7, and it had 9", 8, ""},
		"the chain is removed":      {"DELETE FROM chain; DELETE FROM chain_head", "is not in the chain", 0, "01A0"},
		"its end is not known":      {"DELETE FROM chain_head", "is not the last one", 9, ""},
		"an act and all of it":      {"DELETE FROM acts WHERE id = '01A3'; DELETE FROM chain WHERE act = '01A3'", "entry 4 is missing", 4, ""},
		"an entry is put in behind": {"INSERT INTO chain SELECT 10, act, event, at, row, link FROM chain WHERE n = 9", "entry 10", 10, "01A1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			must.Do(t, os.WriteFile(path, whole, 0o600))
			if before := verified(t, path, ""); !before.Holds() {
				t.Fatalf("before: %+v", before)
			}
			for statement := range strings.SplitSeq(c.change, ";") {
				must.Do(t, execute(path, statement))
			}
			got := verified(t, path, "")
			if got.Holds() {
				t.Fatalf("it holds: %+v", got)
			}
			if f := got.Faults[0]; !strings.Contains(f.Problem, c.want) || f.Entry != c.entry || f.Act != c.act {
				t.Errorf("the first fault is %+v; want %q at entry %d, act %q; all: %+v", f, c.want, c.entry, c.act, got.Faults)
			}
		})
	}
}

// TestAChainThatWasRewrittenIsShownByAHeadThatWasKept removes the end with all that shows it, which only a link that was kept elsewhere tells.
func TestAChainThatWasRewrittenIsShownByAHeadThatWasKept(t *testing.T) {
	t.Parallel()
	path := chainedLedger(t)
	head := verified(t, path, "").Head
	for _, s := range []string{
		"DELETE FROM chain WHERE n = 9", "UPDATE acts SET restored_at = NULL WHERE id = '01A1'",
		"UPDATE chain_head SET n = 8, link = (SELECT link FROM chain WHERE n = 8)",
	} {
		must.Do(t, execute(path, s))
	}
	if c := verified(t, path, ""); !c.Holds() {
		t.Errorf("nothing in the file shows it: %+v", c)
	}
	if c := verified(t, path, head); c.Holds() {
		t.Error("the link that was kept is not in the chain, and nothing says so")
	}
}

// TestTwoWritersShareOneChain has several processes' worth of connections write at the same time: no two entries follow the same one.
func TestTwoWritersShareOneChain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openAtOnce(t, path, 4, func(l *ledger.Ledger, i int) error {
		for k := range 5 {
			id := fmt.Sprintf("01W%d%d", i, k)
			if err := l.Intend(t.Context(), intent(id, t0)); err != nil {
				return err
			}
			if err := l.Settled(t.Context(), id, decision.Outcome{Outcome: decision.Done}); err != nil {
				return err
			}
		}
		return nil
	})
	c, err := l.Verify(t.Context(), "")
	if err != nil || !c.Holds() || c.Entries != 40 || c.Acts != 20 {
		t.Errorf("chain: %+v, %v", c, err)
	}
}

// TestFaultsAreBounded lists the first of very many.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := must.Get(ledger.Open(path))(t)
	for i := range 30 {
		must.Do(t, l.Intend(t.Context(), intent(fmt.Sprintf("01C%02d", i), t0)))
	}
	must.Do(t, l.Close())
	must.Do(t, execute(path, "UPDATE acts SET sweep = 'other'"))
	if c := verified(t, path, ""); len(c.Faults) != 20 || c.More != 10 {
		t.Errorf("%d faults and %d more", len(c.Faults), c.More)
	}
}
