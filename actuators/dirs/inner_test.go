package dirs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
)

// inner are things in a worktree that do not come back whole when the worktree does, or that go for good with its purge.
var inner = []struct {
	name string
	make func(w *world)
}{
	{"a worktree of the same repository", func(w *world) { w.git(w.main, "worktree", "add", "-q", "--detach", w.tree+"/ignored/in") }},
	{"a worktree of another repository", func(w *world) {
		w.git(w.base, "clone", "-q", "remote.git", "-b", "main", "lib")
		w.git(w.base+"/lib", "worktree", "add", "-q", "-b", "x", w.tree+"/target/in")
	}},
	{"a clone", func(w *world) { w.git(w.base, "clone", "-q", "remote.git", w.tree+"/node_modules/x") }},
	{"a clone in a folder that is not ignored", func(w *world) { w.git(w.base, "clone", "-q", "remote.git", w.tree+"/in") }},
	{"a repository without commits", func(w *world) { w.mkdir(w.tree + "/in"); w.git(w.tree+"/in", "init", "-q") }},
	{"a bare repository", func(w *world) { w.git(w.base, "clone", "-q", "--bare", "remote.git", w.tree+"/ignored/x.git") }},
	{"a mirror without a name that says so", func(w *world) { w.git(w.base, "clone", "-q", "--mirror", "remote.git", w.tree+"/ignored/a/b/c") }},
	{"a submodule with commits of its own", func(w *world) {
		w.git(w.base, "clone", "-q", "remote.git", "-b", "main", "lib")
		w.git(w.tree, "submodule", "--quiet", "add", w.base+"/lib", "lib")
		w.commit(w.tree, "submodule")
		w.write(w.tree+"/lib/new", "x\n")
		w.commit(w.tree+"/lib", "not pushed")
	}},
	{"a submodule with a file that was not added", func(w *world) { filled(w); w.write(w.tree+"/lib/new", "x\n") }},
	{"a submodule with a stash", func(w *world) { filled(w); stash(w) }},
	{"a submodule, and a clone beside it", func(w *world) {
		filled(w)
		w.git(w.base, "clone", "-q", "remote.git", w.tree+"/ignored/x")
	}},
	{"a clean submodule, and the git folder of another", func(w *world) {
		filled(w)
		w.git(w.base, "clone", "-q", "--bare", "remote.git", filepath.Join(w.main, ".git/worktrees", "work", "modules/other"))
	}},
	{"a submodule's repository without its checkout", func(w *world) {
		w.git(w.base, "clone", "-q", "remote.git", "-b", "main", "lib")
		w.git(w.tree, "submodule", "--quiet", "add", w.base+"/lib", "lib")
		w.commit(w.tree, "submodule")
		w.git(w.tree, "submodule", "--quiet", "deinit", "-f", "lib")
	}},
	{"a Jujutsu repository", func(w *world) { w.write(w.tree+"/in/.jj/repo/store/type", "git") }},
	{"a Jujutsu workspace beside the worktree's own .git", func(w *world) { w.write(w.tree+"/.jj/repo", "x") }},
	{"a Mercurial repository", func(w *world) { w.write(w.tree+"/target/in/.hg/requires", "store\n") }},
	{"a checkout of Subversion", func(w *world) { w.write(w.tree+"/target/in/.svn/wc.db", "x") }},
	{"a checkout of Fossil", func(w *world) { w.write(w.tree+"/target/in/.fslckout", "x") }},
	{"a checkout of CVS", func(w *world) {
		w.write(w.tree+"/target/in/CVS/Entries", "x")
		w.write(w.tree+"/target/in/CVS/Repository", "x")
	}},
	{"a link called .git", func(w *world) { w.mkdir(w.tree + "/in"); link(w, w.main+"/.git", w.tree+"/in/.git") }},
	{"an alternate store of objects", func(w *world) {
		w.write(w.tree+"/ignored/store/pack/x", "x")
		w.write(w.main+"/.git/objects/info/alternates", "../../../trees/"+filepath.Base(w.tree)+"/ignored/store\n")
	}},
	{"an alternate of an alternate", func(w *world) {
		w.write(w.tree+"/ignored/store/pack/x", "x")
		w.write(w.base+"/store/info/alternates", w.tree+"/ignored/store\n")
		w.write(w.main+"/.git/objects/info/alternates", w.base+"/store\n")
	}},
	{"the repository's objects, by a link", func(w *world) {
		if err := os.Rename(w.main+"/.git/objects", w.tree+"/ignored-objects"); err != nil {
			w.t.Fatal(err)
		}
		link(w, w.tree+"/ignored-objects", w.main+"/.git/objects")
	}},
	{"a folder that is too deep", func(w *world) { w.mkdir(w.tree + strings.Repeat("/d", maxDepth+2)) }},
}

