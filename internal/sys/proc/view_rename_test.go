package proc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestOpenInWhileSomethingIsRenamed: the kernel gives up a walk over .. where a rename anywhere falls into it.
func TestOpenInWhileSomethingIsRenamed(t *testing.T) {
	t.Parallel()
	memory, err := os.MkdirTemp("/dev/shm", "winnow-") // where a rename takes no time
	if err != nil {
		t.Skip("there is no file system in memory: ", err)
	}
	link, ended := filepath.Join(memory, "link"), make(chan struct{})
	must.Do(t, os.MkdirAll(filepath.Join(memory, "a/b"), 0o700))
	must.Do(t, os.Symlink("a/b"+strings.Repeat("/../b", 6), link))
	t.Cleanup(func() { <-ended; _ = os.RemoveAll(memory) })
	go func() {
		defer close(ended)
		_ = os.Mkdir(filepath.Join(memory, "old"), 0o700)
		for from, to := filepath.Join(memory, "old"), filepath.Join(memory, "new"); t.Context().Err() == nil; from, to = to, from {
			_ = os.Rename(from, to)
		}
	}()
	root := must.Get(unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer func() { _ = unix.Close(root) }()
	for range 20_000 {
		_ = unix.Close(must.Get(proc.OpenIn(root, link))(t))
	}
}
