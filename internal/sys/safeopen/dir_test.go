package safeopen_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestDirGivesWhatIsInTheFolderThatWasOpened(t *testing.T) {
	parent := t.TempDir()
	at := filepath.Join(parent, "d")
	var want []string
	for i := range 300 { // more than are listed at a time
		want = append(want, fmt.Sprintf("a file with a long name, of which there are many %03d", i))
	}
	must.Do(t, os.MkdirAll(filepath.Join(at, "in"), 0o755))
	for _, name := range want {
		write(t, filepath.Join(at, name), name, 0o600)
	}
	write(t, filepath.Join(at, "in", "file"), "deeper", 0o600)
	must.Do(t, os.Symlink("in", filepath.Join(at, "link")))
	written := time.Unix(1700000000, 5)
	must.Do(t, os.Chtimes(filepath.Join(at, "in", "file"), written, written))
	d := must.Get(safeopen.OpenDir(at))(t)
	defer d.Close()
	must.Do(t, errors.Join(os.Rename(at, at+"-moved"), os.Mkdir(at, 0o755)))
	got, err := d.Names()
	slices.Sort(got)
	if want := append(want, "in", "link"); err != nil || !slices.Equal(got, want) {
		t.Errorf("want %d names, got %d, %v", len(want), len(got), err)
	}
	if f, err := d.Read("in/file", safeopen.Want{Max: 10}); err != nil || string(f.Data) != "deeper" {
		t.Errorf("want the file in the folder that was moved, got %q, %v", f.Data, err)
	}
	if _, err := d.Read("link", safeopen.Want{Max: 10}); !errors.Is(err, safeopen.ErrLink) {
		t.Errorf("want %v, got %v", safeopen.ErrLink, err)
	}
	if at, err := d.Modified("in/file"); err != nil || !at.Equal(written) {
		t.Errorf("want %s, got %s, %v", written, at, err)
	}
	info, err := os.Stat(at + "-moved")
	if at, merr := d.Modified(""); err != nil || merr != nil || !at.Equal(info.ModTime()) {
		t.Errorf("want the folder's own time, got %s, %v, %v", at, err, merr)
	}
	if _, err := d.Modified("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want fs.ErrNotExist, got %v", err)
	}
}

func TestOpenDirOpensNothingElse(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.Symlink(dir, filepath.Join(dir, "link")), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)))
	for _, name := range []string{"link", "file", "none"} {
		if d, err := safeopen.OpenDir(filepath.Join(dir, name)); err == nil {
			d.Close()
			t.Errorf("%s was opened", name)
		}
	}
}

func TestAttackAFolderOfAnotherUser(t *testing.T) {
	_, attacker := attack.Users(t)
	a := attack.New(t, "another user's folder in the place of one that is read")
	for _, mode := range []os.FileMode{0o755, 0o700} {
		path := filepath.Join(t.TempDir(), "d")
		must.Do(t, errors.Join(os.Mkdir(path, mode), os.Lchown(path, int(attacker.UID), int(attacker.GID))))
		if d, err := safeopen.OpenDir(path); !errors.Is(err, safeopen.ErrOwner) {
			d.Close()
			a.Lost("mode %o: want %v, got %v", mode, safeopen.ErrOwner, err)
			continue
		}
		a.Held()
	}
}
