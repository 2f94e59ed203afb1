package records_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
	shepherdtest "github.com/winnow-reaper/winnow/test/kit/shepherd"
)

const open, done = 0, 1 // of shepherdtest.Spawns

// newShepherd gives an empty store in a folder of its own, and the source that reads what of it.
func newShepherd(tb testing.TB, what string) (*shepherdtest.Store, collectors.Source) {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	must.Do(tb, err)
	s := shepherdtest.New(tb, filepath.Join(dir, "shepherd.db"))
	src, err := records.Source(what, "shepherd", records.Shepherd, s.Path, records.Options{Over: archived})
	must.Do(tb, err)
	return s, src
}

func TestWhereShepherdKeepsItsStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, home := range []string{"home", "linked", "without"} {
		must.Do(t, os.MkdirAll(at(home+"/.shepherd"), 0o700))
	}
	must.Do(t, os.WriteFile(at("home/.shepherd/shepherd.db"), nil, 0o600))
	must.Do(t, os.Symlink("nowhere", at("linked/.shepherd/shepherd.db")))
	must.Do(t, os.WriteFile(at("other.db"), nil, 0o600))
	must.Do(t, os.Mkdir(at("flat"), 0o700))
	must.Do(t, os.WriteFile(at("flat/.shepherd"), nil, 0o600))
	wd, err := os.Getwd()
	must.Do(t, err)
	for name, tc := range map[string]struct {
		env, home, want string
		ok              bool
	}{
		"its own place":               {"", at("home"), at("home/.shepherd/shepherd.db"), true},
		"in the place that is set":    {at("other.db"), at("home"), at("other.db"), true},
		"nowhere":                     {"", at("without"), at("without/.shepherd/shepherd.db"), false},
		"no folder":                   {"", at("none"), at("none/.shepherd/shepherd.db"), false},
		"a file for a folder":         {"", at("flat"), at("flat/.shepherd/shepherd.db"), false},
		"in a set place with nothing": {at("none.db"), at("home"), at("none.db"), false},
		"a link that leads nowhere":   {"", at("linked"), at("linked/.shepherd/shepherd.db"), true},
		"home is not set":             {"", "", filepath.Join(wd, ".shepherd/shepherd.db"), true},
		"a relative place":            {"data/s.db", at("home"), filepath.Join(wd, "data/s.db"), true},
	} {
		env := func(key string) string { return map[string]string{"SHEPHERD_DB": tc.env}[key] }
		if got, found := records.ShepherdStore(env, tc.home); got != tc.want || found != tc.ok {
			t.Errorf("%s gave %s, %v", name, got, found)
		}
	}
	if os.Geteuid() == 0 {
		return // root may look everywhere
	}
	must.Do(t, os.Chmod(at("home/.shepherd"), 0))
	_, found := records.ShepherdStore(func(string) string { return "" }, at("home"))
	must.Do(t, os.Chmod(at("home/.shepherd"), 0o700))
	if !found {
		t.Error("a folder that may not be entered was passed over")
	}
}

