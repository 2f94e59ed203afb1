package dirs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestRefuses is what must never be touched, for any verdict. Each case changes the world, the identity or the options, and
// leaves the worktree as it is.
func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(w *world, d *decision.Dir)
		want   error
	}{
		{"the main checkout", func(w *world, d *decision.Dir) {
			*d = w.identity(w.main)
			d.Root, w.o.Roots = w.base, []string{w.base}
		}, actuators.ErrRefused},
		{"a clone", func(w *world, d *decision.Dir) {
			w.git(w.root, "clone", "-q", w.main, "clone")
			*d = w.identity(w.root + "/clone")
		}, actuators.ErrRefused},
		{"a repository without a checkout", func(w *world, d *decision.Dir) {
			w.git(w.root, "init", "-q", "--bare", "bare.git")
			*d = w.identity(w.root + "/bare.git")
		}, actuators.ErrRefused},
		{"a plain folder with a repository in it", func(w *world, d *decision.Dir) {
			w.git(w.root, "init", "-q", "plain/in")
			*d = w.identity(w.root + "/plain")
		}, actuators.ErrRefused},
		{"a plain folder that was one of another version control", func(w *world, d *decision.Dir) {
			w.write(w.root+"/plain/.hg/requires", "store")
			*d = w.identity(w.root + "/plain")
		}, actuators.ErrRefused},
		{"git at work", func(w *world, d *decision.Dir) { w.write(d.AdminDir+"/index.lock", "") }, actuators.ErrRefused},
		{"another root", func(w *world, d *decision.Dir) { w.o.Roots = []string{w.base + "/else"} }, actuators.ErrRefused},
		{"no roots", func(w *world, d *decision.Dir) { w.o.Roots = nil }, actuators.ErrRefused},
		{"outside of its root", func(w *world, d *decision.Dir) { w.o.Roots, d.Root = []string{w.main}, w.main }, actuators.ErrRefused},
		{"the root itself", func(w *world, d *decision.Dir) { *d = w.identity(w.root) }, actuators.ErrRefused},
		{"home", func(w *world, d *decision.Dir) { w.o.Home = w.tree }, actuators.ErrRefused},
		{"above home", func(w *world, d *decision.Dir) { w.o.Home = w.tree + "/home" }, actuators.ErrRefused},
		{"home unknown", func(w *world, d *decision.Dir) { w.o.Home = "" }, actuators.ErrRefused},
		{"..", func(w *world, d *decision.Dir) { d.Path = w.root + "/../trees/work" }, actuators.ErrRefused},
		{"a relative path", func(w *world, d *decision.Dir) { d.Path = "trees/work" }, actuators.ErrRefused},
		{"/", func(w *world, d *decision.Dir) { d.Path, d.Root, w.o.Roots = "/", "/", []string{"/"} }, actuators.ErrRefused},
		{"a folder below /", func(w *world, d *decision.Dir) { d.Path, d.Root, w.o.Roots = "/usr", "/", []string{"/"} }, actuators.ErrRefused},
		{"the trash", func(w *world, d *decision.Dir) { w.o.StateTrash = w.tree + "/trash" }, actuators.ErrRefused},
		{"in the trash", func(w *world, d *decision.Dir) { w.o.StateTrash = w.root }, actuators.ErrRefused},
		{"where a process of ours works", func(w *world, d *decision.Dir) {
			pid, _ := enter(w.t, w.tree+"/sub")
			w.o.Self = []int{pid}
		}, actuators.ErrRefused},
		{"a link to it", func(w *world, d *decision.Dir) {
			link(w, w.tree, w.root+"/link")
			d.Path = w.root + "/link"
		}, actuators.ErrRefused},
		{"through a link", func(w *world, d *decision.Dir) {
			link(w, w.root, w.base+"/link")
			d.Root, d.Path, w.o.Roots = w.base, w.base+"/link/work", []string{w.base}
		}, actuators.ErrRefused},
		{"a root that is a link", func(w *world, d *decision.Dir) {
			link(w, w.root, w.base+"/link")
			d.Root, d.Path, w.o.Roots = w.base+"/link", w.base+"/link/work", []string{w.base + "/link"}
		}, actuators.ErrRefused},
		{"an entry of another worktree", func(w *world, d *decision.Dir) {
			w.git(w.main, "worktree", "add", "-q", "-b", "other", w.root+"/other")
			d.AdminDir = w.identity(w.root + "/other").AdminDir
		}, actuators.ErrRefused},
		{"moved behind git's back", func(w *world, d *decision.Dir) {
			if err := os.Rename(w.tree, w.root+"/moved"); err != nil {
				w.t.Fatal(err)
			}
			d.Path = w.root + "/moved"
		}, actuators.ErrRefused},
		{"a mount point before", func(w *world, d *decision.Dir) { d.MountID++ }, actuators.ErrRefused},
		{"no time of birth", func(w *world, d *decision.Dir) { d.BornAt = time.Time{} }, actuators.ErrRefused},
		{"no repository known", func(w *world, d *decision.Dir) { d.CommonDir = "" }, actuators.ErrRefused},
		{"another device", func(w *world, d *decision.Dir) { d.Device++ }, actuators.ErrChanged},
		{"another inode", func(w *world, d *decision.Dir) { d.Inode++ }, actuators.ErrChanged},
		{"another birth", func(w *world, d *decision.Dir) { d.BornAt = d.BornAt.Add(1) }, actuators.ErrChanged},
		{"another HEAD", func(w *world, d *decision.Dir) { w.git(w.tree, "commit", "-q", "--allow-empty", "-m", "x") }, actuators.ErrChanged},
		{"no worktree before", func(w *world, d *decision.Dir) { d.Worktree = false }, actuators.ErrChanged},
		{"not there", func(w *world, d *decision.Dir) { d.Path = w.root + "/nothing" }, actuators.ErrGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := w.decision(w.tree)
			was := *d.Identity.Dir
			// The same between the hold and the act, where that is possible: the identity and the options are then as they were.
			g, in, err := w.hold("A1", w.tree)
			must.Do(t, err)
			c.change(w, d.Identity.Dir)
			_, err = New(w.o).Hold(t.Context(), "A2", d)
			if !errors.Is(err, c.want) {
				t.Errorf("hold: %v, want %v", err, c.want)
			} else if c.want != actuators.ErrGone && !strings.Contains(err.Error(), "left untouched") {
				t.Errorf("it does not say what became of it: %v", err)
			}
			if diskChanged(w, was) {
				if out := w.act(g, in); out.Outcome == decision.Done || out.Outcome == decision.Failed {
					t.Errorf("do: %+v", out)
				}
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(filepath.Join(w.base, "state", "trash")); len(left) > 0 {
				t.Errorf("something is in the trash: %v %v", left, err)
			}
			if refs := w.git(w.main, "for-each-ref", "refs/winnow"); refs != "" {
				t.Errorf("refs are left: %s", refs)
			}
		})
	}
}

