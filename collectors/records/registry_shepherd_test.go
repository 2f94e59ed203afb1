package records_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"winnow/collectors"
	"winnow/collectors/records"
	"winnow/engine/snapshot"
	shepherdtest "winnow/testkit/shepherd"
)

// newShepherd gives an empty store, and the source that reads it.
func newShepherd(tb testing.TB) (*shepherdtest.Store, collectors.Source) {
	tb.Helper()
	s := shepherdtest.New(tb, filepath.Join(tb.TempDir(), "shepherd.db"))
	src, err := records.Source(records.Registry, "shepherd", records.Shepherd, s.Path, records.Options{Over: archived})
	if err != nil {
		tb.Fatal(err)
	}
	return s, src
}

func TestShepherd(t *testing.T) {
	t.Parallel()
	s, src := newShepherd(t)
	s.Insert("sessions", shepherdtest.Sessions(t)...)
	s.Exec("ALTER TABLE sessions ADD COLUMN somethingNew TEXT NOT NULL DEFAULT 'x'")
	if src.Name != "registry/shepherd" || src.Kind != "registry" || src.Path != s.Path || src.Format != "shepherd" {
		t.Errorf("source %+v", src)
	}
	const trees = "/home/dev/.shepherd-worktrees/"
	entry := func(id, status string, over bool, path, role, pane, tab string, started int64) snapshot.Entry {
		return snapshot.Entry{Source: "registry/shepherd", ID: id, Marker: id, Status: status, Terminal: &over, Path: path, Role: role, Own: new(strings.HasPrefix(path, trees)),
			Server: "default", Pane: pane, Tab: tab, StartedAt: new(time.UnixMilli(started).UTC()), Endless: new(true)}
	}
	archived := entry("c208215a-74a1-46d9-9cc5-617606cd67f5", "archived", true, trees+"acme-fix-typo", "claude", "term-2", "", 1795197137710)
	archived.EndedAt, archived.Endless = new(time.UnixMilli(1795197137715).UTC()), new(false)
	want := collectors.Part{
		Registry: []snapshot.Entry{
			entry("743a428e-3ec3-47d4-a875-5b9f3da21a61", "running", false, trees+"acme-add-oauth", "claude", "term-1", "", 1795197137709),
			entry("a98f73af-eba9-479e-9bf6-8437632e0f3c", "running", false, "/home/dev/notes", "claude", "term-3", "", 1795197137711),
			entry("b2b7763c-fa3a-46e4-b1f5-b9b938082022", "archived", false, trees+"acme-mid-restore", "claude", "term-5", "", 1795197137716),
			archived,
			entry("d27e7150-db8f-45c6-b4a8-82c2f773364b", "running", false, "/home/dev/acme", "terminal", "", "w1:t9", 1795197137712),
		},
		Named: []string{trees + "acme-add-oauth", trees + "acme-fix-typo", trees + "acme-mid-restore", "/home/dev/acme", "/home/dev/notes"},
	}
	p, err := src.Reader.Read(t.Context())
	if d := cmp.Diff(want, p); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	s.Exec("DELETE FROM sessions WHERE status = 'archived'")
	p, err = src.Reader.Read(t.Context())
	if err != nil || len(p.Registry) != 3 || slices.ContainsFunc(p.Registry, func(e snapshot.Entry) bool { return *e.Terminal }) {
		t.Errorf("after the archived rows were dropped: %+v, %v", p.Registry, err)
	}
}