func TestShepherd(t *testing.T) {
	t.Parallel()
	s, src := newShepherd(t, records.Registry)
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
	archived.PullRequest = &snapshot.PullRequest{By: "Shepherd", State: snapshot.PullMerged}
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

// TestPullRequestsInShepherd holds what its store says of a session's pull request, and that a store without any of that is read all the same.
func TestPullRequestsInShepherd(t *testing.T) {
	t.Parallel()
	const head = "1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b"
	pull := func(number int64, state, head string) *snapshot.PullRequest {
		p := &snapshot.PullRequest{By: "Shepherd", State: state, Head: head}
		if number != 0 {
			p.Number = &number
		}
		return p
	}
	for name, tc := range map[string]struct {
		session int
		changes shepherdtest.Row
		heard   string
		exec    string
		want    *snapshot.PullRequest
	}{
		"archived as merged":            {session: shepherdtest.Archived, want: pull(0, "merged", "")},
		"archived as merged, by number": {session: shepherdtest.Archived, changes: shepherdtest.Row{"mergingPrNumber": 12}, want: pull(12, "merged", "")},
		"archived by a person":          {session: shepherdtest.Archived, changes: shepherdtest.Row{"archiveReason": "operator"}},
		"archived without a reason":     {session: shepherdtest.Archived, changes: shepherdtest.Row{"archiveReason": nil}},
		"being restored":                {session: shepherdtest.Archived, changes: shepherdtest.Row{"archivedAt": nil}},
		"before that column":            {session: shepherdtest.Archived, exec: "ALTER TABLE sessions DROP COLUMN archiveReason"},
		"merged, and not archived yet":  {session: shepherdtest.Running, heard: `{"kind":"github","state":"merged","number":12,"title":"secret","headSha":"` + head + `"}`, want: pull(12, "merged", head)},
		"open":                          {session: shepherdtest.Running, heard: `{"state":"open","number":12,"headSha":"main"}`, want: pull(12, "open", "")},
		"none":                          {session: shepherdtest.Running, heard: `{"state":"none"}`},
		"of an unknown state":           {session: shepherdtest.Running, heard: `{"state":"Merged!","number":12}`},
		"of an impossible number":       {session: shepherdtest.Running, heard: `{"state":"closed","number":-12}`, want: pull(0, "closed", "")},
		"no JSON":                       {session: shepherdtest.Running, heard: `merged`},
		"too long":                      {session: shepherdtest.Running, heard: `{"state":"merged","title":"` + strings.Repeat("x", 64<<10) + `"}`},
		"before that table":             {session: shepherdtest.Running, exec: "DROP TABLE session_git_cache"},
	} {
		s, src := newShepherd(t, records.Registry)
		row := shepherdtest.Sessions(t)[tc.session].With(tc.changes)
		s.Insert("sessions", row)
		if tc.heard != "" {
			s.Insert("session_git_cache", shepherdtest.Row{"sessionId": row["id"], "gitJson": tc.heard, "updatedAt": 1795197137709})
		}
		if tc.exec != "" {
			s.Exec(tc.exec)
		}
		p, err := src.Reader.Read(t.Context())
		if err != nil || len(p.Registry) != 1 {
			t.Fatalf("%s: %+v, %v", name, p, err)
		}
		must.Equal(t, tc.want, p.Registry[0].PullRequest, "%s", name)
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
		"an unknown word":                {shepherdtest.Row{"status": "Hibernating "}, false, 0, "hibernating", true},
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
			s, src := newShepherd(t, records.Registry)
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
	s, src := newShepherd(t, records.Registry)
	rows := shepherdtest.Sessions(t)
	s.Insert("sessions", rows[shepherdtest.Terminal], rows[shepherdtest.InRepo].With(shepherdtest.Row{"agentProvider": "codex"}))
	p, err := src.Reader.Read(t.Context())
	if err != nil || len(p.Registry) != 2 || p.Registry[0].Role != "codex" || p.Registry[1].Role != "terminal" {
		t.Errorf("gave %+v, %v", p.Registry, err)
	}
}

// A row that does not name its owner, or what it protects, fails the store, and the others are still shown.
func TestShepherdsRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	sessions, spawns := shepherdtest.Sessions(t), shepherdtest.Spawns(t)
	for name, tc := range map[string]struct {
		what    string
		changes shepherdtest.Row
		want    string
	}{
		"a relative path":         {records.Registry, shepherdtest.Row{"worktreePath": "acme"}, "c208215a-74a1-46d9-9cc5-617606cd67f5: worktreePath is not absolute"},
		"no path":                 {records.Registry, shepherdtest.Row{"worktreePath": ""}, "no worktreePath"},
		"NULL for an id":          {records.Registry, shepherdtest.Row{"id": nil}, "row 1: it has no id"},
		"an id of bytes":          {records.Registry, shepherdtest.Row{"id": []byte("x")}, "row 1: id is not text"},
		"a status of bytes":       {records.Registry, shepherdtest.Row{"status": []byte("archived")}, "status is not text"},
		"a terminal of text":      {records.Registry, shepherdtest.Row{"terminal": "maybe"}, "terminal is not a whole number"},
		"a NUL in a pane":         {records.Registry, shepherdtest.Row{"herdrAgentId": "a\x00"}, "herdrAgentId has a NUL"},
		"a spawn's relative path": {records.Spawns, shepherdtest.Row{"worktreePath": "w/a"}, "worktreePath is not absolute"},
		"a spawn without a path":  {records.Spawns, shepherdtest.Row{"worktreePath": ""}, "no worktreePath"},
		"a spawn's path of bytes": {records.Spawns, shepherdtest.Row{"worktreePath": []byte("/w")}, "worktreePath is not text"},
		"a NUL in a path":         {records.Spawns, shepherdtest.Row{"worktreePath": "/w/a\x00b"}, "worktreePath has a NUL"},
		"no id":                   {records.Spawns, shepherdtest.Row{"reviewerSessionId": ""}, "no reviewerSessionId"},
		"NULL for a spawn's id":   {records.Spawns, shepherdtest.Row{"reviewerSessionId": nil}, "row 1: it has no reviewerSessionId"},
		"an owner in bytes":       {records.Spawns, shepherdtest.Row{"taskSessionId": []byte("x")}, "taskSessionId is not text"},
		"a kind in bytes":         {records.Spawns, shepherdtest.Row{"kind": []byte("review")}, "kind is not text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, src := newShepherd(t, tc.what)
			table, rows := "sessions", []shepherdtest.Row{sessions[shepherdtest.Archived].With(tc.changes), sessions[shepherdtest.Running]}
			if tc.what == records.Spawns {
				table, rows = "reviewer_spawns", []shepherdtest.Row{spawns[done].With(tc.changes), spawns[open]}
			}
			s.Insert(table, rows...)
			p, err := src.Reader.Read(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "read "+s.Path+": "+table+": ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("gave %v; want %q", err, tc.want)
			}
			if strings.Contains(fmt.Sprint(err), "Add OAuth login") {
				t.Errorf("the prompt is in the error: %v", err)
			}
			if !p.Partial || p.Unreadable != 1 || len(p.Registry)+len(p.Spawns) != 1 ||
				tc.what == records.Registry && p.Registry[0].Status != "running" || tc.what == records.Spawns && p.Spawns[0].Kind != "plan_gate" {
				t.Errorf("gave %+v", p)
			}
		})
	}
}

