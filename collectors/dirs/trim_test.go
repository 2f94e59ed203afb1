package dirs_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// ago is when all that newTrim made was changed.
const ago = 100 * time.Hour

// newTrim makes a worktree with a commit that nothing else has, a package manager's folder at its top and one further down, in which nothing
// has happened for ago; and the options that read it.
func newTrim(t *testing.T) (w *world, path string, o dirs.Options) {
	t.Helper()
	w = newWorld(t)
	path = w.branch("work")
	w.commit(path, "mine")
	w.write(filepath.Join(path, "node_modules/a/index.js"), string(make([]byte, 50_000)))
	w.write(filepath.Join(path, "web/node_modules/b/index.js"), "b\n")
	w.write(filepath.Join(path, ".env"), "SECRET=1\n")
	back(t, path, ago)
	back(t, w.admin(path), ago)
	o = options()
	o.Rebuildable, o.TrimAfter, o.Holders = []string{"node_modules"}, 72*time.Hour, noHolders
	return w, path, o
}

// back sets the times of everything in a folder back.
func back(t testing.TB, folder string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	must.Do(t, filepath.WalkDir(folder, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(p, then, then)
	}))
}

// trimmed are the folders of the world that are candidates for what can be made again, by their paths in the worktree.
func trimmed(t testing.TB, o dirs.Options, w *world, path string) map[string]snapshot.Dir {
	t.Helper()
	out := map[string]snapshot.Dir{}
	for _, d := range root(t, o, w.wts).Dirs {
		if d.Content != nil {
			out[must.Get(filepath.Rel(path, d.Path))(t)] = d
		}
	}
	return out
}

func TestTrimListsWhatCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	w, path, o := newTrim(t)
	got := trimmed(t, o, w, path)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"node_modules", "web/node_modules"}) {
		t.Fatalf("%v", names)
	}
	d := got["node_modules"]
	c := d.Content
	if c.Worktree != path || c.ID != dirs.ID(path) || c.Name != "work" || c.Main != w.main || c.Pattern != "node_modules" ||
		!*c.Linked || !*c.Registered || *c.Locked || !*c.Ignored || *c.Tracked != 0 || *c.Bytes < 50_000 {
		t.Errorf("%+v", *c)
	}
	if *d.Checkout || *d.Symlink || *d.Mounts != 0 || len(*d.Nested) != 0 || d.Git != nil || d.Error != "" || !*d.HoldersKnown || d.Holders == nil {
		t.Errorf("%+v", d)
	}
	if idle := time.Since(*d.ActiveAt); idle < ago-time.Minute || idle > ago+time.Hour {
		t.Errorf("nothing has happened for %s, want %s", idle, ago)
	}
	// Alone it is read the same.
	o.Only = []string{d.Path}
	alone := root(t, o, w.wts).Dirs[dirs.ID(d.Path)]
	if alone.Content == nil || *alone.Content.Bytes != *c.Bytes || *alone.Content.Tracked != 0 || !alone.ActiveAt.Equal(*d.ActiveAt) {
		t.Errorf("alone: %+v", alone)
	}
}

// TestTrimGoesByTheLatestSignOfWork has the time of everything be seen but that of the folders which the parts lie in: those change when a part
// goes or comes back.
func TestTrimGoesByTheLatestSignOfWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world, path string)
		idle   bool
	}{
		"nothing":                        {func(*world, string) {}, true},
		"a folder of one changes":        {func(w *world, path string) { w.mkdir(filepath.Join(path, "web/empty")) }, false},
		"the folder of a part changes":   {func(w *world, path string) { back(w, w.mkdirs(path, "web/empty"), ago) }, true},
		"a file deep in it is changed":   {func(w *world, path string) { w.write(filepath.Join(path, "node_modules/a/index.js"), "new\n") }, false},
		"a file beside it is changed":    {func(w *world, path string) { w.write(filepath.Join(path, "mine"), "new\n") }, false},
		"a file is made in a new folder": {func(w *world, path string) { w.write(filepath.Join(path, "new/file"), "new\n") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, path, o := newTrim(t)
			c.change(w, path)
			d, there := trimmed(t, o, w, path)["node_modules"]
			if !there {
				t.Fatal("it is no candidate")
			}
			if idle := time.Since(*d.ActiveAt) > 72*time.Hour; idle != c.idle {
				t.Errorf("the latest sign of work is of %s, idle %v, want %v", d.ActiveAt, idle, c.idle)
			}
		})
	}
}

// mkdirs makes a folder, and gives its path.
func (w *world) mkdirs(path, name string) string {
	w.Helper()
	w.mkdir(filepath.Join(path, name))
	return filepath.Join(path, name)
}

// TestTrimAndLocks has a lock count as it does for the worktree: not when the process that it names has ended.
func TestTrimAndLocks(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]int{"mine": 0, "claude agent agent-1 (pid 4194305)": 2} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w, path, o := newTrim(t)
			o.LockReasons = reasons()
			w.git(w.main, "worktree", "lock", "--reason", reason, path)
			back(t, w.admin(path), ago)
			n := 0
			for _, d := range trimmed(t, o, w, path) {
				if *d.Content.Locked {
					t.Errorf("%+v", *d.Content)
				}
				n++
			}
			if n != want {
				t.Errorf("%d folders, want %d", n, want)
			}
		})
	}
}

func TestTrimAsksOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(w *world, path string, o *dirs.Options){
		"git was used lately": func(w *world, path string, _ *dirs.Options) {
			w.git(path, "commit", "-q", "--allow-empty", "-m", "lately")
		},
		"the rule is off": func(_ *world, _ string, o *dirs.Options) { o.WholeOnly = true },
		"nothing may go":  func(_ *world, _ string, o *dirs.Options) { o.TrimAfter = 0 },
		"who uses it is not known": func(_ *world, _ string, o *dirs.Options) {
			o.Holders = func(context.Context, []string) (map[string][]snapshot.Holder, bool, error) { return nil, false, nil }
		},
		"a process uses it": func(_ *world, path string, o *dirs.Options) {
			o.Holders = func(context.Context, []string) (map[string][]snapshot.Holder, bool, error) {
				return map[string][]snapshot.Holder{path: {{PID: 77, Name: "zsh", How: "cwd"}}}, true, nil
			}
		},
		"its name is not one of those": func(_ *world, _ string, o *dirs.Options) { o.Rebuildable = []string{"target"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, path, o := newTrim(t)
			c(w, path, &o)
			if got := trimmed(t, o, w, path); len(got) != 0 {
				t.Errorf("%v", slices.Sorted(maps.Keys(got)))
			}
		})
	}
}

// TestTrimLooksIntoWorktreesWithCommitsOfTheirOwn has a worktree whose commits nothing else reaches be looked into for what can be made again.
func TestTrimLooksIntoWorktreesWithCommitsOfTheirOwn(t *testing.T) {
	t.Parallel()
	w, path, o := newTrim(t)
	w.git(path, "checkout", "-q", "--detach")
	w.commit(path, "only-here")
	back(t, path, ago)
	back(t, w.admin(path), ago)
	if got := trimmed(t, o, w, path); len(got) != 2 {
		t.Errorf("%v", slices.Sorted(maps.Keys(got)))
	}
	if d := root(t, o, w.wts).Dirs[dirs.ID(path)]; d.Git == nil || *d.Git.Unreachable != 1 {
		t.Errorf("%+v", d)
	}
}
