package dirs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestSame has files in a worktree that no commit of it has: those that the main checkout or the upstream has too are no work, and all others are.
func TestSame(t *testing.T) {
	t.Parallel()
	both := func(w *world, p, file, text string) {
		w.write(filepath.Join(p, file), text)
		w.write(filepath.Join(w.main, file), text)
	}
	for name, tt := range map[string]struct {
		put                    func(w *world, p string)
		untracked, ignored     int
		same                   int
		differ, only, unlisted string
	}{
		"an ignored copy":   {put: func(w *world, p string) { both(w, p, ".env", "A=1\n") }, same: 1},
		"an untracked copy": {put: func(w *world, p string) { both(w, p, "conf/local.json", "{}\n") }, same: 1},
		"an empty one":      {put: func(w *world, p string) { both(w, p, "new.txt", "") }, same: 1},
		"another content":   {put: func(w *world, p string) { both(w, p, ".env", "A=1\n"); w.write(filepath.Join(p, ".env"), "A=2\n") }, ignored: 1, differ: ".env"},
		"one more byte":     {put: func(w *world, p string) { both(w, p, ".env", "A=1\n"); w.write(filepath.Join(p, ".env"), "A=1\n\n") }, ignored: 1, differ: ".env"},
		"only here":         {put: func(w *world, p string) { w.write(filepath.Join(p, "notes.md"), "x") }, untracked: 1, only: "notes.md"},
		"only at another path": {put: func(w *world, p string) {
			w.write(filepath.Join(w.main, "a/.env"), "A=1\n")
			w.write(filepath.Join(p, "b/.env"), "A=1\n")
		}, ignored: 1, only: "b/.env"},
		"too large": {put: func(w *world, p string) { both(w, p, "big.bin", strings.Repeat("x", 1<<20+1)) }, untracked: 1, unlisted: "big.bin"},
		"a link to the main checkout's own": {put: func(w *world, p string) {
			w.write(filepath.Join(w.main, "notes.md"), "x")
			w.link(filepath.Join(w.main, "notes.md"), filepath.Join(p, "notes.md"))
		}, same: 1},
		"a relative one, to a folder": {put: func(w *world, p string) {
			w.write(filepath.Join(w.main, "keys/one"), "x")
			w.link("../../app/keys", filepath.Join(p, "keys"))
		}, same: 1},
		"a link to another file of the main checkout": {put: func(w *world, p string) {
			w.write(filepath.Join(w.main, "notes.md"), "x")
			w.write(filepath.Join(w.main, "other.md"), "x")
			w.link(filepath.Join(w.main, "other.md"), filepath.Join(p, "notes.md"))
		}, untracked: 1, unlisted: "notes.md"},
		"a link to what the main checkout does not have": {put: func(w *world, p string) {
			w.link(filepath.Join(w.main, "notes.md"), filepath.Join(p, "notes.md"))
		}, untracked: 1, unlisted: "notes.md"},
		"a link to a link in the main checkout": {put: func(w *world, p string) {
			w.write(filepath.Join(p, "kept.md"), "x")
			w.link(filepath.Join(p, "kept.md"), filepath.Join(w.main, "notes.md"))
			w.link(filepath.Join(w.main, "notes.md"), filepath.Join(p, "notes.md"))
		}, untracked: 2, only: "kept.md", unlisted: "notes.md"},
		"a link in the main checkout to the worktree's own": {put: func(w *world, p string) {
			w.write(filepath.Join(p, "notes.md"), "x")
			w.link(filepath.Join(p, "notes.md"), filepath.Join(w.main, "notes.md"))
		}, untracked: 1, unlisted: "notes.md"},
		"a link on the way in the main checkout": {put: func(w *world, p string) {
			w.write(filepath.Join(p, "conf/notes.md"), "x")
			w.link(filepath.Join(p, "conf"), filepath.Join(w.main, "conf"))
		}, untracked: 1, unlisted: "conf/notes.md"},
		"a copy in another worktree in the main checkout": {put: func(w *world, p string) {
			w.git(w.main, "worktree", "add", "-q", "--detach", filepath.Join(w.main, "trees/b"))
			both(w, p, "trees/b/notes.md", "x")
		}, untracked: 1, unlisted: "trees/b/notes.md"},
		"a folder that is ignored as a whole": {put: func(w *world, p string) {
			both(w, p, "inner/a", "1")
			both(w, p, "inner/b/c", "2")
			w.write(filepath.Join(p, "inner/node_modules/x"), "3")
		}, same: 1},
		"one with another file in it": {put: func(w *world, p string) {
			both(w, p, "inner/a", "1")
			w.write(filepath.Join(p, "inner/b"), "2")
		}, ignored: 1, unlisted: "inner/"},
		"one with a link to the main checkout's own in it": {put: func(w *world, p string) {
			both(w, p, "inner/a", "1")
			w.write(filepath.Join(w.main, "inner/b"), "2")
			w.link(filepath.Join(w.main, "inner/b"), filepath.Join(p, "inner/b"))
		}, same: 1},
		"one that the main checkout does not have": {put: func(w *world, p string) { w.write(filepath.Join(p, "inner/b"), "2") }, ignored: 1, only: "inner/"},
		"one with a link in it": {put: func(w *world, p string) {
			both(w, p, "inner/a", "1")
			w.link("a", filepath.Join(p, "inner/l"))
		}, ignored: 1, unlisted: "inner/"},
		"one with a repository in it": {put: func(w *world, p string) {
			both(w, p, "inner/a", "1")
			w.git(p, "init", "-q", "inner/node_modules")
		}, ignored: 1, unlisted: "inner/"},
		"what the upstream has by now": {put: func(w *world, p string) {
			w.write(filepath.Join(p, "late.txt"), "late.txt\n")
			w.write(filepath.Join(p, "other.txt"), "mine\n")
			other := w.branch("elsewhere")
			w.commit(other, "late.txt")
			w.commit(other, "other.txt")
			w.git(other, "push", "-q", "origin", "HEAD:main")
		}, untracked: 1, same: 1, only: "other.txt"},
		"what tools alone write": {put: func(w *world, p string) {
			for _, path := range []string{".DS_Store", "sub/__pycache__/a.cpython-312.pyc", "sub/mine.py"} {
				w.write(filepath.Join(p, path), "x")
			}
		}, untracked: 1, only: "sub/mine.py"},
		"a repository under a tool's name": {put: func(w *world, p string) {
			w.git(p, "init", "-q", "__pycache__/clone")
			w.commit(filepath.Join(p, "__pycache__/clone"), "x")
		}, untracked: 1, only: "__pycache__/clone/"},
		"a report": {put: func(w *world, p string) { both(w, p, ".review.md", "x") }, untracked: 1, unlisted: ".review.md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := newWorld(t), options()
			o.Scaffold, o.ToolFiles = kits(), []string{".DS_Store", "__pycache__"}
			p := w.branch("x")
			tt.put(w, p)
			g := one(t, o, p).Git
			if g.Untracked == nil || g.Same == nil {
				t.Fatalf("%+v", g)
			}
			must.Equal(t, []int{tt.untracked, tt.ignored, tt.same}, []int{*g.Untracked, *g.Ignored, *g.Same}, "untracked, ignored, same")
			for what, list := range map[string]struct {
				got  []string
				want string
			}{"differ": {*g.DifferingPaths, tt.differ}, "only here": {*g.OnlyHerePaths, tt.only}} {
				if strings.Join(list.got, " ") != list.want {
					t.Errorf("%s: %q; want %q", what, list.got, list.want)
				}
			}
			if tt.unlisted != "" && !slices.Contains(slices.Concat(*g.UntrackedPaths, *g.IgnoredPaths), tt.unlisted) {
				t.Errorf("%s is not named: %q %q", tt.unlisted, *g.UntrackedPaths, *g.IgnoredPaths)
			}
		})
	}
}

// TestSameIsComparedAtEveryLook changes the main checkout's file after a look: the next one says so.
func TestSameIsComparedAtEveryLook(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	p := w.branch("x")
	w.write(filepath.Join(p, ".env"), "A=1\n")
	w.write(filepath.Join(w.main, ".env"), "A=1\n")
	if g := one(t, o, p).Git; *g.Ignored != 0 || *g.Same != 1 {
		t.Fatalf("%+v", g)
	}
	must.Do(t, os.WriteFile(filepath.Join(w.main, ".env"), []byte("A=2\n"), 0o600))
	if g := one(t, o, p).Git; *g.Ignored != 1 || *g.Same != 0 {
		t.Errorf("after a change: %+v", g)
	}
	must.Do(t, os.Remove(filepath.Join(w.main, ".env")))
	if g := one(t, o, p).Git; *g.Ignored != 1 || len(*g.OnlyHerePaths) != 1 {
		t.Errorf("without the main checkout's: %+v", g)
	}
	o.Rebuildable = append(o.Rebuildable, ".env")
	if g := one(t, o, p).Git; *g.Ignored != 0 || len(*g.OnlyHerePaths) != 0 {
		t.Errorf("where the configuration lets it go: %+v", g)
	}
}
