package ledger_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
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

// TestConnectedIsWhatTheLastLookFound remembers since when processes are connected, and forgets those that no longer are.
func TestConnectedIsWhatTheLastLookFound(t *testing.T) {
	t.Parallel()
	l := must.Get(ledger.Open(filepath.Join(t.TempDir(), "ledger.db")))(t)
	t.Cleanup(func() { _ = l.Close() })
	at := time.Unix(1769882400, 5).UTC()
	both := map[string]*snapshot.Process{"process:1@2": {ConnectedSince: &at}, "process:3@4": {ConnectedSince: &at}, "process:5@6": {}}
	must.Do(t, l.SaveConnected(t.Context(), &snapshot.Snapshot{Processes: both}))
	must.Equal(t, must.Get(l.Connected(t.Context()))(t), map[string]time.Time{"process:1@2": at, "process:3@4": at}, "both")
	delete(both, "process:1@2")
	must.Do(t, l.SaveConnected(t.Context(), &snapshot.Snapshot{Processes: both}))
	must.Equal(t, must.Get(l.Connected(t.Context()))(t), map[string]time.Time{"process:3@4": at}, "one")
}

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

// TestMountsOfEachNamespace: those of one namespace do not replace another's, nothing remembered is no error, and the host keeps its own
// also after many containers.
func TestMountsOfEachNamespace(t *testing.T) {
	t.Parallel()
	l := open(t)
	must.Do(t, ledger.Remember(l, t.Context(), "mounts", nil))
	must.Do(t, l.SaveMounts(t.Context(), proc.FirstNamespace, []string{"/disk"}))
	for i := range 40 {
		must.Do(t, l.SaveMounts(t.Context(), fmt.Sprint("pid:", i), []string{"/work"}))
	}
	must.Equal(t, must.Get(l.Mounts(t.Context(), proc.FirstNamespace))(t), []string{"/disk"}, "the host's")
	must.Equal(t, must.Get(l.Mounts(t.Context(), "pid:39"))(t), []string{"/work"}, "the last container's")
}

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
