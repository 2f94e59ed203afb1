package opensessions_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/opensessions"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

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
