// Package executable writes programs that tests start.
package executable

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
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

// waiter is an ELF file of x86 whose instructions call poll(NULL, 0, -1) again and again.
const waiter = "7f454c4602010100000000000000000002003e000100000078004000000000004000000000000000000000000000000000000000400038" +
	"00010000000000000001000000050000000000000000000000000040000000000000004000000000008a000000000000008a0000000000" +
	"00000010000000000000b80700000031ff31f6baffffffff0f05ebee"

// Waiter writes a program without a library that waits without an end, which no program of Go does: its runtime wakes every minute.
func Waiter(tb testing.TB, path string) {
	tb.Helper()
	if runtime.GOARCH != "amd64" {
		tb.Skip("the program is made of instructions of x86")
	}
	text, err := hex.DecodeString(waiter)
	if err != nil {
		tb.Fatal(err)
	}
	Write(tb, path, string(text))
}
