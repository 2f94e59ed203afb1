package proc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// TestOpenInWhileSomethingIsRenamed: the kernel gives up a walk over .. where a rename anywhere falls into it.
func TestOpenInWhileSomethingIsRenamed(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	link := filepath.Join(base, "link")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(base, "a/b"), 0o700), os.Symlink("a/b"+strings.Repeat("/../b", 6), link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	memory, err := os.MkdirTemp("/dev/shm", "winnow-") // where a rename takes no time
	if err != nil {
		t.Skip("there is no file system in memory: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = os.Mkdir(filepath.Join(memory, "old"), 0o700)
		for from, to := filepath.Join(memory, "old"), filepath.Join(memory, "new"); t.Context().Err() == nil; from, to = to, from {
			_ = os.Rename(from, to)
		}
	}()
	t.Cleanup(func() { <-ended })
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(root) }()
	for i := range 50_000 {
		fd, err := proc.OpenIn(root, link)
		if err != nil {
			t.Fatalf("try %d: %v", i, err)
		}
		_ = unix.Close(fd)
	}
}
