package dirs

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/original"
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
	{"commits in its reflog, of a branch that goes", func(w *world) {
		w.git(w.tree, "checkout", "-q", "-b", "passing")
		w.write(w.tree+"/c", "x\n")
		w.commit(w.tree, "on a branch that goes")
		w.git(w.tree, "checkout", "-q", "work")
		w.gone = append(w.gone, "passing")
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
	{"refs of its own that name no commit", func(w *world) {
		tag := func(name, of string) {
			w.git(w.tree, "tag", "-a", "-m", name, name, of)
			w.git(w.tree, "update-ref", "refs/worktree/"+name, "refs/tags/"+name)
			w.git(w.tree, "tag", "-d", name)
		}
		blob := func(name string) string {
			w.write(w.base+"/"+name, "only "+name+" leads here\n")
			return strings.TrimSpace(w.git(w.tree, "hash-object", "-w", w.base+"/"+name))
		}
		w.git(w.tree, "update-ref", "refs/worktree/blob", blob("blob"))
		tree := w.ownTree(blob("inner"))
		w.git(w.tree, "update-ref", "refs/worktree/tree", tree)
		w.git(w.tree, "update-ref", "refs/bisect/skip-tree", tree)
		tag("of-a-blob", blob("tagged"))
		tag("of-a-tree", tree+"^{tree}")
		tag("of-a-commit", "HEAD")
	}},
	{"a conflict that was resolved", func(w *world) {
		conflict(w, "cherry-pick", "theirs")
		w.write(w.tree+"/a", "resolved\n")
		w.git(w.tree, "add", "a")
		w.git(w.tree, "cherry-pick", "--quit")
	}},
	{"staged, with a tree of it in the index", func(w *world) {
		w.write(w.tree+"/deep/er/new", "only in the index\n")
		w.git(w.tree, "add", "deep")
		w.git(w.tree, "write-tree")
		w.git(w.tree, "update-index", "--force-write-index")
	}},
	{"configuration of its own", func(w *world) {
		w.git(w.main, "config", "extensions.worktreeConfig", "true")
		w.git(w.tree, "sparse-checkout", "set", "sub")
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
	{"a submodule that was never filled", func(w *world) { unfilled(w, "third/sub") }},
	{"a submodule that was never filled, with a file in its folder", func(w *world) {
		unfilled(w, "sub-x")
		w.write(w.tree+"/sub-x/notes", "git does not look here\n")
	}},
	{"a submodule that its remote has whole", filled},
	{"names that break lines", func(w *world) { w.write(w.tree+"/line\nbreak \t\"quote\"", "x\n") }},
}

// filled makes the world that has a submodule too: committed, and filled.
func filled(w *world) {
	must.Do(w.t, errors.Join(os.RemoveAll(w.main), os.RemoveAll(w.root), os.RemoveAll(w.base+"/remote.git")))
	originals.CopyTo(w.t, "filled", w.base, func(at string) {
		first := &world{t: w.t, base: at, tree: at + "/trees/work"}
		original.LinkedWorktree(first.git, at)
		first.git(first.tree, "submodule", "--quiet", "add", "-b", "main", at+"/remote.git", "lib")
		first.commit(first.tree, "submodule")
	})
	for _, at := range []string{w.main, w.tree, w.tree + "/lib"} {
		w.git(at, "update-index", "-q", "--refresh")
	}
}

// unfilled commits a submodule as a clone has it before it is filled.
func unfilled(w *world, name string) {
	w.write(w.tree+"/.gitmodules", "[submodule \""+name+"\"]\n\tpath = "+name+"\n\turl = "+w.base+"/remote.git\n")
	w.git(w.tree, "add", ".gitmodules")
	w.git(w.tree, "update-index", "--add", "--cacheinfo", "160000,"+strings.TrimSpace(w.git(w.tree, "rev-parse", "HEAD"))+","+name)
	w.git(w.tree, "commit", "-q", "-m", "submodule")
	w.mkdir(w.tree + "/" + name)
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
			w.git(w.main, "reflog", "expire", "--expire=now", "--single-worktree", "--all")
			before := w.state()
			reached := []string{"HEAD", "--glob=refs/worktree", "--glob=refs/bisect", "--glob=refs/rewritten", "--indexed-objects"}
			if len(w.gone) == 0 {
				reached = append(reached, "--all", "--reflog")
			}
			objects := w.objects(reached...)
			in := w.aside("A1", w.tree)
			for _, branch := range w.gone {
				w.git(w.main, "branch", "-q", "-D", branch)
				before.Branches = regexp.MustCompile(`(?m)^refs/heads/`+branch+` .*\n`).ReplaceAllString(before.Branches, "")
			}
			if list := w.git(w.main, "worktree", "list"); strings.Contains(list, w.tree) {
				t.Errorf("git still lists it:\n%s", list)
			}
			forget(w)
			back, err := New(w.o).Restore(t.Context(), in)
			if err != nil || back.Where != w.tree {
				t.Fatalf("restore: %q %v", back.Where, err)
			}
			w.same(before)
			must.Equal(t, objects, w.objects(reached...), "the objects that it leads to")
			if out, err := w.tryGit(w.tree, "fsck", "--no-dangling"); err != nil {
				t.Errorf("fsck: %v\n%s", err, out)
			}
			for _, id := range indexBlobs(w) {
				w.git(w.tree, "cat-file", "-e", id)
			}
		})
	}
}