// Only one thing has ended: archived, with the time of it, and nothing merging.
func TestWhatIsOverInShepherd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		changes    shepherdtest.Row
		over       bool
		unsure     int
		status     string
		startKnown bool
	}{
		"archived":                       {shepherdtest.Row{}, true, 0, "archived", true},
		"archived at once":               {shepherdtest.Row{"archivedAt": 1795197137710}, true, 0, "archived", true},
		"archived without the time":      {shepherdtest.Row{"archivedAt": nil}, false, 0, "archived", true},
		"running":                        {shepherdtest.Row{"status": "running", "archivedAt": nil}, false, 0, "running", true},
		"running again, the time stayed": {shepherdtest.Row{"status": "running"}, false, 0, "running", true},
		"idle":                           {shepherdtest.Row{"status": "idle"}, false, 0, "idle", true},
		"blocked":                        {shepherdtest.Row{"status": "blocked"}, false, 0, "blocked", true},
		"done":                           {shepherdtest.Row{"status": "done"}, false, 0, "done", true},
		"a word nobody knows":            {shepherdtest.Row{"status": "Hibernating "}, false, 0, "hibernating", true},
		"nearly the word":                {shepherdtest.Row{"status": "Archived"}, false, 0, "archived", true},
		"no word":                        {shepherdtest.Row{"status": ""}, false, 0, "", true},
		"merging":                        {shepherdtest.Row{"mergingSince": 1795197137714}, false, 0, "archived", true},
		"merging since 0":                {shepherdtest.Row{"mergingSince": 0}, false, 0, "archived", true},
		"merging since text":             {shepherdtest.Row{"mergingSince": ""}, false, 0, "archived", true},
		"archived at 0":                  {shepherdtest.Row{"archivedAt": 0}, false, 1, "archived", true},
		"archived before 1970":           {shepherdtest.Row{"archivedAt": -1795197137715}, false, 1, "archived", true},
		"archived in seconds":            {shepherdtest.Row{"archivedAt": 1795197137}, false, 1, "archived", true},
		"archived in text":               {shepherdtest.Row{"archivedAt": "yesterday"}, false, 1, "archived", true},
		"archived before it began":       {shepherdtest.Row{"archivedAt": 1795197137709}, false, 1, "archived", true},
		"begun in text":                  {shepherdtest.Row{"createdAt": "yesterday"}, false, 1, "archived", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, src := newShepherd(t)
			s.Insert("sessions", shepherdtest.Sessions(t)[shepherdtest.Archived].With(tc.changes))
			p, err := src.Reader.Read(t.Context())
			if err != nil || len(p.Registry) != 1 || p.Unreadable != tc.unsure {
				t.Fatalf("%d entries, %d unreadable, %v", len(p.Registry), p.Unreadable, err)
			}
			e := p.Registry[0]
			if e.Terminal == nil || *e.Terminal != tc.over || (e.EndedAt != nil) != tc.over || e.Status != tc.status || (e.StartedAt != nil) != tc.startKnown {
				t.Errorf("gave %+v", e)
			}
		})
	}
}

func TestShepherdsRoles(t *testing.T) {
	t.Parallel()
	s, src := newShepherd(t)
	rows := shepherdtest.Sessions(t)
	s.Insert("sessions", rows[shepherdtest.Terminal], rows[shepherdtest.InRepo].With(shepherdtest.Row{"agentProvider": "codex"}))
	p, err := src.Reader.Read(t.Context())
	if err != nil || len(p.Registry) != 2 || p.Registry[0].Role != "codex" || p.Registry[1].Role != "terminal" {
		t.Errorf("gave %+v, %v", p.Registry, err)
	}
}

func TestShepherdsRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		changes shepherdtest.Row
		want    string
	}{
		"a relative path":    {shepherdtest.Row{"worktreePath": "acme"}, "sessions: c208215a-74a1-46d9-9cc5-617606cd67f5: worktreePath is not absolute"},
		"no path":            {shepherdtest.Row{"worktreePath": ""}, "no worktreePath"},
		"NULL for an id":     {shepherdtest.Row{"id": nil}, "sessions: row 1: it has no id"},
		"an id of bytes":     {shepherdtest.Row{"id": []byte("x")}, "sessions: row 1: id is not text"},
		"a status of bytes":  {shepherdtest.Row{"status": []byte("archived")}, "status is not text"},
		"a terminal of text": {shepherdtest.Row{"terminal": "maybe"}, "terminal is not a whole number"},
		"a NUL in a pane":    {shepherdtest.Row{"herdrAgentId": "a\x00"}, "herdrAgentId has a NUL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, src := newShepherd(t)
			rows := shepherdtest.Sessions(t)
			s.Insert("sessions", rows[shepherdtest.Archived].With(tc.changes), rows[shepherdtest.Running])
			p, err := src.Reader.Read(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "read "+s.Path+": ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("gave %v; want %q", err, tc.want)
			}
			if strings.Contains(fmt.Sprint(err), "Add OAuth login") {
				t.Errorf("the prompt is in the error: %v", err)
			}
			if !p.Partial || p.Unreadable != 1 || len(p.Registry) != 1 || p.Registry[0].Status != "running" {
				t.Errorf("gave %+v", p)
			}
		})
	}
}

func TestAShepherdOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"archivedAt", "mergingSince", "herdrAgentId"} {
		s, src := newShepherd(t)
		s.Insert("sessions", shepherdtest.Sessions(t)[shepherdtest.Archived])
		s.Exec("DROP INDEX one_terminal")
		s.Exec("ALTER TABLE sessions DROP COLUMN " + column)
		p, err := src.Reader.Read(t.Context())
		if err == nil || len(p.Registry) != 0 || !strings.Contains(err.Error(), "has no column "+column+"; a newer or older Shepherd") {
			t.Errorf("without %s gave %+v, %v", column, p, err)
		}
	}
}

