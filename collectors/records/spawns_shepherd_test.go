package records_test

import (
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"winnow/collectors"
	"winnow/collectors/records"
	"winnow/engine/snapshot"
	shepherdtest "winnow/testkit/shepherd"
)

const open, done = 0, 1 // of shepherdtest.Spawns

// newShepherd gives an empty store in a folder of its own, and the source that reads it.
func newReviewers(tb testing.TB) (*shepherdtest.Store, collectors.Source) {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	s := shepherdtest.New(tb, filepath.Join(dir, "shepherd.db"))
	src, err := records.Source(records.Spawns, "shepherd", records.Shepherd, s.Path, records.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s, src
}

func TestReviewers(t *testing.T) {
	t.Parallel()
	s, src := newReviewers(t)
	rows := shepherdtest.Spawns(t)
	recap := rows[open].With(shepherdtest.Row{"reviewerSessionId": "r", "kind": "recap", "taskSessionId": "gone", "worktreePath": filepath.Dir(s.Path) + "/link/recap-1"})
	if err := os.Symlink(".", filepath.Join(filepath.Dir(s.Path), "link")); err != nil {
		t.Fatal(err)
	}
	s.Insert("reviewer_spawns", append(rows, recap)...)
	s.Exec("ALTER TABLE reviewer_spawns ADD COLUMN somethingNew TEXT NOT NULL DEFAULT 'x'")
	if src.Name != "spawns/shepherd" || src.Kind != "spawns" || src.Path != s.Path || src.Format != "shepherd" {
		t.Errorf("source %+v", src)
	}
	p, err := src.Reader.Read(t.Context())
	at := time.UnixMilli(1795197137719).UTC()
	const task, folder = "743a428e-3ec3-47d4-a875-5b9f3da21a61", "/home/dev/.shepherd-worktrees/acme-review-"
	want := collectors.Part{
		Spawns: []snapshot.Spawn{
			{Source: "spawns/shepherd", ID: "643cfec7-1234-4678-9abc-def012345678", Kind: "plan_gate", Owner: task, SpawnedAt: &at,
				Path: folder + "643cfec7-1234-4678-9abc-def012345678-deadbeef"},
			{Source: "spawns/shepherd", ID: "0b0b0b0b-1234-4678-9abc-def012345678", Kind: "review", Owner: task, Path: folder + "cafebabe",
				SpawnedAt: new(time.UnixMilli(1795195937720).UTC()), CompletedAt: new(time.UnixMilli(1795197137721).UTC())},
			{Source: "spawns/shepherd", ID: "r", Kind: "recap", Owner: "gone", SpawnedAt: &at, Path: filepath.Dir(s.Path) + "/recap-1"},
		},
		Named: []string{folder + "643cfec7-1234-4678-9abc-def012345678-deadbeef", folder + "cafebabe", filepath.Dir(s.Path) + "/recap-1"},
	}
	if d := cmp.Diff(want, p); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestShepherdWithNoSpawns(t *testing.T) {
	t.Parallel()
	s, src := newReviewers(t)
	if p, err := src.Reader.Read(t.Context()); err != nil || len(p.Spawns) != 0 {
		t.Errorf("gave %+v, %v", p, err)
	}
	s.Exec("DROP TABLE reviewer_spawns")
	if p, err := src.Reader.Read(t.Context()); err == nil || p.Partial || !strings.Contains(err.Error(), "no table reviewer_spawns") {
		t.Errorf("a store without the table gave %+v, %v", p, err)
	}
}

// What cannot be so never completes a spawn, and takes no other one with it.
func TestShepherdsTimesThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string]shepherdtest.Row{
		"completed at 0":                      {"completedAt": 0},
		"completed before 1970":               {"completedAt": -1},
		"completed in seconds":                {"completedAt": 1795197137},
		"completed before it began":           {"completedAt": 1795195937719},
		"completed in text":                   {"completedAt": "yes"},
		"completed in a fraction":             {"completedAt": 1795197137721.5},
		"completed in bytes":                  {"completedAt": []byte{1}},
		"begun at 0":                          {"spawnedAt": 0},
		"begun in text":                       {"spawnedAt": "2026-01-31T18:00:00Z"},
		"begun and completed in microseconds": {"spawnedAt": 1795195937720000, "completedAt": 1795197137721000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, src := newReviewers(t)
			rows := shepherdtest.Spawns(t)
			s.Insert("reviewer_spawns", rows[done].With(changes), rows[done].With(shepherdtest.Row{"reviewerSessionId": "other"}))
			p, err := src.Reader.Read(t.Context())
			if err != nil || p.Partial || p.Unreadable != 1 || len(p.Spawns) != 2 {
				t.Fatalf("%d spawns, %d unreadable, %v", len(p.Spawns), p.Unreadable, err)
			}
			if p.Spawns[0].CompletedAt != nil || p.Spawns[0].Path == "" || p.Spawns[1].CompletedAt == nil {
				t.Errorf("gave %+v", p.Spawns)
			}
		})
	}
}

