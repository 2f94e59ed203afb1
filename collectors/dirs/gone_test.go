package dirs_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestARegisteredWorktreeWhoseFolderIsGone is a candidate, with what its entry says.
func TestARegisteredWorktreeWhoseFolderIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make                func(w *world, path string)
		staged, unreachable int
		locked              bool
	}{
		"nothing in it":                 {make: func(*world, string) {}},
		"changed files, which are lost": {make: func(w *world, path string) { w.write(filepath.Join(path, "a.txt"), "two\n") }},
		"a staged file": {make: func(w *world, path string) {
			w.write(filepath.Join(path, "b.txt"), "two\n")
			w.git(path, "add", "b.txt")
		}, staged: 1},
		"a staged file in an index that is split": {make: func(w *world, path string) {
			w.git(path, "update-index", "--split-index")
			w.write(filepath.Join(path, "b.txt"), "two\n")
			w.git(path, "add", "b.txt")
		}, staged: 1},
		"a staged removal": {make: func(w *world, path string) { w.git(path, "rm", "-q", "--cached", "a.txt") }, staged: 1},
		"a commit of its own": {make: func(w *world, path string) {
			w.git(path, "checkout", "-q", "--detach")
			w.commit(path, "b.txt")
		}, unreachable: 1},
		"a lock": {make: func(w *world, path string) { w.git(w.main, "worktree", "lock", path) }, locked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := w.branch("old")
			w.branch("there")
			c.make(w, path)
			admin := w.admin(path)
			head := w.git(path, "rev-parse", "HEAD")
			w.remove(path)
			source, _ := dirs.Repository(options(), w.main)
			part := read(t, source)
			d, ok := part.Dirs[dirs.ID(path)]
			if !ok || d.Error != "" || d.Gone == nil || !*d.Gone || d.Symlink == nil || *d.Symlink || len(part.Refused) > 0 {
				t.Fatalf("%v, %+v, refused: %v", ok, d, part.Refused)
			}
			var x unix.Stat_t
			must.Do(t, unix.Lstat(admin, &x))
			must.Equal(t, x.Ino, *d.Inode, "inode")
			must.Equal(t, path, d.Path, "path")
			must.Equal(t, admin, d.Git.AdminDir, "entry")
			must.Equal(t, head, d.Git.Head, "head")
			must.Equal(t, []bool{true, true, c.locked}, []bool{*d.Git.Worktree, *d.Git.Registered, *d.Git.Locked}, "worktree, registered, locked")
			must.Equal(t, c.unreachable, *d.Git.Unreachable, "commits of its own")
			must.Equal(t, 0, *d.Mounts, "mounts")
			if d.Skipped == "" {
				must.Equal(t, c.staged, *d.Git.Staged, "staged")
				must.Equal(t, []string{}, *d.Git.Nested, "repositories of submodules")
			}
			o := options()
			o.Only = []string{path}
			again, _ := dirs.Repository(o, w.main)
			must.Equal(t, map[string]snapshot.Dir{dirs.ID(path): d}, read(t, again).Dirs, "asked for alone")
		})
	}
}

