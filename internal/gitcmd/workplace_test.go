package gitcmd

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestClearLeft holds that what a program that was killed left behind goes, and nothing that is held, young or called otherwise.
func TestClearLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-2 * leftAfter)
	make := func(name string, at time.Time) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(path, "refs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	outside := make("outside", old)
	left, held, young := make(prefix+"1", old), make(prefix+"2", old), make(prefix+"3", time.Now())
	if err := os.Symlink(outside, filepath.Join(left, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(dir, prefix+"4")
	if err := os.Symlink(outside, linked); err != nil {
		t.Fatal(err)
	}
	lock, err := lockFolder(held)
	if err != nil {
		t.Fatal(err)
	}
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
