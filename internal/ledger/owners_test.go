package ledger_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

func TestOwnersAreWhatWasSavedLast(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1769882400, 5).UTC()
	a := snapshot.Owner{Source: "codev/default", Terminal: "a", Workspace: "/w", Builder: "builder-1", Worktree: "/w/.builders/1", FirstAt: at, LastAt: at.Add(time.Hour)}
	a.Kind, a.BootID, a.PID, a.StartTicks, a.RowAt = "dev", "a-boot", 812, 1<<63-1, &at
	b := snapshot.Owner{Source: "codev/default", Terminal: "b", Workspace: "/w", Builder: "builder-2", FirstAt: at, LastAt: at}
	other := a
	other.Source = "codev/other"
	for _, next := range [][]snapshot.Owner{{b, other, a}, {}, {a}} {
		if err := l.SaveOwners(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err = ledger.Open(path); err != nil {
			t.Fatal(err)
		}
		want := next
		if len(next) == 3 {
			want = []snapshot.Owner{a, b, other}
		}
		got, err := l.Owners(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// What an earlier version remembers of an owner was seen with the builder's row, and nothing else is known of it.
func TestOwnersOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sql.Open("sqlite", path)
	ok(t, err)
	_, err = db.Exec(strings.Join(ledger.Migrations[:4], ";") + `; PRAGMA journal_mode = WAL; PRAGMA user_version = 4;
		INSERT INTO owners VALUES ('codev/default', 'a', '/w', 'builder-1', '/w/.builders/1', 1769882400000000000, 1769882500000000000)`)
	ok(t, err)
	ok(t, db.Close())
	l, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := l.Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, last := time.Unix(1769882400, 0).UTC(), time.Unix(1769882500, 0).UTC()
	want := []snapshot.Owner{{Source: "codev/default", Terminal: "a", Workspace: "/w", Builder: "builder-1", Worktree: "/w/.builders/1", FirstAt: first, LastAt: last, RowAt: &last}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
