package gitsafe

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestClearLeft holds that what a program that was killed left behind goes, and nothing that is held, young or called otherwise.
func TestClearLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-2 * leftAfter)
	make := func(name string, at time.Time) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Join(path, "refs"), 0o700))
		must.Do(t, os.Chtimes(path, at, at))
		return path
	}
	outside := make("outside", old)
	left, held, young := make(prefix+"1", old), make(prefix+"2", old), make(prefix+"3", time.Now())
	must.Do(t, os.Symlink(outside, filepath.Join(left, "link")))
	must.Do(t, os.Chtimes(left, old, old))
	linked := filepath.Join(dir, prefix+"4")
	must.Do(t, os.Symlink(outside, linked))
	lock := must.Get(lockFolder(held))(t)
	defer lock.Close()
	clearLeft(dir)
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("what was left behind is there still: %v", err)
	}
	for _, path := range []string{held, young, linked, filepath.Join(outside, "refs")} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is gone: %v", path, err)
		}
	}
	if _, err := lockFolder(held); err == nil {
		t.Errorf("%s could be locked twice", held)
	}
}
