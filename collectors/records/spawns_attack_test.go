package records_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"winnow/collectors"
	"winnow/collectors/records"
	"winnow/engine/snapshot"
	"winnow/testkit/attack"
)

// look reads a ledger as a look does, within so much time.
func lookAtSpawns(t testing.TB, format, path string, within time.Duration) (snapshot.Source, time.Duration) {
	t.Helper()
	src, err := records.Source(records.Spawns, "x", format, path, records.Options{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	snap := collectors.Run(context.Background(), collectors.RunOptions{Sources: []collectors.Source{src}, Timeout: within})
	return snap.Sources["spawns/x"], time.Since(began)
}

func TestAttackALedgerOfSpawnsThatEatsTheMemory(t *testing.T) {
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	if testing.Short() {
		t.Skip("it writes files of 64 MiB")
	}
	a := attack.New(t, "a spawn ledger of 64 MiB: empty records, one record over and over, one line, nested without end")
	path := filepath.Join(t.TempDir(), "spawns")
	for name, line := range map[string]string{
		"empty records":   "{}\n",
		"empty lines":     "\n",
		"one record":      `{"id":"a","path":"/w/a","spawned_at":1769882400,"completed_at":1769882500}` + "\n",
		"one line":        `{"id":"a","id`,
		"nested":          `{"a":[`,
		"nested on lines": strings.Repeat("[", 20_000) + "\n",
	} {
		size := 16 << 20
		if name == "empty records" || name == "nested" {
			size = 64<<20 - 100
		}
		if err := os.WriteFile(path, []byte(strings.Repeat(line, size/len(line))), 0o600); err != nil {
			t.Fatal(err)
		}
		var state snapshot.Source
		var took time.Duration
		grown := attack.Grown(t, func() { state, took = lookAtSpawns(t, records.JSONL, path, patience) })
		t.Logf("%s: %d MiB, %s: %s %s", name, grown>>20, took.Round(time.Millisecond), state.Status, state.Error)
		switch {
		case (state.Status != snapshot.Failed) != (name == "empty lines" || name == "one record"):
			a.Lost("%s: %+v", name, state)
		case grown > 200<<20:
			a.Lost("%s: the memory grew by %d MiB", name, grown>>20)
		default:
			a.Held()
		}
	}
}

// A source has one deadline, whatever stands in its place.
func TestAttackASpawnLedgerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	a := attack.New(t, "a FIFO that somebody holds open, /dev/zero and a terminal as a spawn ledger, a store and its journal")
	beside := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(beside, []byte("SQLite format 3\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, beside+"-journal"); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{records.JSON, records.JSONL, records.Shepherd} {
		for _, p := range []string{path, "/dev/zero", "/dev/ptmx", beside} {
			state, took := lookAtSpawns(t, format, p, time.Second)
			if state.Status != snapshot.Failed || took > 3*time.Second {
				a.Lost("%s as %s: %+v after %s", p, format, state, took)
				continue
			}
			a.Held()
		}
	}
}

// Whatever a ledger holds, reading it gives spawns or says why not, and no spawn has ended before it began.
func FuzzSpawns(f *testing.F) {
	formats := []string{records.JSON, records.JSONL, records.Shepherd}
	for i := range formats {
		f.Add(uint8(i), []byte(`[{"id":"a","path":"/w","spawned_at":1769882400,"completed_at":1769882500}]`), int64(1795197137709), "/w/a")
		f.Add(uint8(i), []byte("{\"path\":\"/w\"}\n{\"id\":7,\"session\":\"x\",\"completed_at\":\"2026-01-31T18:00:00Z\"}"), int64(-1), "a\x00b")
	}
	f.Fuzz(func(t *testing.T, format uint8, data []byte, number int64, text string) {
		name := formats[int(format)%len(formats)]
		path := filepath.Join(t.TempDir(), "spawns")
		if name == records.Shepherd {
			fillSpawns(t, path, data, number, text)
		} else if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := records.Source(records.Spawns, "x", name, path, records.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		part, err := src.Reader.Read(ctx)
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		for _, s := range part.Spawns {
			switch {
			case s.Path == "" && s.Session == "" && s.Label == "":
				t.Fatalf("a spawn of nothing: %+v", s)
			case s.Path != "" && !filepath.IsAbs(s.Path):
				t.Fatalf("the path of %+v", s)
			case s.SpawnedAt != nil && s.CompletedAt != nil && s.SpawnedAt.Sub(*s.CompletedAt) > time.Second:
				t.Fatalf("over before it began: %+v", s)
			}
		}
	})
}

func fillSpawns(t *testing.T, path string, data []byte, number int64, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
		CREATE TABLE reviewer_spawns (reviewerSessionId, taskSessionId, kind, worktreePath, spawnedAt, completedAt)`); err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]any{
		{text, string(data), "review", text, number, number + 1}, {string(data), nil, text, "/w/a", number, nil},
		{"a", "b", "c", "/w/b", number + 2, number}, {data, number, text, nil, text, data},
	} {
		if _, err := db.Exec("INSERT INTO reviewer_spawns VALUES (?, ?, ?, ?, ?, ?)", row...); err != nil {
			t.Fatal(fmt.Errorf("fill the table: %w", err))
		}
	}
}
