package holders

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFoldersAround goes from a folder to the root folder: what works deep in a tree uses the whole tree.
func TestFoldersAround(t *testing.T) {
	base := t.TempDir()
	deep := filepath.Join(base, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	id := func(path string) fileID {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		at, ok := idOf(fd)
		if !ok {
			t.Fatalf("%s has no id", path)
		}
		return at
	}
	var found []fileID
	for fd, at := range foldersAround(unix.AT_FDCWD, deep) {
		if again, ok := idOf(fd); !ok || again != at {
			t.Fatalf("what is open is %v, and it is said to be %v", again, at)
		}
		found = append(found, at)
	}
	want := []fileID{id(deep), id(filepath.Dir(deep)), id(base)}
	if len(found) < len(want) || !slices.Equal(found[:len(want)], want) || found[len(found)-1] != id("/") {
		t.Errorf("it went to %v, want %v first and %v last", found, want, id("/"))
	}
	for range foldersAround(unix.AT_FDCWD, filepath.Join(base, "missing")) {
		t.Error("a folder that is not there has folders around it")
	}
}
