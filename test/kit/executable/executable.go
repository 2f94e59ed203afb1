// Package executable writes programs that tests start.
package executable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Write writes a program that everybody may start, and makes the folder for it. The kernel starts no program that some process has open for
// writing (ETXTBSY), and a child that another test forks meanwhile has every descriptor until it executes. So nothing of this process forks
// while the file is open.
func Write(tb testing.TB, path, text string) {
	tb.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	syscall.ForkLock.RLock()
	err = errors.Join(err, os.WriteFile(path, []byte(text), 0o755))
	syscall.ForkLock.RUnlock()
	// umask(2) may have taken rights away, or the file was there.
	if err = errors.Join(err, os.Chmod(path, 0o755)); err != nil {
		tb.Fatal(err)
	}
}

// Copy is Write with the text of another program.
func Copy(tb testing.TB, from, to string) {
	tb.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		tb.Fatal(err)
	}
	Write(tb, to, string(text))
}