// With any values in the columns, a session or spawn has ended only when the row says so in every respect, and each row is given or counted.
func TestShepherdsRowsOfAnyKind(t *testing.T) {
	t.Parallel()
	const from, to = int64(1795197137719), int64(1795197137721)
	for what, of := range map[string]struct {
		table, id, begun, ended string
		right                   shepherdtest.Row
	}{
		records.Registry: {"sessions", "id", "createdAt", "archivedAt", shepherdtest.Row{"id": nil, "status": "archived", "worktreePath": "/w/a", "terminal": int64(0),
			"agentProvider": "claude", "createdAt": from, "archivedAt": to, "mergingSince": nil, "herdrSession": "default", "herdrAgentId": "term-1", "terminalTabId": nil}},
		records.Spawns: {"reviewer_spawns", "reviewerSessionId", "spawnedAt", "completedAt", shepherdtest.Row{"reviewerSessionId": nil, "taskSessionId": "t",
			"kind": "review", "worktreePath": "/w/a", "spawnedAt": from, "completedAt": to}},
	} {
		s, src := newShepherd(t, what)
		columns := slices.Sorted(maps.Keys(of.right))
		s.Exec("DROP TABLE " + of.table)
		s.Exec("CREATE TABLE " + of.table + " (" + strings.Join(columns, ", ") + ")")
		r := rand.New(rand.NewPCG(3, 4))
		var rows []shepherdtest.Row
		mayEnd := map[string]bool{}
		strange := []any{nil, "", "x", "1795197137721", "running", "Archived", int64(0), int64(-5), int64(1795197137), from, int64(1 << 62),
			1.5, 1795197137721.5, []byte("archived"), []byte("/w"), []byte{}, "w", "/w/../x", "a\x00"}
		for i := range 3000 {
			row := of.right.With(shepherdtest.Row{of.id: fmt.Sprint("id", i)})
			for range r.IntN(4) {
				row[columns[r.IntN(len(columns))]] = strange[r.IntN(len(strange))]
			}
			rows = append(rows, row)
			if id, ok := row[of.id].(string); ok {
				at, begun := row[of.begun].(int64)
				till, ended := row[of.ended].(int64)
				mayEnd[id] = mayEnd[id] || begun && ended && at > 1e12 && at < 1e13 && till >= at && till < 1e13 &&
					row["mergingSince"] == nil && fmt.Sprint(row["status"]) == fmt.Sprint(of.right["status"])
			}
		}
		s.Insert(of.table, rows...)
		p, err := src.Reader.Read(t.Context())
		if err == nil || !p.Partial {
			t.Fatalf("%s: partial %v, %v", what, p.Partial, err)
		}
		over := 0
		is := func(id, path string, ended bool, e any) {
			if id == "" || !filepath.IsAbs(path) || ended && !mayEnd[id] {
				t.Errorf("%s gave %+v", what, e)
			}
			if ended {
				over++
			}
		}
		for _, e := range p.Registry {
			if e.Marker != e.ID || e.Terminal == nil || *e.Terminal != (e.EndedAt != nil) || e.Own != nil { // the table has no column isolated
				t.Errorf("gave %+v", e)
				continue
			}
			is(e.ID, e.Path, *e.Terminal, e)
		}
		for _, e := range p.Spawns {
			is(e.ID, e.Path, e.CompletedAt != nil, e)
		}
		if all := len(p.Registry) + len(p.Spawns); all+p.Unreadable < len(rows) || over == 0 || over == all {
			t.Errorf("%s: %d rows: %d given, %d unreadable, %d over", what, len(rows), all, p.Unreadable, over)
		}
	}
}

func TestAShepherdOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"archivedAt", "mergingSince", "herdrAgentId"} {
		s, src := newShepherd(t, records.Registry)
		s.Insert("sessions", shepherdtest.Sessions(t)[shepherdtest.Archived])
		s.Exec("DROP INDEX one_terminal")
		s.Exec("ALTER TABLE sessions DROP COLUMN " + column)
		p, err := src.Reader.Read(t.Context())
		if err == nil || len(p.Registry) != 0 || !strings.Contains(err.Error(), "has no column "+column+"; a newer or older Shepherd") {
			t.Errorf("without %s gave %+v, %v", column, p, err)
		}
	}
	src, err := records.Source(records.Registry, "none", records.Shepherd, filepath.Join(t.TempDir(), "none"), records.Options{Over: archived})
	must.Do(t, err)
	if _, err := src.Reader.Read(t.Context()); !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("no store gave %v", err)
	}
}

// A store that lost what makes an id unique may say two things of one.
func TestShepherdSaysTwoThings(t *testing.T) {
	t.Parallel()
	s, src := newShepherd(t, records.Registry)
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

// BenchmarkShepherd reads 5,000 sessions, far more than Shepherd keeps.
func BenchmarkShepherd(b *testing.B) {
	s, src := newShepherd(b, records.Registry)
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

func TestReviewers(t *testing.T) {
	t.Parallel()
	s, src := newShepherd(t, records.Spawns)
	rows := shepherdtest.Spawns(t)
	recap := rows[open].With(shepherdtest.Row{"reviewerSessionId": "r", "kind": "recap", "taskSessionId": "gone", "worktreePath": filepath.Dir(s.Path) + "/link/recap-1"})
	must.Do(t, os.Symlink(".", filepath.Join(filepath.Dir(s.Path), "link")))
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
	s, src := newShepherd(t, records.Spawns)
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
			s, src := newShepherd(t, records.Spawns)
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

// BenchmarkReviewers reads 20,000 spawns, which is a busy quarter of a year.
func BenchmarkReviewers(b *testing.B) {
	s, src := newShepherd(b, records.Spawns)
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
