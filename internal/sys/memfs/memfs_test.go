package memfs_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/internal/sys/memfs"
)

func TestItIsAFileSystem(t *testing.T) {
	t.Parallel()
	m := memfs.FS{"main/main.rego": {Data: []byte("package policies.main\n")}, "reap/dirs/a/a.rego": {Data: []byte("x")}, "reap/dirs/a/b.txt": {}}
	if err := fstest.TestFS(m, "main/main.rego", "reap/dirs/a/a.rego", "reap/dirs/a/b.txt"); err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(memfs.FS{}); err != nil {
		t.Fatal(err)
	}
}

func TestALinkIsNotFollowedAndWhatIsNotHereSaysSo(t *testing.T) {
	t.Parallel()
	why := errors.New("it is too large")
	m := memfs.FS{"a": {Data: []byte("b"), Mode: fs.ModeSymlink}, "b": {Err: why}}
	entries, err := fs.ReadDir(m, ".")
	if err != nil || len(entries) != 2 || entries[0].Type() != fs.ModeSymlink {
		t.Fatalf("want a link and a file, got %v, %v", entries, err)
	}
	if _, err := fs.ReadFile(m, "b"); !errors.Is(err, why) {
		t.Errorf("want %v, got %v", why, err)
	}
	if _, err := m.Open("b"); !errors.Is(err, why) {
		t.Errorf("want %v, got %v", why, err)
	}
	if _, err := fs.ReadFile(m, "c/d"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want %v, got %v", fs.ErrNotExist, err)
	}
}