// TestAttackWhatDoesNotComeBackWhole has the verdict ask for a worktree with more in it than a worktree: for every policy, it is
// refused, and nothing moves.
func TestAttackWhatDoesNotComeBackWhole(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a policy that takes a worktree with a repository, or another's objects, in it")
	for _, c := range inner {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.make(w)
			before := w.list(w.tree)
			g, _, err := w.hold("A1", w.tree)
			switch {
			case err == nil:
				g.Close()
				a.Lost("%s: it was taken", c.name)
			case !errors.Is(err, actuators.ErrRefused) || !strings.Contains(err.Error(), "left untouched"):
				a.Lost("%s: %v", c.name, err)
			case len(before) != len(w.list(w.tree)):
				a.Lost("%s: it was changed", c.name)
			default:
				a.Held()
			}
		})
	}
}

// stash puts work in a submodule away.
func stash(w *world) {
	w.write(w.tree+"/lib/a", "x\n")
	w.git(w.tree+"/lib", "stash", "-q")
}

// TestSubmoduleChangedMeanwhile changes a clean submodule once its worktree is held: it is put back, or never moved.
func TestSubmoduleChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"a commit": func(w *world) { w.git(w.tree+"/lib", "commit", "-q", "--allow-empty", "-m", "own") },
		"a stash":  stash,
		"a file":   func(w *world) { w.write(w.tree+"/lib/new", "x\n") },
		"a lock":   func(w *world) { w.write(filepath.Join(w.main, ".git/worktrees", "work", "modules/lib/index.lock"), "") },
	} {
		for _, step := range []string{"held", "dir.move"} {
			w := newWorld(t)
			filled(w)
			w.o.Step = func(s string) {
				if _, err := os.Lstat(w.tree); s == step && err == nil {
					change(w)
				}
			}
			out, _ := w.do("A1", w.tree)
			if _, err := os.Lstat(w.tree + "/lib/.git"); out.Outcome == decision.Done || err != nil {
				t.Errorf("%s at %s: %+v %v", name, step, out, err)
			}
		}
	}
}

// TestWhatCannotBeLookedInto refuses a folder that this user may not list: there may be anything in it.
func TestWhatCannotBeLookedInto(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may list everything")
	}
	w := newWorld(t)
	w.mkdir(w.tree + "/ignored/closed")
	chmod(w, w.tree+"/ignored/closed", 0)
	t.Cleanup(func() { _ = os.Chmod(w.tree+"/ignored/closed", 0o700) })
	if _, _, err := w.hold("A1", w.tree); !errors.Is(err, actuators.ErrRefused) {
		t.Errorf("hold: %v", err)
	}
}

// TestAttackFilesOfAnotherUser has a worktree hold a file of another user.
func TestAttackFilesOfAnotherUser(t *testing.T) {
	_, attacker := attack.Users(t)
	a := attack.New(t, "a worktree with a file or folder of another user in it")
	for _, name := range []string{"ignored/file", "ignored/folder/file"} {
		w := newWorld(t)
		path := filepath.Join(w.tree, name)
		w.mkdir(filepath.Dir(path))
		attacker.Write(t, path, "x\n", 0o644)
		g, _, err := w.hold("A1", w.tree)
		if err == nil {
			g.Close()
		}
		a.Check(wrongUnless(err, actuators.ErrRefused))
	}
}

func wrongUnless(err, want error) string {
	if errors.Is(err, want) {
		return ""
	}
	return "want " + want.Error() + ", got " + errText(err)
}

func errText(err error) string {
	if err == nil {
		return "nothing"
	}
	return err.Error()
}