// TestBranchChangedMeanwhile brings a worktree back whole although its branch was removed, moved or taken meanwhile.
func TestBranchChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(w *world)
		branch bool
		says   string
	}{
		{"nothing", func(*world) {}, true, ""},
		{"removed", func(w *world) { w.git(w.main, "branch", "-D", "work") }, true, "made again"},
		{"removed, and all refs packed", func(w *world) {
			w.git(w.main, "pack-refs", "--all", "--prune")
			w.git(w.main, "branch", "-D", "work")
			w.git(w.main, "pack-refs", "--all", "--prune")
		}, true, "made again"},
		{"removed, and made again with other commits", func(w *world) {
			w.git(w.main, "branch", "-D", "work")
			w.git(w.main, "branch", "work", "main~1")
			w.git(w.main, "pack-refs", "--all", "--prune")
		}, false, "detached"},
		{"moved", func(w *world) { w.git(w.main, "branch", "-f", "work", "main") }, false, "detached"},
		{"in use elsewhere", func(w *world) { w.git(w.main, "worktree", "add", "-q", w.base+"/other", "work") }, false, "in use by"},
		{"another in its way", func(w *world) {
			w.git(w.main, "branch", "-D", "work")
			w.git(w.main, "branch", "work/more")
		}, false, "could not be made again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			filled(w)
			w.write(w.tree+"/own", "x\n")
			w.commit(w.tree, "own")
			work(w)
			status := func() string { return w.git(w.tree, "--no-optional-locks", "status", "--porcelain=v2", "--ignored") }
			head, files, was := strings.TrimSpace(w.git(w.tree, "rev-parse", "HEAD")), w.list(w.tree), status()
			in := w.aside("A1", w.tree)
			c.change(w)
			forget(w)
			back, err := New(w.o).Restore(t.Context(), in)
			if err != nil || !strings.HasPrefix(back.Where, w.tree) || !strings.Contains(back.Where, c.says) || c.says == "" && back.Where != w.tree {
				t.Fatalf("restore: %q %v", back.Where, err)
			}
			forget(w)
			if got := strings.TrimSpace(w.git(w.tree, "rev-parse", "HEAD")); got != head {
				t.Errorf("HEAD is %s, want %s", got, head)
			}
			must.Equal(t, files, w.list(w.tree), "the files")
			must.Equal(t, was, status(), "the status")
			if out, err := w.tryGit(w.tree, "symbolic-ref", "HEAD"); (err == nil) != c.branch {
				t.Errorf("HEAD is on %s %v", out, err)
			}
			if out, err := w.tryGit(w.main, "fsck", "--no-dangling"); err != nil {
				t.Errorf("fsck: %v\n%s", err, out)
			}
			if refs := w.git(w.main, "for-each-ref", "refs/winnow"); refs != "" {
				t.Errorf("refs are left: %s", refs)
			}
		})
	}
}

// TestCommitGone refuses to bring a worktree back whose commit was taken out of the repository by force.
func TestCommitGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.tree+"/c", "x\n")
	w.commit(w.tree, "own")
	in := w.aside("A1", w.tree)
	w.git(w.main, "branch", "-D", "work")
	w.git(w.main, "update-ref", "-d", "refs/winnow/A1/head")
	forget(w)
	if back, err := New(w.o).Restore(t.Context(), in); err == nil || !strings.Contains(err.Error(), "nothing was restored") {
		t.Errorf("restore: %q %v", back.Where, err)
	}
	if _, err := os.Lstat(filepath.Join(w.o.StateTrash, "A1", treeName, "c")); err != nil {
		t.Error(err)
	}
}