// A store that lost what makes an id unique may say two things of one.
func TestShepherdSaysTwoThings(t *testing.T) {
	t.Parallel()
	s, src := newShepherd(t)
	s.Exec("DROP INDEX one_terminal")
	s.Exec("CREATE TABLE copy AS SELECT * FROM sessions")
	s.Exec("DROP TABLE sessions")
	s.Exec("ALTER TABLE copy RENAME TO sessions")
	row := shepherdtest.Sessions(t)[shepherdtest.Archived]
	s.Insert("sessions", row, row.With(shepherdtest.Row{"status": "running"}))
	if _, err := src.Reader.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "contradicts itself") {
		t.Errorf("gave %v", err)
	}
}

// Whatever stands in the columns, a session has ended only when the row says so in every respect, and each row is given or counted.
func TestShepherdsRowsOfAnyKind(t *testing.T) {
	t.Parallel()
	s, src := newShepherd(t)
	columns := []string{"id", "status", "worktreePath", "terminal", "agentProvider", "createdAt", "archivedAt", "mergingSince", "herdrSession",
		"herdrAgentId", "terminalTabId"}
	s.Exec("DROP TABLE sessions")
	s.Exec("CREATE TABLE sessions (" + strings.Join(columns, ", ") + ")")
	r := rand.New(rand.NewPCG(3, 4))
	var rows []shepherdtest.Row
	mayEnd := map[string]bool{}
	right := shepherdtest.Row{"status": "archived", "worktreePath": "/w/a", "terminal": int64(0), "agentProvider": "claude",
		"createdAt": int64(1795197137719), "archivedAt": int64(1795197137721), "herdrSession": "default", "herdrAgentId": "term-1"}
	strange := []any{nil, "", "x", "1795197137721", "running", "Archived", int64(0), int64(-5), int64(1795197137), int64(1795197137719), int64(1 << 62),
		1.5, []byte("archived"), []byte{}, "w", "a\x00"}
	for i := range 3000 {
		row := right.With(shepherdtest.Row{"id": fmt.Sprint("id", i), "mergingSince": nil, "terminalTabId": nil})
		for range r.IntN(4) {
			row[columns[r.IntN(len(columns))]] = strange[r.IntN(len(strange))]
		}
		rows = append(rows, row)
		if id, ok := row["id"].(string); ok {
			from, begun := row["createdAt"].(int64)
			to, ended := row["archivedAt"].(int64)
			mayEnd[id] = mayEnd[id] || row["status"] == any("archived") && row["mergingSince"] == nil && begun && ended &&
				from > 1e12 && from < 1e13 && to >= from && to < 1e13
		}
	}
	s.Insert("sessions", rows...)
	p, err := src.Reader.Read(t.Context())
	if err == nil || !p.Partial {
		t.Fatalf("partial %v, %v", p.Partial, err)
	}
	over := 0
	for _, e := range p.Registry {
		if e.ID == "" || e.Marker != e.ID || e.Terminal == nil || !filepath.IsAbs(e.Path) || e.Own != nil { // the table has no column isolated
			t.Errorf("gave %+v", e)
			continue
		}
		if *e.Terminal {
			over++
			if !mayEnd[e.ID] || e.EndedAt == nil {
				t.Errorf("%s was given as over: %+v", e.ID, e)
			}
		}
	}
	if len(p.Registry)+p.Unreadable < len(rows) || over == 0 || over == len(p.Registry) {
		t.Errorf("%d rows: %d given, %d unreadable, %d over", len(rows), len(p.Registry), p.Unreadable, over)
	}
}

// BenchmarkShepherd reads 5,000 sessions, far more than Shepherd keeps.
func BenchmarkShepherd(b *testing.B) {
	s, src := newShepherd(b)
	row := shepherdtest.Sessions(b)[shepherdtest.Archived].With(shepherdtest.Row{"prompt": strings.Repeat("p", 2000)})
	rows := make([]shepherdtest.Row, 5_000)
	for i := range rows {
		rows[i] = row.With(shepherdtest.Row{"id": fmt.Sprint("id", i), "worktreePath": fmt.Sprintf("/home/dev/.shepherd-worktrees/acme-%d", i)})
	}
	s.Insert("sessions", rows...)
	for b.Loop() {
		if p, err := src.Reader.Read(b.Context()); err != nil || len(p.Registry) != len(rows) {
			b.Fatal(len(p.Registry), err)
		}
	}
}