// TestWhatIsNotPositivelyGone is no candidate. It is named where the folder around it is there.
func TestWhatIsNotPositivelyGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose func(w *world, path string)
		why  string
	}{
		"moved by hand, beside it":              {func(w *world, path string) { must.Do(w, os.Rename(path, path+"-moved")) }, "moved by hand"},
		"moved by hand, beside the repository":  {func(w *world, path string) { must.Do(w, os.Rename(path, filepath.Join(w.dir, "moved"))) }, "moved by hand"},
		"moved by hand, into the main checkout": {func(w *world, path string) { must.Do(w, os.Rename(path, filepath.Join(w.main, "moved"))) }, "moved by hand"},
		"the folder around it is gone":          {func(w *world, path string) { w.remove(filepath.Dir(path)) }, ""},
		"the folder around it was made again": {func(w *world, path string) {
			w.remove(filepath.Dir(path))
			w.mkdir(filepath.Dir(path))
			late := time.Now().Add(-time.Hour)
			must.Do(w, os.Chtimes(filepath.Dir(path), late, late))
		}, "has not changed since it was made"},
		"the folder around it is a link": {func(w *world, path string) {
			must.Do(w, os.Rename(filepath.Dir(path), filepath.Dir(path)+"-real"))
			w.link(filepath.Dir(path)+"-real", filepath.Dir(path))
			w.remove(path)
		}, "a link leads to where it was"},
		"git noted its files on another disk": {func(w *world, path string) {
			renote(w, w.admin(path), func(dev uint32) uint32 { return dev + 1 })
			w.remove(path)
		}, "another disk"},
		"git noted no disk of its files": {func(w *world, path string) {
			renote(w, w.admin(path), func(uint32) uint32 { return 0 })
			w.remove(path)
		}, "not known"},
		"fstab has something to mount there": {func(w *world, path string) {
			w.write(filepath.Join(w.dir, "machine/etc/fstab"), "# disks\nUUID=1 / ext4 defaults 0 1\nUUID=2 "+filepath.Dir(path)+" ext4 noauto 0 2\n")
			w.remove(path)
		}, "which is not mounted now"},
		"a unit has something to mount there": {func(w *world, path string) {
			w.write(filepath.Join(w.dir, "machine/etc/systemd/system/disk.mount"), "[Mount]\nWhat=/dev/sdx\nWhere = "+filepath.Dir(path)+"\n")
			w.remove(path)
		}, "which is not mounted now"},
		"an earlier look saw something mounted there": {func(w *world, path string) { w.remove(path) }, "an earlier look saw it on a disk that was mounted on"},
		"two entries name it": {func(w *world, path string) {
			admin := w.admin(path)
			must.Do(w, os.CopyFS(admin+"2", os.DirFS(admin)))
			w.remove(path)
		}, "another entry names the same folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := filepath.Join(w.dir, "disk", "x")
			w.mkdir(filepath.Dir(path))
			w.git(w.main, "worktree", "add", "-q", "-b", "x", path, "origin/main")
			c.lose(w, path)
			o := options()
			o.Machine = filepath.Join(w.dir, "machine")
			if strings.HasPrefix(name, "an earlier look") {
				o.Mounted = []string{"/", filepath.Dir(path)}
			}
			source, _ := dirs.Repository(o, w.main)
			part := read(t, source)
			if _, ok := part.Dirs[dirs.ID(path)]; ok {
				t.Fatal("it is a candidate")
			}
			said := strings.Join(part.Refused, "\n")
			if (c.why == "") != (said == "") || !strings.Contains(said, c.why) {
				t.Errorf("refused: %s", said)
			}
			if c.why != "" && !strings.Contains(said, path+" is no candidate") {
				t.Errorf("refused: %s", said)
			}
		})
	}
}

// TestWhatIsLeftOfAWorktree: in a folder for worktrees one without a file is a candidate, but for the place of a disk that is away.
func TestWhatIsLeftOfAWorktree(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	o.Machine = filepath.Join(w.dir, "machine")
	at := filepath.Join(w.main, ".claude", "worktrees")
	w.git(w.main, "worktree", "add", "-q", "-b", "x", at+"/x", "origin/main")
	mkdirs(t, at+"/left/src", at+"/disk", at+"/file")
	w.write(at+"/file/mine", "x")
	w.write(filepath.Join(o.Machine, "etc/fstab"), "UUID=2 "+at+"/disk ext4 noauto 0 2\n")
	source, _ := dirs.Repository(o, w.main)
	part := read(t, source)
	for name, want := range map[string]bool{"x": true, "left": true, "disk": false, "file": false} {
		if _, ok := part.Dirs[dirs.ID(filepath.Join(at, name))]; ok != want {
			t.Errorf("%s is a candidate: %v", name, ok)
		}
	}
}

// renote changes what the index in an entry says of the device of each file. The index is of version 2.
func renote(w *world, admin string, to func(uint32) uint32) {
	w.Helper()
	file := filepath.Join(admin, "index")
	data := must.Get(os.ReadFile(file))(w)
	at := 12
	for range binary.BigEndian.Uint32(data[8:]) {
		dev := data[at+16 : at+20]
		binary.BigEndian.PutUint32(dev, to(binary.BigEndian.Uint32(dev)))
		at += (62 + int(binary.BigEndian.Uint16(data[at+60:])&0xfff) + 8) &^ 7
	}
	must.Do(w, os.WriteFile(file, data, 0o600))
}
