package opensessions_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/opensessions"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// file writes a file that was last written at a time, with the folders around it.
func file(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)))
}

// session is a record that names no process.
func session(agent, id, folder string, at time.Time) snapshot.OpenSession {
	return snapshot.OpenSession{Source: "agents/" + agent, Agent: agent, ID: id, WrittenAt: new(at.UTC()), Folder: folder, AnyProcess: true}
}

// TestOpenCode reads a store with the layout that OpenCode 1.18.33 made.
func TestOpenCode(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Millisecond)
	path := filepath.Join(t.TempDir(), "opencode.db")
	db := must.Get(sql.Open("sqlite", path))(t)
	ms := func(ago time.Duration) int64 { return now.Add(-ago).UnixMilli() }
	for _, statement := range []string{
		"CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, directory text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer)",
		fmt.Sprintf("INSERT INTO session VALUES ('s1', 'p', '/w/a', 1, %d, NULL), ('s2', 'p', '/w/a', 1, %d, NULL), ('s3', 'p', '/w/b', 1, %d, %[1]d)", ms(0), ms(time.Second), ms(0)),
		"INSERT INTO session VALUES ('s4', 'p', '/w/c', 1, 1500000000000, NULL), ('s5', 'p', 'relative', 1, " + fmt.Sprint(ms(2*time.Second)) + ", NULL)",
	} {
		must.Get(db.Exec(statement))(t)
	}
	must.Get(db.Exec("INSERT INTO session VALUES ('s6', 'p', '/w/d', 1, 7, NULL)"))(t) // an impossible time
	must.Do(t, db.Close())
	source := opensessions.OpenCode.Source("opencode", path)
	part := must.Get(source.Reader.Read(t.Context()))(t)
	if len(part.Open) == 0 || part.Open[0].Folder != "/w/d" || part.Open[0].WrittenAt.Before(now) {
		t.Fatalf("a session whose time is not known may work now, got %+v", part.Open)
	}
	part.Open = part.Open[1:]
	must.Equal(t, []snapshot.OpenSession{session("opencode", "s1", "/w/a", now), session("opencode", "s5", "", now.Add(-2*time.Second))}, part.Open, "the newest of each folder, none that is archived or from before the boot")
	must.Do(t, os.Truncate(path, 100))
	if _, err := source.Reader.Read(t.Context()); err == nil || errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("error %v, want a failure", err)
	}
	must.Do(t, os.Remove(path))
	if _, err := source.Reader.Read(t.Context()); !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("error %v, want absent", err)
	}
}

// TestGemini reads folders with the layout that Gemini CLI 0.61.0 made.
func TestGemini(t *testing.T) {
	t.Parallel()
	dir, now := filepath.Join(t.TempDir(), "tmp"), time.Now().Truncate(time.Second)
	file(t, dir+"/feature/.project_root", "/w/feature", now)
	file(t, dir+"/feature/chats/session-2026-11-26T21-44-479b683d.jsonl", "{}\n", now.Add(-time.Minute))
	file(t, dir+"/feature/chats/session-2026-11-26T21-45-bd282bc6.jsonl", "{}\n", now)
	file(t, dir+"/hash/chats/session-1.json", "{}\n", now.Add(-2*time.Minute))
	file(t, dir+"/old/.project_root", "/w/old", now)
	file(t, dir+"/old/chats/session-1.jsonl", "{}\n", time.Unix(1_500_000_000, 0))
	file(t, dir+"/none/.project_root", "/w/none", now)
	file(t, dir+"/bin/rg", "", now)
	part := must.Get(opensessions.Gemini.Source("gemini", dir).Reader.Read(t.Context()))(t)
	must.Equal(t, []snapshot.OpenSession{session("gemini", "feature", "/w/feature", now), session("gemini", "hash", "", now.Add(-2*time.Minute))}, part.Open, "result")
	must.Do(t, errors.Join(os.Remove(dir+"/feature/.project_root"), os.Symlink("/etc/hostname", dir+"/feature/.project_root")))
	if _, err := opensessions.Gemini.Source("gemini", dir).Reader.Read(t.Context()); err == nil || errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("error %v, want a failure: the folder of a session could not be read", err)
	}
}

