package records_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"winnow/collectors"
	"winnow/collectors/records"
	"winnow/engine/snapshot"
	"winnow/testkit/attack"
)

// patience is how long one registry may take here: collect.timeout, and as much again for a busy machine.
const patience = 2 * collectors.DefaultTimeout

// look reads a registry as a look does.
func look(t testing.TB, format, path string) (part collectors.Part, state snapshot.Source, took time.Duration) {
	t.Helper()
	src, err := records.Source(records.Registry, "x", format, path, records.Options{Over: archived})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var got collectors.Part
	src.Reader = counted{src.Reader, &got}
	snap := collectors.Run(context.Background(), collectors.RunOptions{Sources: []collectors.Source{src}})
	return got, snap.Sources["registry/x"], time.Since(began)
}

// counted keeps what a reader gave.
type counted struct {
	collectors.Reader
	got *collectors.Part
}

func (c counted) Read(ctx context.Context) (collectors.Part, error) {
	p, err := c.Reader.Read(ctx)
	*c.got = p
	return p, err
}

// hostile write documents that nobody writes for a registry: those of which a byte may cost many are as great as can be.
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

func TestAttackADocumentThatEatsTheMemory(t *testing.T) {
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	if testing.Short() {
		t.Skip("it writes files of 64 MiB")
	}
	a := attack.New(t, "a registry of 64 MiB: nested without end, one key, one number, millions of empty records, of one id")
	path := filepath.Join(t.TempDir(), "registry")
	for name, document := range hostile() {
		format := records.JSON
		switch {
		case strings.HasSuffix(name, records.JSONL):
			format = records.JSONL
		case strings.HasSuffix(name, records.Kapi):
			format = records.Kapi
		}
		if err := os.WriteFile(path, []byte(document()), 0o600); err != nil {
			t.Fatal(err)
		}
		var part collectors.Part
		var state snapshot.Source
		var took time.Duration
		grown := attack.Grown(t, func() { part, state, took = look(t, format, path) })
		t.Logf("%s: %d MiB, %s: %s", name, grown>>20, took.Round(time.Millisecond), state.Error)
		switch {
		case state.Status != snapshot.Failed:
			a.Lost("%s: %+v, %d entries", name, state, len(part.Registry))
		case grown > 200<<20:
			a.Lost("%s: the memory grew by %d MiB", name, grown>>20)
		case took > patience:
			a.Lost("%s took %s", name, took)
		default:
			a.Held()
		}
	}
}

// As many honest records as a file may hold are read whole, in little memory.
func TestAGreatRegistryIsRead(t *testing.T) {
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	if testing.Short() {
		t.Skip("it writes a file of many MiB")
	}
	const n = 100_000
	path := filepath.Join(t.TempDir(), "registry")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		fmt.Fprintf(f, `{"id":"worker-%d","status":"running","path":"/w/a/%d","session":"worker-%d","role":"builder","started_at":1769882400,"note":"%s"}`+"\n", i, i%50, i, "0123456789012345678901234567890123456789")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var part collectors.Part
	var state snapshot.Source
	var took time.Duration
	grown := attack.Grown(t, func() { part, state, took = look(t, records.JSONL, path) })
	t.Logf("%d MiB, %s", grown>>20, took)
	if state.Status != snapshot.OK || len(part.Registry) != n || grown > 300<<20 {
		t.Errorf("%+v, %d entries, %d MiB", state, len(part.Registry), grown>>20)
	}
}

// formats that are text, and those that are tables.
var tables = map[string]string{
	records.Shepherd: `CREATE TABLE sessions (id, status, worktreePath, terminal, agentProvider, createdAt, archivedAt, mergingSince, herdrSession,
		herdrAgentId, terminalTabId)`,
	records.Codev: `CREATE TABLE builders (workspace_path, id, status, worktree, started_at)`,
}

// Whatever a registry holds, reading it gives entries or says why not, counts what it could not read, and every entry is one that can be
// relied on.
func FuzzRegistry(f *testing.F) {
	formats := []string{records.JSON, records.JSONL, records.Kapi, records.Shepherd, records.Codev}
	for i := range formats {
		f.Add(uint8(i), []byte(`[{"id":"a","slug":"b","status":"completed","path":"/w","retention":{"retained":true}}]`), int64(1795197137709), "/w/a")
		f.Add(uint8(i), []byte("{\"a\":{\"status\":\"x\"}}\n{\"id\":7}"), int64(-1), "a\x00b")
		f.Add(uint8(i), []byte(`archived`), int64(1<<62), "2026-11-20 17:50:41")
	}
	f.Fuzz(func(t *testing.T, format uint8, data []byte, number int64, text string) {
		name := formats[int(format)%len(formats)]
		path := filepath.Join(t.TempDir(), "registry")
		if create, ok := tables[name]; ok {
			fillTable(t, path, create, data, number, text)
		} else if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := records.Source(records.Registry, "x", name, path, records.Options{Over: archived})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		part, err := src.Reader.Read(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		for _, e := range part.Registry {
			checkEntry(t, e)
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
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; " + create); err != nil {
		t.Fatal(err)
	}
	table := strings.Fields(create)[2]
	width := strings.Count(create, ",") + 1
	values := []any{string(data), text, number, data, nil, float64(number), "archived", "/w/a"}
	for shift := range 4 {
		args := make([]any, width)
		for i := range args {
			args[i] = values[(i*(shift+1)+shift+len(data))%len(values)]
		}
		if _, err := db.Exec("INSERT INTO "+table+" VALUES (?"+strings.Repeat(", ?", width-1)+")", args...); err != nil {
			t.Fatal(err)
		}
	}
}
