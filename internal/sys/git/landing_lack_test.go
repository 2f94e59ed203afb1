package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// clone makes a clone of f's main checkout in that way, with a linked worktree on a branch work as f's has it.
func (f fork) clone(how ...string) fork {
	f.Helper()
	c := fork{&prey{TB: f.TB, dir: f.dir, home: f.home, main: filepath.Join(f.dir, "clone"), tree: filepath.Join(f.dir, "cloned-tree"), mark: f.mark, evil: f.evil}}
	f.git(f.main, "config", "uploadpack.allowFilter", "true")
	f.git(f.main, "config", "uploadpack.allowAnySHA1InWant", "true")
	f.git(f.dir, append(append([]string{"clone", "-q", "--no-local", "--no-single-branch"}, how...), "file://"+f.main, c.main)...)
	c.common = filepath.Join(c.main, ".git")
	c.git(c.main, "worktree", "add", "-q", "--no-checkout", "-b", "mine", c.tree, "origin/work")
	c.admin = filepath.Join(c.common, "worktrees", "cloned-tree")
	// A commit of its own counts as made here.
	c.add(filepath.Join(c.admin, "logs", "HEAD"), strings.Repeat("0", 40)+" "+c.git(c.tree, "rev-parse", "HEAD")+" t <t@example.org> 1 +0000\tcommit: made\n")
	return c
}

// TestLandingInAClone holds what becomes of the proofs where objects are missing. Nothing is fetched for them.
func TestLandingInAClone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		how  []string
		make func(f fork)
		want string
	}{
		{"whole", nil, func(f fork) { f.two(); f.squash() }, landing.BySquash},
		{"cut off before the merge base", []string{"--depth=3"}, func(f fork) { f.two(); f.squash() }, landing.BySquash},
		{"cut off after the merge base", []string{"--depth=1"}, func(f fork) { f.two(); f.squash() }, unknown},
		{"without files, whose names are enough", []string{"--filter=blob:none", "--no-checkout"}, func(f fork) { f.two(); f.squash() }, landing.ByTree},
		{"without files", []string{"--filter=blob:none", "--no-checkout"}, func(f fork) {
			f.two()
			f.squash()
			f.change(f.main, 10, "ten, and more")
		}, unknown},
		{"without trees", []string{"--filter=tree:0", "--no-checkout"}, func(f fork) { f.two(); f.squash() }, unknown},
		{"without files, and main never touched the same ones", []string{"--filter=blob:none", "--no-checkout"}, func(f fork) {
			f.two()
			f.put(f.main, "other.txt", "x\n")
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFork(t)
			tt.make(f)
			c := f.clone(tt.how...)
			before := c.git(c.main, "count-objects", "-v")
			w, err := c.tryLand()
			got := unknown
			if w.Landing != nil {
				got = w.Landing.By
			}
			if w.Landed == nil || *w.Landed || got != tt.want {
				t.Errorf("landed %v, want %q, got %+v (%v)", w.Landed, tt.want, w.Landing, err)
			}
			if after := c.git(c.main, "count-objects", "-v"); after != before {
				t.Errorf("something was fetched:\n%s\n%s", before, after)
			}
		})
	}
}

// TestLandingWithoutMergeTree holds that a git that knows no merge-tree --write-tree costs that proof alone, and that
// one without any merge-tree finds only changes of files that nothing else has changed.
func TestLandingWithoutMergeTree(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	f.put(f.tree, "new.txt", "new\nand more\n")
	f.put(f.main, "new.txt", "new\n")
	f.put(f.main, "new.txt", "new\nand more\n")
	old := filepath.Join(f.dir, "git-2.30")
	fails := func(program, when string) {
		executable.Write(t, program, "#!/bin/sh\ncase \" $* \" in *' "+when+" '*) echo 'usage: git merge-tree <base> <one> <two>' >&2; exit 129;; esac\nexec git \"$@\"\n")
	}
	fails(old, "--write-tree")
	none := filepath.Join(f.dir, "git-none")
	fails(none, "merge-tree")
	if w, err := f.landWith(old); err != nil || w.Landing != nil {
		t.Errorf("with an old git: %+v, %v", w.Landing, err)
	}
	f.git(f.tree, "reset", "-q", "--hard", "HEAD^")
	f.put(f.tree, "third.txt", "third\n")
	f.put(f.main, "third.txt", "third\n")
	if w, err := f.landWith(none); err != nil || w.Landing == nil || w.Landing.By != landing.ByPatches {
		t.Errorf("without merge-tree, the same files: %+v, %v", w.Landing, err)
	}
	f.change(f.tree, 10, "ten")
	f.change(f.main, 50, "fifty")
	f.pick("work")
	if w, err := f.landWith(none); err != nil || w.Landing != nil {
		t.Errorf("without merge-tree, other files: %+v, %v", w.Landing, err)
	}
	if w, err := f.landWith(old); err != nil || w.Landing == nil || w.Landing.By != landing.ByPatches {
		t.Errorf("with an old git: %+v, %v", w.Landing, err)
	}
}