// TestQwen reads folders with the layout that Qwen Code 0.24.4 made.
func TestQwen(t *testing.T) {
	t.Parallel()
	base, now := must.Get(filepath.EvalSymlinks(t.TempDir()))(t), time.Now().Truncate(time.Second)
	dir, main := filepath.Join(base, "projects"), filepath.Join(base, "main")
	chats := dir + "/-w-main/chats/"
	first := `{"uuid":"u","parentUuid":null,"sessionId":"q1","type":"user","cwd":"` + main + `","message":{"parts":["long`
	file(t, chats+"q1.jsonl", first, now.Add(-time.Hour)) // its first message is not read to its end
	file(t, chats+"q1.runtime.json", `{"pid":7,"session_id":"q1"}`, now)
	file(t, chats+"q1.worktree.json", `{"slug":"feat","worktreePath":"`+base+`/elsewhere"}`, now.Add(-time.Hour))
	file(t, chats+"q2.jsonl", "not JSON", now.Add(-time.Minute))
	file(t, chats+"q2.worktree.json", `{"worktreePath":7}`, now.Add(-time.Minute))
	file(t, main+"/.qwen/worktrees/agent-1/.qwen-session", "q1", now)
	file(t, main+"/.qwen/worktrees/agent-2/.qwen-session", "q2", now)
	file(t, main+"/.qwen/worktrees/agent-3/.qwen-session", "q3", now) // no session of that id wrote anything
	file(t, main+"/.qwen/worktrees/mine/file", "", now)
	file(t, dir+"/-w-other/chats/q4.jsonl", "not JSON", now.Add(-2*time.Minute))
	part := must.Get(opensessions.Qwen.Source("qwen", dir).Reader.Read(t.Context()))(t)
	trees := main + "/.qwen/worktrees"
	must.Equal(t, []snapshot.OpenSession{
		session("qwen", "q1", main, now), session("qwen", "q1", base+"/elsewhere", now), session("qwen", "q1", trees+"/agent-1", now),
		session("qwen", "q2", trees+"/agent-2", now.Add(-time.Minute)), session("qwen", "q4", "", now.Add(-2*time.Minute)),
	}, part.Open, "result")
}

// TestWhereAgentsKeepTheirSessions: an agent's own variables say where, and else its home.
func TestWhereAgentsKeepTheirSessions(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, dir := range []string{".qwen/projects", ".gemini/tmp", ".local/share/opencode/opencode.db", "else/projects", "else/.gemini/tmp", "else/opencode/opencode.db"} {
		must.Do(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	type place func(env func(string) string, home string) (string, bool)
	for name, c := range map[string]struct {
		place          place
		variable, want string
	}{
		"qwen":                {opensessions.Qwen.Place, "", ".qwen/projects"},
		"qwen, its home":      {opensessions.Qwen.Place, "QWEN_HOME", "else/projects"},
		"qwen, its data":      {opensessions.Qwen.Place, "QWEN_RUNTIME_DIR", "else/projects"},
		"gemini":              {opensessions.Gemini.Place, "", ".gemini/tmp"},
		"gemini, its home":    {opensessions.Gemini.Place, "GEMINI_CLI_HOME", "else/.gemini/tmp"},
		"opencode":            {opensessions.OpenCode.Place, "", ".local/share/opencode/opencode.db"},
		"opencode, data home": {opensessions.OpenCode.Place, "XDG_DATA_HOME", "else/opencode/opencode.db"},
	} {
		path, ok := c.place(func(v string) string { return map[string]string{c.variable: filepath.Join(home, "else")}[v] }, home)
		if want := filepath.Join(home, c.want); !ok || path != want {
			t.Errorf("%s: %s, %v, want %s", name, path, ok, want)
		}
		if path, ok := c.place(func(string) string { return "" }, t.TempDir()); ok {
			t.Errorf("%s: %s is there", name, path)
		}
	}
}