// A row that does not say what it protects fails the store, and the others are still shown.
func TestReviewersRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		changes shepherdtest.Row
		want    string
	}{
		"a relative path":   {shepherdtest.Row{"worktreePath": "w/a"}, "worktreePath is not absolute"},
		"no path":           {shepherdtest.Row{"worktreePath": ""}, "no worktreePath"},
		"a path of bytes":   {shepherdtest.Row{"worktreePath": []byte("/w")}, "worktreePath is not text"},
		"a NUL in a path":   {shepherdtest.Row{"worktreePath": "/w/a\x00b"}, "worktreePath has a NUL"},
		"no id":             {shepherdtest.Row{"reviewerSessionId": ""}, "no reviewerSessionId"},
		"NULL for an id":    {shepherdtest.Row{"reviewerSessionId": nil}, "row 1: it has no reviewerSessionId"},
		"an owner in bytes": {shepherdtest.Row{"taskSessionId": []byte("x")}, "taskSessionId is not text"},
		"a kind in bytes":   {shepherdtest.Row{"kind": []byte("review")}, "kind is not text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, src := newReviewers(t)
			rows := shepherdtest.Spawns(t)
			s.Insert("reviewer_spawns", rows[done].With(tc.changes), rows[open])
			p, err := src.Reader.Read(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "read "+s.Path+": reviewer_spawns: ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("gave %v; want %q", err, tc.want)
			}
			if !p.Partial || p.Unreadable != 1 || len(p.Spawns) != 1 || p.Spawns[0].Kind != "plan_gate" {
				t.Errorf("gave %+v", p)
			}
		})
	}
}

// anything gives a value of any type that SQLite keeps, often one that is nearly right.
func anything(r *rand.Rand, right driver.Value) driver.Value {
	all := []driver.Value{right, right, right, right, nil, "", "x", "1795197137721", int64(0), int64(-5), int64(1795197137), int64(1795197137719),
		int64(1 << 62), 1.5, 1795197137721.5, []byte("/w"), "/w/../x", "w", "a\x00", "archived"}
	return all[r.IntN(len(all))]
}

// Whatever stands in the columns, a spawn is completed only by two times that are in order, and each row is given or counted.
func TestReviewersRowsOfAnyKind(t *testing.T) {
	t.Parallel()
	s, src := newReviewers(t)
	s.Exec("DROP TABLE reviewer_spawns")
	s.Exec("CREATE TABLE reviewer_spawns (n, reviewerSessionId, taskSessionId, kind, worktreePath, spawnedAt, completedAt)")
	r := rand.New(rand.NewPCG(1, 2))
	var rows []shepherdtest.Row
	mayComplete := map[string]bool{}
	for i := range 2000 {
		row := shepherdtest.Row{
			"reviewerSessionId": anything(r, fmt.Sprint("id", i)), "taskSessionId": anything(r, "t"), "kind": anything(r, "review"),
			"worktreePath": anything(r, "/w/a"), "spawnedAt": anything(r, int64(1795197137719)), "completedAt": anything(r, int64(1795197137721)),
		}
		rows = append(rows, row)
		if id, ok := row["reviewerSessionId"].(string); ok {
			from, begun := row["spawnedAt"].(int64)
			to, ended := row["completedAt"].(int64)
			mayComplete[id] = mayComplete[id] || begun && ended && from > 1e12 && from < 1e13 && to >= from && to < 1e13
		}
	}
	s.Insert("reviewer_spawns", rows...)
	p, err := src.Reader.Read(t.Context())
	if err == nil || !p.Partial {
		t.Fatalf("partial %v, %v", p.Partial, err)
	}
	completed := 0
	for _, sp := range p.Spawns {
		if sp.ID == "" || !filepath.IsAbs(sp.Path) {
			t.Errorf("gave %+v", sp)
		}
		if sp.CompletedAt != nil {
			completed++
			if !mayComplete[sp.ID] {
				t.Errorf("%s was given as completed", sp.ID)
			}
		}
	}
	if len(p.Spawns)+p.Unreadable < len(rows) || completed == 0 {
		t.Errorf("%d rows: %d given, %d unreadable, %d completed", len(rows), len(p.Spawns), p.Unreadable, completed)
	}
}

// BenchmarkShepherd reads 20,000 spawns, which is a busy quarter of a year.
func BenchmarkReviewers(b *testing.B) {
	s, src := newReviewers(b)
	row := shepherdtest.Spawns(b)[done]
	rows := make([]shepherdtest.Row, 20_000)
	for i := range rows {
		rows[i] = row.With(shepherdtest.Row{"reviewerSessionId": fmt.Sprint("id", i), "worktreePath": fmt.Sprintf("/home/dev/.shepherd-worktrees/acme-review-%08x", i)})
	}
	s.Insert("reviewer_spawns", rows...)
	for b.Loop() {
		if p, err := src.Reader.Read(b.Context()); err != nil || len(p.Spawns) != len(rows) {
			b.Fatal(len(p.Spawns), err)
		}
	}
}
