package workplaces_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	_ "modernc.org/sqlite"

	"github.com/winnow-reaper/winnow/collectors/workplaces"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

func recorded(t *testing.T, r workplaces.Record) []string {
	t.Helper()
	return workplaces.Recorded(t.Context(), []workplaces.Record{r}, hclog.NewNullLogger())
}

// TestRecorded reads each form, as the agents write it and as no agent should.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		record workplaces.Record
		files  map[string]string
		want   string
	}{
		"Claude Code's": {workplaces.Record{Path: ".claude.json", Format: workplaces.JSON, At: "projects"},
			map[string]string{".claude.json": `{"numStartups": 3, "projects": {"/w/b": {"history": [{"display": "secret"}]}, "/w/a": {}, "relative": {}, "": {}}}`}, "/w/a /w/b"},
		"no object": {workplaces.Record{Path: ".claude.json", Format: workplaces.JSON, At: "projects"},
			map[string]string{".claude.json": `{"projects": ["/w/a"]}`}, ""},
		"no JSON": {workplaces.Record{Path: ".claude.json", Format: workplaces.JSON, At: "projects"}, map[string]string{".claude.json": `{"projects": {"/w/a"`}, ""},
		"missing": {workplaces.Record{Path: ".claude.json", Format: workplaces.JSON, At: "projects"}, nil, ""},
		"Codex's": {workplaces.Record{Path: "config.toml", Format: workplaces.TOML, At: "projects"},
			map[string]string{"config.toml": "model = \"x\"\nnotes = \"\"\"\n[projects.\"/decoy\"]\n\"\"\"\n[projects.\"/w/a\"]\ntrust_level = \"trusted\"\n[projects.\"/w/b\"]\n"}, "/w/a /w/b"},
		"Codex's sessions": {workplaces.Record{Path: "sessions", Format: workplaces.Lines, At: "payload.cwd"}, map[string]string{
			"sessions/2026/11/21/rollout-1.jsonl": `{"type": "session_meta", "payload": {"cwd": "/w/old"}}` + "\n{\"payload\": {\"cwd\": \"/w/decoy\"}}\n",
			"sessions/2026/11/22/rollout-2.jsonl": `{"type": "session_meta", "payload": {"cwd": "/w/new"}}` + "\n" + strings.Repeat("x", 2<<20),
			"sessions/2026/11/22/rollout-3.jsonl": `{"payload": {"cwd": "/w/cut"}}`,
			"sessions/2026/11/22/rollout-4.jsonl": "nonsense\n",
			"sessions/2026/11/22/notes.txt":       `{"payload": {"cwd": "/w/other"}}` + "\n",
		}, "/w/new /w/old"},
		"OpenCode's": {workplaces.Record{Path: "project", Format: workplaces.Folder, At: "worktree"}, map[string]string{
			"project/a.json": `{"id": "a", "worktree": "/w/a"}`, "project/b.json": `{"id": "b", "worktree": 7}`, "project/c.json": "{",
		}, "/w/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			for path, text := range tt.files {
				write(t, filepath.Join(dir, path), text)
			}
			tt.record.Path = filepath.Join(dir, tt.record.Path)
			must.Equal(t, tt.want, strings.Join(recorded(t, tt.record), " "), "paths")
		})
	}
}

// TestRecordedInADatabase reads a column as OpenCode and Codex write it, also while the program has it open and its rows are only in the log.
func TestRecordedInADatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(must.Get(filepath.EvalSymlinks(t.TempDir()))(t), "opencode.db")
	db := must.Get(sql.Open("sqlite", path))(t)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		"PRAGMA journal_mode = WAL", "CREATE TABLE project (id TEXT, worktree TEXT, name TEXT)",
		"INSERT INTO project VALUES ('1', '/w/b', 'secret'), ('2', '/w/a', NULL), ('3', '/w/a', NULL), ('4', NULL, NULL), ('5', 'relative', NULL), ('6', 7, NULL)",
	} {
		must.Get(db.Exec(statement))(t)
	}
	r := workplaces.Record{Path: path, Format: workplaces.SQLite, At: "project.worktree"}
	must.Equal(t, "/w/a /w/b", strings.Join(recorded(t, r), " "), "paths of an open database")
	for name, at := range map[string]string{"another table": "projects.worktree", "another column": "project.path", "no column": "project"} {
		r.At = at
		must.Equal(t, 0, len(recorded(t, r)), "%s", name)
	}
	r.Path = filepath.Join(filepath.Dir(path), "missing.db")
	must.Equal(t, 0, len(recorded(t, r)), "a missing database")
	write(t, r.Path, "no database at all, and longer than nothing")
	must.Equal(t, 0, len(recorded(t, r)), "what is no database")
}

// TestAttackARecordOfProjects has a pipe and a folder in the place of the file, and more paths than any person has projects.
func TestAttackARecordOfProjects(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	r := workplaces.Record{Path: filepath.Join(dir, "r"), Format: workplaces.JSON, At: "projects"}
	must.Do(t, syscall.Mkfifo(r.Path, 0o600))
	began := time.Now()
	if got := recorded(t, r); len(got) != 0 || time.Since(began) > wait.Patience {
		t.Errorf("a pipe: %v after %s", got, time.Since(began))
	}
	must.Do(t, os.Remove(r.Path))
	must.Do(t, os.Mkdir(r.Path, 0o700))
	must.Equal(t, 0, len(recorded(t, r)), "paths of a folder")
	must.Do(t, os.Remove(r.Path))
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, `"/w/%d": {},`, i)
	}
	write(t, r.Path, `{"projects": {`+many.String()+`"/w/x": {}}}`)
	must.Equal(t, 2000, len(recorded(t, r)), "paths of many")
}

// TestUnder finds repositories with worktrees two levels deep, and nothing else.
func TestFindRepositories(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, path := range []string{
		"code/app/.git/worktrees/x", "code/org/lib/.git/worktrees/y", "code/org/bare.git/worktrees/z", "code/org/bare.git/objects",
		"code/plain/.git", "code/a/b/deep/.git/worktrees/x", "code/app/inner/.git/worktrees/x", "code/worktrees", "elsewhere/.git/worktrees/x",
	} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, path), 0o700))
	}
	must.Do(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "code/link")))
	got := workplaces.FindRepositories(t.Context(), []string{filepath.Join(dir, "code"), filepath.Join(dir, "missing")}, hclog.NewNullLogger())
	for i := range got {
		got[i] = must.Get(filepath.Rel(dir, got[i]))(t)
	}
	must.Equal(t, "code/app code/org/bare.git code/org/lib", strings.Join(got, " "), "repositories")
}
