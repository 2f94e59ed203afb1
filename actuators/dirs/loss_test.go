package dirs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"winnow/engine/decision"
)

// losses are the ways in which a worktree can hold work. Each of them is lost, or at risk, when the folder is removed.
var losses = []struct {
	name string
	make func(w *world)
}{
	{"nothing", func(*world) {}},
	{"tracked file changed", func(w *world) { w.write(w.tree+"/a", "changed\n") }},
	{"tracked file removed", func(w *world) { remove(w, w.tree+"/a") }},
	{"staged", func(w *world) { w.write(w.tree+"/a", "staged\n"); w.git(w.tree, "add", "a") }},
	{"staged, then changed", func(w *world) {
		w.write(w.tree+"/a", "only in the index\n")
		w.git(w.tree, "add", "a")
		w.write(w.tree+"/a", "later\n")
	}},
	{"staged, then removed", func(w *world) {
		w.write(w.tree+"/new", "only in the index\n")
		w.git(w.tree, "add", "new")
		remove(w, w.tree+"/new")
	}},
	{"intent to add", func(w *world) { w.write(w.tree+"/new", "x\n"); w.git(w.tree, "add", "-N", "new") }},
	{"untracked", func(w *world) { w.write(w.tree+"/notes/today", "x\n") }},
	{"ignored secret", func(w *world) {
		w.write(w.tree+"/local.env", "SECRET=1\n")
		chmod(w, w.tree+"/local.env", 0o600)
	}},
	{"own commits on its branch", func(w *world) { w.write(w.tree+"/c", "x\n"); w.commit(w.tree, "own") }},
	{"own commits, detached", func(w *world) {
		w.git(w.tree, "checkout", "-q", "--detach")
		w.write(w.tree+"/c", "x\n")
		w.commit(w.tree, "on no ref")
	}},
	{"commits in its reflog only", func(w *world) {
		w.write(w.tree+"/c", "x\n")
		w.commit(w.tree, "first thrown away")
		w.write(w.tree+"/d", "x\n")
		w.commit(w.tree, "second thrown away")
		w.git(w.tree, "reset", "-q", "--hard", "HEAD~2")
		w.git(w.main, "reflog", "expire", "--expire=now", "refs/heads/work")
	}},
	{"rebase stopped, tree clean", func(w *world) {
		w.write(w.tree+"/c", "x\n")
		w.commit(w.tree, "one")
		w.write(w.tree+"/d", "x\n")
		w.commit(w.tree, "two")
		w.git(w.tree, "-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~2")
	}},
	{"merge in conflict", func(w *world) { conflict(w, "merge", "other") }},
	{"cherry-pick in conflict", func(w *world) { conflict(w, "cherry-pick", "other") }},
	{"bisect under way", func(w *world) { w.git(w.tree, "bisect", "start", "HEAD", "HEAD~1") }},
	{"refs of its own", func(w *world) {
		w.git(w.tree, "checkout", "-q", "--detach")
		w.write(w.tree+"/c", "x\n")
		w.commit(w.tree, "kept by its own ref")
		w.git(w.tree, "update-ref", "refs/worktree/mine", "HEAD")
		w.git(w.tree, "checkout", "-q", "work")
	}},
	{"configuration of its own", func(w *world) {
		w.git(w.main, "config", "extensions.worktreeConfig", "true")
		w.git(w.tree, "sparse-checkout", "set", "sub")
	}},
	{"repository inside", func(w *world) {
		w.mkdir(w.tree + "/ignored/clone")
		w.git(w.tree+"/ignored/clone", "init", "-q")
		w.write(w.tree+"/ignored/clone/x", "x\n")
		w.commit(w.tree+"/ignored/clone", "nowhere else")
	}},
	{"repository without commits inside", func(w *world) {
		w.mkdir(w.tree + "/inner")
		w.git(w.tree+"/inner", "init", "-q")
		w.write(w.tree+"/inner/x", "x\n")
	}},
	{"submodule with commits of its own", func(w *world) {
		w.git(w.base, "clone", "-q", "remote.git", "-b", "main", "lib")
		w.git(w.tree, "submodule", "--quiet", "add", w.base+"/lib", "lib")
		w.commit(w.tree, "submodule")
		w.write(w.tree+"/lib/new", "x\n")
		w.commit(w.tree+"/lib", "not pushed")
	}},
	{"links, modes, pipes, empty folders", func(w *world) {
		w.mkdir(w.tree + "/empty/inner")
		chmod(w, w.tree+"/empty/inner", 0o500)
		w.write(w.tree+"/run", "#!/bin/sh\n")
		chmod(w, w.tree+"/run", 0o755)
		if err := os.Symlink("/nowhere", w.tree+"/dangling"); err != nil {
			w.t.Fatal(err)
		}
		if err := os.Symlink(w.main, w.tree+"/node_modules"); err != nil {
			w.t.Fatal(err)
		}
		if err := unix.Mkfifo(w.tree+"/pipe", 0o600); err != nil {
			w.t.Fatal(err)
		}
	}},
	{"names that break lines", func(w *world) { w.write(w.tree+"/line\nbreak \t\"quote\"", "x\n") }},
}

