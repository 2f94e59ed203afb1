// Package files writes what tests read.
package files

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Write writes a file, and makes the folder for it.
func Write(tb testing.TB, path, text string) {
	tb.Helper()
	in(tb, path, func() error {
		// A child that another test forks meanwhile has the file open too, and its close is an event of a later moment.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		return os.WriteFile(path, []byte(text), 0o644)
	})
}

// Link makes a symbolic link to target, and the folder for it.
func Link(tb testing.TB, path, target string) {
	tb.Helper()
	in(tb, path, func() error { return os.Symlink(target, path) })
}

// Folder makes a folder and those around it, and gives its path.
func Folder(tb testing.TB, path ...string) string {
	tb.Helper()
	dir := filepath.Join(path...)
	in(tb, filepath.Join(dir, "x"), func() error { return nil })
	return dir
}

func in(tb testing.TB, path string, do func() error) {
	tb.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = do()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// RealTemp is a folder of the test without symbolic links in its path.
func RealTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