// TestLandingThatTakesForEver holds that a git that does not answer costs no more than its time, and that nothing is
// known then.
func TestLandingThatTakesForEver(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	f.two()
	f.squash()
	slow := filepath.Join(f.dir, "git-slow")
	executable.Write(t, slow, "#!/bin/sh\ncase \" $* \" in *' diff-tree '*) exec sleep 60;; esac\nexec git \"$@\"\n")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	finder := git.NewFinder()
	repo := must.Get(finder.Open(f.common))(t)
	w := repo.Read(must.Get(finder.Locate(f.tree))(t))
	must.Do(t, repo.MeasureAhead(t.Context(), git.Program{Path: slow}, []*git.Worktree{w}))
	if err := repo.ProveMerged(ctx, git.Program{Path: slow}, []*git.Worktree{w}); !errors.Is(err, context.DeadlineExceeded) || w.Landing != nil {
		t.Errorf("want a deadline and no answer, got %v and %+v", err, w.Landing)
	}
}

// TestLandingOfLies holds that other text than an answer of git's does not count as one.
func TestLandingOfLies(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	f.two()
	for _, says := range []string{"", "x", strings.Repeat("1", 40), "@@ -1 +1 @@", strings.Repeat(":100644 100644 a b M", 3)} {
		liar := filepath.Join(f.dir, "liar")
		executable.Write(t, liar, "#!/bin/sh\ncase \" $* \" in *' diff-tree '*|*' merge-tree '*|*' merge-base '*) echo '"+says+"'; exit 0;; esac\nexec git \"$@\"\n")
		if w, _ := f.landWith(liar); w.Landing != nil && w.Landing.By != "" {
			t.Errorf("git says %q: %+v", says, w.Landing)
		}
		must.Do(t, os.Remove(liar))
	}
}

// TestElsewhere holds which branches keep the head of a worktree in which nothing was committed.
func TestReachedElsewhere(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	f.change(f.main, 10, "ten")
	f.git(f.main, "checkout", "-q", "-b", "aside")
	f.put(f.main, "aside.txt", "x\n")
	f.git(f.tree, "reset", "-q", "--hard", "aside")
	tests := []struct {
		name string
		make func()
		want bool
	}{
		{"another branch", func() {}, true},
		{"its own branch alone", func() {
			f.git(f.main, "checkout", "-q", "main")
			f.git(f.main, "branch", "-q", "-D", "aside")
		}, false},
		{"its own branch, packed", func() { f.git(f.main, "pack-refs", "--all") }, false},
		{"a branch that another worktree has", func() {
			f.git(f.main, "worktree", "add", "-q", "-b", "twin", filepath.Join(f.dir, "twin"), "work")
		}, false},
		{"a remote branch", func() { f.git(f.main, "update-ref", "refs/remotes/origin/work", "work") }, true},
	}
	for _, tt := range tests {
		tt.make()
		w := f.land()
		if w.Elsewhere == nil || *w.Elsewhere != tt.want || w.Landing != nil && w.Landing.By != "" {
			t.Errorf("%s: want %v, got %v, landing %+v", tt.name, tt.want, w.Elsewhere != nil && *w.Elsewhere, w.Landing)
		}
	}
}

// TestLocalDefaultBranch holds which branch counts in a repository without remotes.
func TestLocalDefaultBranch(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	open := func() string { return must.Get(git.NewFinder().Open(f.common))(t).Upstream }
	tests := []struct {
		name, want string
		do         []string
	}{
		{"main, which is checked out", "refs/heads/main", []string{"status"}},
		{"main, which is the only one", "refs/heads/main", []string{"checkout", "-q", "-b", "side"}},
		{"main and master, and neither is checked out", "", []string{"branch", "master"}},
		{"main and master, which is checked out", "refs/heads/master", []string{"checkout", "-q", "master"}},
		{"a remote that was never fetched", "", []string{"remote", "add", "origin", f.dir + "/nowhere"}},
		{"no remote again", "refs/heads/master", []string{"remote", "remove", "origin"}},
		{"a remote branch whose remote is gone", "", []string{"update-ref", "refs/remotes/gone/x", "main"}},
		{"the same, packed", "", []string{"pack-refs", "--all"}},
		{"no remote branch", "refs/heads/master", []string{"update-ref", "-d", "refs/remotes/gone/x"}},
		{"a file that may name remotes", "", []string{"config", "include.path", "more"}},
	}
	for _, tt := range tests {
		f.git(f.main, tt.do...)
		if got := open(); got != tt.want {
			t.Errorf("%s: want %q, got %q", tt.name, tt.want, got)
		}
	}
}
