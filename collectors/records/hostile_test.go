package records_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// patience bounds a registry that is never read to its end.
const patience = 2 * wait.Patience

// look reads a registry or a spawn ledger as a look does, within so much time.
func look(t testing.TB, what, format, path string, within time.Duration) (given int, state snapshot.Source, took time.Duration) {
	t.Helper()
	src, err := records.Source(what, "x", format, path, records.Options{Over: archived})
	must.Do(t, err)
	began := time.Now()
	snap := collectors.Run(context.Background(), collectors.RunOptions{Sources: []collectors.Source{src}, Timeout: within})
	return len(snap.Registry) + len(snap.Spawns), snap.Sources[what+"/x"], time.Since(began)
}

// hostile write documents unlike those of a real registry: those of which a byte may cost many are as great as can be.
func hostile() map[string]func() string {
	const most, some = 64<<20 - 100, 16 << 20
	filled := func(size int, begin, part, end string) func() string {
		return func() string { return begin + strings.Repeat(part, (size-len(begin)-len(end))/len(part)) + end }
	}
	fill := func(begin, part, end string) func() string { return filled(some, begin, part, end) }
	return map[string]func() string{
		"deep":            filled(most, "", "[", ""),
		"deep in a field": filled(40_000, `[{"id":"a","x":`, "[", strings.Repeat("]", 20_000)+"}]"),
		"deep objects":    fill("", `{"a":`, ""),
		"a long key":      filled(most, `{"`, "k", `":{}}`),
		"a long text":     fill(`[{"id":"`, "i", `"}]`),
		"escapes":         fill(`[{"id":"`, `\u0041`, `"}]`),
		"empty objects":   filled(most, "[", "{},", "{}]"),
		"numbers":         fill("[", "1,", "1]"),
		"many keys":       func() string { return manyKeys(most) },
		"a long number":   fill(`[{"id":`, "1", `}]`),
		"a long time":     fill(`[{"id":"a","started_at":`, "1", `}]`),
		"no end":          fill(`[{"id":"`, "i", ""),
		"half a list":     fill("[", `{"id":"a"},`, ""),
		"brackets":        fill("[", "[],", "[]]"),
		"of one id":       ofOneID,
		"lines as jsonl":  filled(most, "", "{}\n", ""),
		"empty as kapi":   fill("[", "{},", "{}]"),
		"quotes":          fill("[", `"\"",`, "1]"),
	}
}

// ofOneID has records of one id after many of others.
func ofOneID() string {
	var b strings.Builder
	b.WriteString("[")
	for i := range 60_000 {
		fmt.Fprintf(&b, `{"id":"%d","status":"x"},`, i)
	}
	for i := range 60_000 {
		fmt.Fprintf(&b, `{"id":"0","status":"x","path":"/w/%d"},`, i%100)
	}
	return b.String() + `{"id":"x","status":1}]`
}

func manyKeys(most int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := 0; b.Len() < most-40; i++ {
		fmt.Fprintf(&b, `"%x":{"a":1},`, i)
	}
	b.WriteString(`"z":{}}`)
	return b.String()
}

func TestAttackAFileThatEatsTheMemory(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	heavy(t)
	a := attack.New(t, "a registry or spawn ledger of 64 MiB: nested without end, one key, one number, one line, millions of empty records, of one id")
	path := filepath.Join(t.TempDir(), "records")
	try := func(what, format, name, text string, failed bool) {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		var given int
		var state snapshot.Source
		var took time.Duration
		grown := attack.Grown(t, func() { given, state, took = look(t, what, format, path, wait.Patience) })
		t.Logf("%s, %s: %d MiB, %s: %s %s", what, name, grown>>20, took.Round(time.Millisecond), state.Status, state.Error)
		switch {
		case (state.Status == snapshot.Failed) != failed:
			a.Lost("%s, %s: %+v, %d given", what, name, state, given)
		case grown > 200<<20:
			a.Lost("%s, %s: the memory grew by %d MiB", what, name, grown>>20)
		case took > patience:
			a.Lost("%s, %s took %s", what, name, took)
		default:
			a.Held()
		}
	}
	for name, document := range hostile() {
		format := records.JSON
		switch {
		case strings.HasSuffix(name, records.JSONL):
			format = records.JSONL
		case strings.HasSuffix(name, records.Kapi):
			format = records.Kapi
		}
		try(records.Registry, format, name, document(), true)
	}
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
		try(records.Spawns, records.JSONL, name, strings.Repeat(line, size/len(line)), name != "empty lines" && name != "one record")
	}
}

// heavy passes a test over where memory and time cannot be measured.
func heavy(t *testing.T) {
	t.Helper()
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
}

// As many honest records as a file may hold are read whole, in little memory.
func TestAGreatRegistryIsRead(t *testing.T) {
	stage.NeedSecond(t, "it writes files of 64 MiB")
	heavy(t)
	const n = 100_000
	path := filepath.Join(t.TempDir(), "registry")
	f := must.Get(os.Create(path))(t)
	for i := range n {
		fmt.Fprintf(f, `{"id":"worker-%d","status":"running","path":"/w/a/%d","session":"worker-%d","role":"builder","started_at":1769882400,"note":"%s"}`+"\n", i, i%50, i, "0123456789012345678901234567890123456789")
	}
	must.Do(t, f.Close())
	var given int
	var state snapshot.Source
	var took time.Duration
	grown := attack.Grown(t, func() { given, state, took = look(t, records.Registry, records.JSONL, path, wait.Patience) })
	t.Logf("%d MiB, %s", grown>>20, took)
	if state.Status != snapshot.OK || given != n || grown > 300<<20 {
		t.Errorf("%+v, %d entries, %d MiB", state, given, grown>>20)
	}
}