// TestAnObjectGone brings a worktree back of whose commit or index the repository lost something while it was away: its files are all
// there, and it is not reported as whole.
func TestAnObjectGone(t *testing.T) {
	t.Parallel()
	manifest := func(w *world) { remove(w, filepath.Join(w.o.StateTrash, "A1", manifestName)) }
	for _, c := range []struct {
		name, object string
		more         func(w *world)
	}{
		{"of its commit", ":own", func(*world) {}},
		{"of its index", ":staged", func(*world) {}},
		{"of its index, and the manifest is gone", ":staged", manifest},
		{"of its own refs", "refs/worktree/blob", func(*world) {}},
		{"of its own refs, and the manifest is gone", "refs/worktree/blob", manifest},
		{"of its own refs, and the refs that kept it are gone", "refs/worktree/blob", func(w *world) {
			for _, ref := range strings.Fields(w.git(w.main, "for-each-ref", "--format=%(refname)", "refs/winnow/A1/object", "refs/winnow/A1/staged")) {
				w.git(w.main, "update-ref", "-d", ref)
			}
			w.git(w.main, "gc", "-q", "--prune=now")
		}},
		{"in a tree of its own refs", "refs/worktree/tree:inner", func(*world) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(w.tree+"/own", "only here\n")
			w.commit(w.tree, "own")
			w.write(w.tree+"/staged", "in the index only\n")
			w.git(w.tree, "add", "staged")
			inner := strings.TrimSpace(w.git(w.tree, "hash-object", "-w", "staged"))
			w.write(w.tree+"/staged", "in its own refs only\n")
			w.git(w.tree, "update-ref", "refs/worktree/blob", strings.TrimSpace(w.git(w.tree, "hash-object", "-w", "staged")))
			w.git(w.tree, "update-ref", "refs/worktree/tree", w.ownTree(inner))
			id := strings.TrimSpace(w.git(w.tree, "rev-parse", c.object))
			files := w.list(w.tree)
			in := w.aside("A1", w.tree)
			w.git(w.main, "branch", "-D", "work")
			c.more(w)
			if err := os.Remove(filepath.Join(w.main, ".git", "objects", id[:2], id[2:])); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			back, err := New(w.o).Restore(t.Context(), in)
			if !errors.Is(err, actuators.ErrPart) || !strings.Contains(err.Error(), id) || !strings.HasPrefix(back.Where, w.tree) {
				t.Errorf("restore: %q %v", back.Where, err)
			}
			must.Equal(t, files, w.list(w.tree), "the files")
			if refs := w.git(w.main, "for-each-ref", "--format=%(refname)", "refs/winnow/A1"); !strings.Contains(refs, "refs/winnow/A1/head") {
				t.Errorf("what keeps its commits went: %q", refs)
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
		executable.Write(t, w.main+"/.git/hooks/"+hook, "#!/bin/sh\ntouch "+ran+"\n")
	}
	executable.Write(t, w.base+"/monitor", "#!/bin/sh\ntouch "+ran+"\n")
	in := func() decision.Intent {
		w.git(w.main, "config", "core.fsmonitor", w.base+"/monitor")
		g, in, err := w.hold("A1", w.tree)
		must.Do(t, err)
		defer g.Close()
		os.Remove(ran) // the test's own git may have run them
		if out := w.act(g, in); out.Outcome != decision.Done {
			t.Fatalf("outcome: %+v", out)
		}
		return in
	}()
	must.Get(New(w.o).Restore(t.Context(), in))(t)
	if _, err := os.Lstat(ran); err == nil {
		t.Error("something of the repository's was run")
	}
}

// forget has the repository throw away all that nothing reaches.
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

// ownTree makes a tree that no commit has, with the blob as inner.
func (w *world) ownTree(blob string) string {
	w.t.Helper()
	w.write(w.base+"/entry", "100644 blob "+blob+"\tinner\n")
	return strings.TrimSpace(w.git(w.tree, "-c", "alias.from=!git mktree <"+w.base+"/entry", "from"))
}

// objects lists all that these revisions of the worktree lead to.
func (w *world) objects(revisions ...string) []string {
	w.t.Helper()
	list := strings.Fields(w.git(w.tree, append([]string{"rev-list", "--objects", "--no-object-names"}, revisions...)...))
	slices.Sort(list)
	return list
}

func indexBlobs(w *world) []string {
	return strings.Fields(w.git(w.tree, "ls-files", "--format=%(objectname)"))
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
