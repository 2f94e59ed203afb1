package opensessions_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/opensessions"
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
