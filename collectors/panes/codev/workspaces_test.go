package codev

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
	"github.com/winnow-reaper/winnow/test/kit/must"
	faketower "github.com/winnow-reaper/winnow/test/kit/tower"
)

// workspaceNamed is what the fixture's source says of a workspace.
func workspaceNamed(t *testing.T, f *fixture, path string) snapshot.Workspace {
	t.Helper()
	part := f.read()
	for _, w := range part.Workspaces {
		if tower.SamePath(w.Path, path) {
			return w
		}
	}
	t.Fatalf("%s is not among %+v", path, part.Workspaces)
	return snapshot.Workspace{}
}

func TestWorkspacesOfTabs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, faketower.Options{})
	f.builder(f.ws, "builder-pir-883")
	must.Do(t, os.MkdirAll(filepath.Join(f.ws, ".builders", "bugfix-0799-slug"), 0o755))
	w := workspaceNamed(t, f, f.ws)
	want := []snapshot.Builder{{ID: "builder-pir-883", Key: "pir-883"}}
	if d := cmp.Diff(want, w.Builders); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	keys := map[string]bool{}
	for _, b := range w.Worktrees {
		keys[b.Key] = true
	}
	if d := cmp.Diff(map[string]bool{"pir-883": true, "bugfix-799": true}, keys); d != "" {
		t.Errorf("folders (-want +got):\n%s", d)
	}
}

func TestWorktreesThatCannotBeListedAreUnknown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	room := func(name string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Join(path, "src"), 0o755))
		return path
	}
	none, link, file, empty := room("none"), room("link"), room("file"), filepath.Join(dir, "empty")
	must.Do(t, os.Symlink(dir, filepath.Join(link, ".builders")))
	must.Do(t, os.WriteFile(filepath.Join(file, ".builders"), nil, 0o600))
	must.Do(t, os.Mkdir(empty, 0o755))
	for path, known := range map[string]bool{none: true, link: false, file: false, empty: false, filepath.Join(dir, "away"): false} {
		if got := newTrees().names(path); (got != nil) != known || len(got) != 0 {
			t.Errorf("%s: known %v, got %v", filepath.Base(path), known, got)
		}
	}
}
