package policycmp

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestWhatGitWritesIsNoSave: only what may hold policies has them compared again.
func TestWhatGitWritesIsNoSave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".git", "reap"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	before := listing([]string{dir})
	must.Do(t, os.WriteFile(filepath.Join(dir, ".git", "index"), []byte("x"), 0o600))
	must.Equal(t, before, listing([]string{dir}), "after git wrote")
	must.Do(t, os.WriteFile(filepath.Join(dir, "reap", "x.rego"), []byte("x"), 0o600))
	if before == listing([]string{dir}) {
		t.Error("a save is not seen")
	}
}