// diskChanged reports whether a case changed the worktree on disk, and not only what is asked for.
func diskChanged(w *world, was decision.Dir) bool {
	for _, name := range []string{"index.lock", "locked"} {
		if _, err := os.Lstat(filepath.Join(was.AdminDir, name)); err == nil {
			return true
		}
	}
	if _, err := os.Lstat(was.Path); err != nil {
		return true
	}
	return w.identity(was.Path) != was
}

// TestPlainFolder sets folders aside that are not worktrees: with all that lies in them they come back, and what came late is put back.
func TestPlainFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n, files := range [][]string{nil, {"a file", "deep/er/file", ".hidden"}} {
		path := filepath.Join(w.root, fmt.Sprintf("plain%d", n))
		w.mkdir(path)
		for _, name := range files {
			w.write(filepath.Join(path, name), name)
		}
		if n > 0 {
			link(w, "../work", path+"/link")
			w.mkdir(path + "/empty")
			chmod(w, path+"/empty", 0o500)
		}
		before := w.list(path)
		in := w.aside(nth(2*n), path)
		back, err := New(w.o).Restore(t.Context(), in)
		if err != nil || back.Where != path {
			t.Fatalf("restore: %q %v", back.Where, err)
		}
		must.Equal(t, before, w.list(path), "it came back changed")
		for at, step := range []string{"held", "dir.check", "dir.trash", "dir.move", "dir.look", "dir.compare"} {
			late, id := fmt.Sprintf("late%d", at), nth(100*(n+1)+at)
			one := *w
			one.o.Step = func(s string) {
				for _, p := range []string{path, filepath.Join(w.o.StateTrash, id, treeName)} {
					if _, err := os.Lstat(p); s == step && err == nil {
						w.write(filepath.Join(p, late), "work")
					}
				}
			}
			if out, _ := one.do(id, path); out.Outcome != decision.Refused {
				t.Errorf("%s: %+v", step, out)
			}
			if _, err := os.Lstat(filepath.Join(path, late)); err != nil {
				t.Errorf("%s: %v", step, err)
			}
		}
		in = w.aside(nth(2*n+1), path)
		if _, err := New(w.o).Purge(t.Context(), in); err != nil {
			t.Error(err)
		}
	}
}

