package opensessions_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/opensessions"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestCodexFolders: where a thread works stands in Codex's newest store, also where its process's own folder is another. A store of another layout leaves it unknown.
func TestCodexFolders(t *testing.T) {
	t.Parallel()
	const thread = "01a2195f-3c9a-7d90-9e84-c97aa309f479"
	for name, tt := range map[string]struct {
		stores map[string]string
		known  bool
	}{
		"the newest store": {map[string]string{
			"state_4.sqlite": "CREATE TABLE threads (id TEXT PRIMARY KEY, cwd TEXT NOT NULL); INSERT INTO threads VALUES ('" + thread + "', '/old')",
			"state_5.sqlite": "CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, cwd TEXT NOT NULL, title TEXT NOT NULL); INSERT INTO threads VALUES ('" + thread + "', 'r', '@', 't')",
		}, true},
		"another thread's row": {map[string]string{"state_5.sqlite": "CREATE TABLE threads (id TEXT, cwd TEXT); INSERT INTO threads VALUES ('other', '@')"}, false},
		"another layout":       {map[string]string{"state_5.sqlite": "CREATE TABLE threads (id TEXT, folder TEXT); INSERT INTO threads VALUES ('" + thread + "', '@')"}, false},
		"no store":             {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			tree := filepath.Join(home, "worktrees", "3b79", "proj")
			must.Do(t, os.MkdirAll(tree, 0o700))
			for store, text := range tt.stores {
				db := must.Get(sql.Open("sqlite", filepath.Join(home, store)))(t)
				_, err := db.Exec(strings.ReplaceAll(text, "@", tree))
				must.Do(t, err)
				must.Do(t, db.Close())
			}
			dir := filepath.Join(home, "thread-writer-locks")
			must.Do(t, os.Mkdir(dir, 0o700))
			files.Write(t, filepath.Join(dir, thread+".lock"), "")
			f := must.Get(os.Open(filepath.Join(dir, thread+".lock")))(t)
			t.Cleanup(func() { _ = f.Close() })
			must.Do(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
			part := must.Get(opensessions.Codex("/proc/locks").Source("codex", dir).Reader.Read(t.Context()))(t)
			want := ""
			if tt.known {
				want = tree
			}
			if len(part.Open) != 1 || part.Open[0].Folder != want || part.Open[0].PID != os.Getpid() {
				t.Errorf("%+v, want %q", part.Open, want)
			}
		})
	}
}

// TestCopilotSessions has the files that Copilot 1.0.102 writes, with a lock for each process that has a session open.
func TestCopilotSessions(t *testing.T) {
	t.Parallel()
	dir, at := must.Get(filepath.EvalSymlinks(t.TempDir()))(t), time.Unix(1_790_000_000, 0).UTC()
	tree := filepath.Join(dir, "acme.worktrees", "copilot-wise-cyan-koala")
	must.Do(t, os.MkdirAll(tree, 0o700))
	must.Do(t, os.Symlink(tree, filepath.Join(dir, "link")))
	state := filepath.Join(dir, "session-state")
	session := func(id, workspace string, locks ...string) {
		must.Do(t, os.MkdirAll(filepath.Join(state, id), 0o700))
		if workspace != "" {
			files.Write(t, filepath.Join(state, id, "workspace.yaml"), workspace)
		}
		for _, name := range locks {
			path := filepath.Join(state, id, name)
			files.Write(t, path, "12422\n")
			must.Do(t, os.Chtimes(path, at, at))
		}
	}
	session("a-open", "id: a-open\ncwd: "+filepath.Join(dir, "link")+"\ngit_root: "+tree+"\nbranch: x\n", "inuse.12422.lock", "inuse.12422.hold", ".workspace-fork.lock")
	session("b-closed", "cwd: "+tree+"\n")
	session("c-without-a-record", "", "inuse.7.lock")
	session("d-damaged", "cwd: [", "inuse.8.lock")
	session("e-relative", "cwd: acme\n", "inuse.9.lock", "inuse.0.lock", "inuse.x.lock")
	must.Do(t, os.Mkdir(filepath.Join(state, ".session-operation-locks"), 0o700))

	const source = "agents/copilot"
	part := must.Get(opensessions.Copilot.Source("copilot", state).Reader.Read(t.Context()))(t)
	open := func(id string, pid int, folder string) snapshot.OpenSession {
		return snapshot.OpenSession{Source: source, Agent: "copilot", ID: id, PID: pid, WrittenAt: &at, Folder: folder}
	}
	must.Equal(t, []snapshot.OpenSession{open("a-open", 12422, tree), open("c-without-a-record", 7, ""), open("d-damaged", 8, ""), open("e-relative", 9, "")}, part.Open, "result")

	if _, err := opensessions.Copilot.Source("copilot", filepath.Join(dir, "missing")).Reader.Read(t.Context()); !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("error %v, want absent", err)
	}
	env := func(name string) string { return map[string]string{"COPILOT_HOME": dir}[name] }
	if path, ok := opensessions.Copilot.Place(env, "/missing"); !ok || path != state {
		t.Errorf("%s, %v, want %s", path, ok, state)
	}
}