// TestLossMatrix sets worktrees with every kind of work aside, has the repository forget all that it can, and brings them back:
// nothing may be missing, and git must not see a difference.
func TestLossMatrix(t *testing.T) {
	t.Parallel()
	for _, c := range losses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.make(w)
			before := w.state()
			in := w.aside("A1", w.tree)
			if list := w.git(w.main, "worktree", "list"); strings.Contains(list, w.tree) {
				t.Errorf("git still lists it:\n%s", list)
			}
			forget(w)
			where, err := New(w.o).Restore(t.Context(), in)
			if err != nil || where != w.tree {
				t.Fatalf("restore: %q %v", where, err)
			}
			w.same(before)
			if out, err := w.tryGit(w.tree, "fsck", "--no-dangling", "--connectivity-only"); err != nil {
				t.Errorf("fsck: %v\n%s", err, out)
			}
			for _, id := range indexBlobs(w) {
				w.git(w.tree, "cat-file", "-e", id)
			}
		})
	}
}

// TestBranchChangedMeanwhile keeps the commits of a branch that somebody removed or moved while its worktree was away.
func TestBranchChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][]string{"removed": {"branch", "-D", "work"}, "moved": {"branch", "-f", "work", "main"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(w.tree+"/c", "x\n")
			w.commit(w.tree, "own")
			head := strings.TrimSpace(w.git(w.tree, "rev-parse", "HEAD"))
			in := w.aside("A1", w.tree)
			w.git(w.main, change...)
			forget(w)
			where, err := New(w.o).Restore(t.Context(), in)
			if err != nil || !strings.Contains(where, "refs/winnow/A1/") {
				t.Fatalf("restore: %q %v", where, err)
			}
			if got := strings.TrimSpace(w.git(w.main, "rev-parse", "refs/winnow/A1/head")); got != head {
				t.Errorf("head is kept as %s, want %s", got, head)
			}
		})
	}
}

// TestNoHookRuns sets a worktree aside whose repository runs programs at every turn.
func TestNoHookRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ran := filepath.Join(w.base, "ran")
	for _, hook := range []string{"reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc"} {
		w.write(w.main+"/.git/hooks/"+hook, "#!/bin/sh\ntouch "+ran+"\n")
		chmod(w, w.main+"/.git/hooks/"+hook, 0o755)
	}
	w.write(w.base+"/monitor", "#!/bin/sh\ntouch "+ran+"\n")
	chmod(w, w.base+"/monitor", 0o755)
	in := func() decision.Intent {
		w.git(w.main, "config", "core.fsmonitor", w.base+"/monitor")
		g, in, err := w.grasp("A1", w.tree)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		os.Remove(ran) // the test's own git may have run them
		if out := g.Do(t.Context(), in); out.Outcome != decision.Done {
			t.Fatalf("outcome: %+v", out)
		}
		return in
	}()
	if _, err := New(w.o).Restore(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("something of the repository's was run")
	}
}

// forget has the repository throw away whatever nothing reaches.
func forget(w *world) {
	w.t.Helper()
	w.git(w.main, "worktree", "prune", "--expire=now")
	w.git(w.main, "reflog", "expire", "--expire=now", "--all")
	w.git(w.main, "gc", "-q", "--prune=now")
}

func conflict(w *world, verb, branch string) {
	w.t.Helper()
	w.git(w.main, "checkout", "-q", "-b", branch)
	w.write(w.main+"/a", "theirs\n")
	w.commit(w.main, "theirs")
	w.git(w.main, "checkout", "-q", "main")
	w.write(w.tree+"/a", "ours\n")
	w.commit(w.tree, "ours")
	if out, err := w.tryGit(w.tree, verb, branch); err == nil {
		w.t.Fatalf("%s made no conflict: %s", verb, out)
	}
	// A version that is in no commit and under no other name.
	w.git(w.main, "branch", "-D", branch)
}

func indexBlobs(w *world) []string {
	return stagedBlobs(w.git(w.tree, "ls-files", "--stage", "-z"))
}

func remove(w *world, path string) {
	w.t.Helper()
	if err := os.Remove(path); err != nil {
		w.t.Fatal(err)
	}
}

func chmod(w *world, path string, mode os.FileMode) {
	w.t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
}