// A source has one deadline, also when something else is in its place.
func TestAttackASpawnLedgerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	held := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
	defer held.Close()
	a := attack.New(t, "a FIFO that a process holds open, /dev/zero and a terminal as a spawn ledger, a store and its journal")
	beside := filepath.Join(t.TempDir(), "db")
	must.Do(t, os.WriteFile(beside, []byte("SQLite format 3\x00"), 0o600))
	must.Do(t, os.Symlink(path, beside+"-journal"))
	for _, format := range []string{records.JSON, records.JSONL, records.Shepherd} {
		for _, p := range []string{path, "/dev/zero", "/dev/ptmx", beside} {
			_, state, took := look(t, records.Spawns, format, p, time.Second)
			if state.Status != snapshot.Failed || took > wait.Patience {
				a.Lost("%s as %s: %+v after %s", p, format, state, took)
				continue
			}
			a.Held()
		}
	}
}

// formats that are text, and those that are tables.
var tables = map[string]string{
	"spawns/" + records.Shepherd: `CREATE TABLE reviewer_spawns (reviewerSessionId, taskSessionId, kind, worktreePath, spawnedAt, completedAt)`,
	"registry/" + records.Shepherd: `CREATE TABLE sessions (id, status, worktreePath, terminal, agentProvider, createdAt, archivedAt, mergingSince, herdrSession,
		herdrAgentId, terminalTabId)`,
	"registry/" + records.Codev: `CREATE TABLE builders (workspace_path, id, status, worktree, started_at)`,
}

// For every content of a registry or spawn ledger, reading it gives records or says why not, counts what it could not read, and every record is one
// that can be relied on.
func FuzzRecords(f *testing.F) {
	all := []struct{ what, format string }{
		{records.Registry, records.JSON}, {records.Registry, records.JSONL}, {records.Registry, records.Kapi}, {records.Registry, records.Shepherd},
		{records.Registry, records.Codev}, {records.Spawns, records.JSON}, {records.Spawns, records.JSONL}, {records.Spawns, records.Shepherd},
	}
	for i := range all {
		f.Add(uint8(i), []byte(`[{"id":"a","slug":"b","status":"completed","path":"/w","retention":{"retained":true}}]`), int64(1795197137709), "/w/a")
		f.Add(uint8(i), []byte(`[{"id":"a","path":"/w","spawned_at":1769882400,"completed_at":1769882500}]`), int64(1795197137709), "/w/a")
		f.Add(uint8(i), []byte("{\"a\":{\"status\":\"x\"}}\n{\"id\":7}"), int64(-1), "a\x00b")
		f.Add(uint8(i), []byte("{\"path\":\"/w\"}\n{\"id\":7,\"session\":\"x\",\"completed_at\":\"2026-01-31T18:00:00Z\"}"), int64(-1), "a\x00b")
		f.Add(uint8(i), []byte(`archived`), int64(1<<62), "2026-11-20 17:50:41")
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte, number int64, text string) {
		one := all[int(which)%len(all)]
		path := filepath.Join(t.TempDir(), "records")
		if create, ok := tables[one.what+"/"+one.format]; ok {
			fillTable(t, path, create, data, number, text)
		} else {
			must.Do(t, os.WriteFile(path, data, 0o600))
		}
		src, err := records.Source(one.what, "x", one.format, path, records.Options{Over: archived})
		must.Do(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		part, err := src.Reader.Read(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		for _, e := range part.Registry {
			checkEntry(t, e)
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

func checkEntry(t *testing.T, e snapshot.Entry) {
	t.Helper()
	switch {
	case e.ID == "" || e.Source != "registry/x":
		t.Fatalf("an entry without an id or source: %+v", e)
	case e.Path != "" && !filepath.IsAbs(e.Path):
		t.Fatalf("the path of %+v", e)
	case strings.ContainsRune(e.ID+e.Path+e.Status+e.Session+e.Role+e.Marker+e.Pane+e.Tab+e.Server, 0):
		t.Fatalf("a NUL in %+v", e)
	case e.PID != nil && *e.PID < 1:
		t.Fatalf("the pid of %+v", e)
	}
	for _, at := range []*time.Time{e.StartedAt, e.EndedAt} {
		if at != nil && (at.Unix() < 1e9 || at.Unix() >= 1e10) {
			t.Fatalf("a time of %+v", e)
		}
	}
}

// fillTable makes a table whose columns hold what is given, in turn, as text, blob, number and nothing.
func fillTable(t *testing.T, path, create string, data []byte, number int64, text string) {
	t.Helper()
	db := must.Get(sql.Open("sqlite", path))(t)
	defer db.Close()
	must.Get(db.Exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; " + create))(t)
	table := strings.Fields(create)[2]
	width := strings.Count(create, ",") + 1
	values := []any{string(data), text, number, data, nil, float64(number), "archived", "/w/a", number + 1}
	for shift := range 4 {
		args := make([]any, width)
		for i := range args {
			args[i] = values[(i*(shift+1)+shift+len(data))%len(values)]
		}
		must.Get(db.Exec("INSERT INTO "+table+" VALUES (?"+strings.Repeat(", ?", width-1)+")", args...))(t)
	}
}
