package git

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestTracked(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "3", "4"} {
		t.Run("index version "+version, func(t *testing.T) {
			t.Parallel()
			tree := t.TempDir()
			git := func(args ...string) {
				t.Helper()
				c := exec.Command("git", append([]string{"-C", tree, "-c", "index.version=" + version, "-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
				c.Env = append(gitsafe.Environ(os.Environ()), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			git("init", "-q")
			for _, f := range []string{"dist/a", "dist/deep/b", "dist-2/c", "web/dist/d", "z"} {
				must.Do(t, os.MkdirAll(filepath.Join(tree, filepath.Dir(f)), 0o755))
				must.Do(t, os.WriteFile(filepath.Join(tree, f), []byte("x"), 0o644))
			}
			git("add", ".")
			git("commit", "-q", "-m", "all")
			git("update-index", "--index-version", version)
			r, w := &Repository{}, &Worktree{Place: Place{AdminDir: filepath.Join(tree, ".git")}}
			got, err := r.Tracked(w, []string{"dist", "web/dist", "web", "target"})
			if want := map[string]int{"dist": 2, "web/dist": 1, "web": 1, "target": 0}; err != nil || !maps.Equal(got, want) {
				t.Errorf("%v (%v), want %v", got, err, want)
			}
			git("update-index", "--split-index")
			if got, err := r.Tracked(w, []string{"dist"}); err == nil {
				t.Errorf("an index that is split says %v", got)
			}
			must.Do(t, os.WriteFile(filepath.Join(tree, ".git/index"), []byte("broken"), 0o644))
			if got, err := r.Tracked(w, []string{"dist"}); err == nil {
				t.Errorf("a broken index says %v", got)
			}
			must.Do(t, os.Remove(filepath.Join(tree, ".git/index")))
			if got, err := r.Tracked(w, []string{"dist"}); err != nil || got["dist"] != 0 {
				t.Errorf("without an index: %v, %v", got, err)
			}
		})
	}
}