// TestLockedWorktree holds that a worktree which a person locked is judged by the policies alone, and comes back as locked as it was;
// a lock that comes or goes after the folder was taken hold of keeps it.
func TestLockedWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git(w.main, "worktree", "lock", "--reason", "in use", w.tree)
	before := w.state()
	in := w.aside("A1", w.tree)
	must.Get(New(w.o).Restore(t.Context(), in))(t)
	w.same(before)
	for n, change := range [][]string{{"unlock"}, {"lock"}} {
		for at, step := range []string{"dir.refs", "held", "dir.check", "dir.look"} {
			one, came := *w, false
			one.o.Step = func(s string) {
				if s != step || came {
					return
				}
				came = true
				if entry := filepath.Join(w.main, ".git", "worktrees", "work", "locked"); step == "dir.look" && n == 0 {
					w.write(entry, "another reason") // git knows no worktree at that place any more
				} else if step == "dir.look" {
					_ = os.Remove(entry)
					w.write(entry, "somebody's")
				} else {
					w.git(w.main, append(append([]string{"worktree"}, change...), w.tree)...)
				}
			}
			out, _ := one.do(nth(10*n+at), w.tree)
			if out.Outcome != decision.Changed && out.Outcome != decision.Refused {
				t.Errorf("%v at %s: %+v", change, step, out)
			}
			if _, err := os.Lstat(w.tree + "/a"); err != nil {
				t.Errorf("%v at %s: %v", change, step, err)
			}
			_, _ = w.tryGit(w.main, "worktree", "unlock", w.tree)
			if n == 0 {
				w.git(w.main, "worktree", "lock", w.tree)
			}
		}
		_, _ = w.tryGit(w.main, "worktree", "unlock", w.tree)
	}
	if refs := w.git(w.main, "for-each-ref", "refs/winnow"); refs != "" {
		t.Errorf("refs are left: %s", refs)
	}
}

// TestNothingIsActedOnAfterSaving holds that what was saved for an act that does not come is removed again, and that saving changed
// nothing that a rule reads.
func TestNothingIsActedOnAfterSaving(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	g, _, err := w.hold("A1", w.tree)
	must.Do(t, err)
	entry := must.Get(os.Stat(filepath.Join(w.main, ".git/worktrees/work")))(t)
	must.Do(t, g.Save(t.Context()))
	if refs := w.git(w.main, "for-each-ref", "refs/winnow/A1"); refs == "" {
		t.Error("no refs keep its commits")
	}
	if now, err := os.Stat(filepath.Join(w.main, ".git/worktrees/work")); err != nil || !now.ModTime().Equal(entry.ModTime()) {
		t.Errorf("saving changed its entry: %v", err)
	}
	must.Do(t, g.Close())
	w.same(before)
}

func link(w *world, to, name string) {
	w.t.Helper()
	if err := os.Symlink(to, name); err != nil {
		w.t.Fatal(err)
	}
}
