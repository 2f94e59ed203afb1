package dirs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// traps hold up a reader, or fill its memory. Each is put in the place of a file of the worktree tree, whose admin folder is
// admin and whose repository's folder is common.
var traps = []struct {
	name string
	path func(tree, admin, common string) string
}{
	{".gitignore", func(tree, _, _ string) string { return filepath.Join(tree, ".gitignore") }},
	{".gitignore further down", func(tree, _, _ string) string { return filepath.Join(tree, "sub", ".gitignore") }},
	{".gitattributes", func(tree, _, _ string) string { return filepath.Join(tree, ".gitattributes") }},
	{".gitmodules", func(tree, _, _ string) string { return filepath.Join(tree, ".gitmodules") }},
	{"a tracked file", func(tree, _, _ string) string { return filepath.Join(tree, "a.txt") }},
	{"HEAD", func(_, admin, _ string) string { return filepath.Join(admin, "HEAD") }},
	{"index", func(_, admin, _ string) string { return filepath.Join(admin, "index") }},
	{"reflog", func(_, admin, _ string) string { return filepath.Join(admin, "logs", "HEAD") }},
	{"commondir", func(_, admin, _ string) string { return filepath.Join(admin, "commondir") }},
	{"gitdir", func(_, admin, _ string) string { return filepath.Join(admin, "gitdir") }},
	{"the worktree's configuration", func(_, admin, _ string) string { return filepath.Join(admin, "config.worktree") }},
	{"configuration", func(_, _, common string) string { return filepath.Join(common, "config") }},
	{"info/exclude", func(_, _, common string) string { return filepath.Join(common, "info", "exclude") }},
	{"info/attributes", func(_, _, common string) string { return filepath.Join(common, "info", "attributes") }},
	{"packed-refs", func(_, _, common string) string { return filepath.Join(common, "packed-refs") }},
	{"a branch", func(_, _, common string) string { return filepath.Join(common, "refs", "heads", "trap") }},
	{"alternates", func(_, _, common string) string { return filepath.Join(common, "objects", "info", "alternates") }},
}

// TestAttackAFileThatHoldsUp puts pipes, links to /dev/zero and endless files in the place of what is read. The worktree beside it,
// of another repository, is listed all the same, and soon.
func TestAttackAFileThatHoldsUp(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	a := attack.New(t, "a pipe, a link to a device or a file of 10 GB in the place of a file that is read of a repository")
	other := newWorld(t)
	for _, trap := range traps {
		for _, kind := range []string{"pipe", "link", "endless"} {
			w := newWorld(t)
			path, moved := w.landed("x"), filepath.Join(w.wts, "y")
			w.git(w.main, "config", "extensions.worktreeConfig", "true")
			other.git(other.main, "worktree", "add", "-q", "--detach", moved)
			at := trap.path(path, w.admin(path), filepath.Join(w.main, ".git"))
			set(t, kind, at)
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
			part, err := dirs.Roots(options(), []string{w.wts})[0].Reader.Read(ctx)
			cancel()
			d, ok := part.Dirs[dirs.ID(path)]
			switch {
			case err != nil:
				a.Lost("%s, %s: the whole source failed: %v", trap.name, kind, err)
			case time.Since(begin) > wait.Patience:
				a.Lost("%s, %s: it took %s", trap.name, kind, time.Since(begin))
			case of(part.Dirs[dirs.ID(moved)]).Dirty == nil:
				a.Lost("%s, %s: the worktree beside it is not known: %s", trap.name, kind, part.Dirs[dirs.ID(moved)].Error)
			case !ok || d.Error == "" && (d.Git.Dirty == nil || d.Git.Unreachable == nil):
				a.Lost("%s, %s: it is not known and nothing says why: %+v", trap.name, kind, d)
			case d.Error == "" && *d.Git.Dirty+*d.Git.Untracked == 0 && trap.name != "a branch" && kind != "endless":
				a.Lost("%s, %s: it counts as clean", trap.name, kind)
			default:
				a.Held()
			}
		}
	}
}

func set(t *testing.T, kind, at string) {
	t.Helper()
	_ = os.Remove(at)
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	switch kind {
	case "pipe":
		err = errors.Join(err, unix.Mkfifo(at, 0o600))
	case "link":
		err = errors.Join(err, os.Symlink("/dev/zero", at))
	case "endless":
		if filepath.Base(at) == "a.txt" || strings.HasPrefix(filepath.Base(at), ".git") {
			return // git reads those, as it does for everybody
		}
		err = errors.Join(err, os.WriteFile(at, nil, 0o600), os.Truncate(at, 10<<30))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAttackGitThatIsHeldUp has git hang in one worktree, for several causes: it costs that worktree alone.
func TestAttackGitThatIsHeldUp(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	a := attack.New(t, "git never answers for some worktrees of a root")
	w, o := newWorld(t), options()
	var good []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		good = append(good, w.branch(name))
	}
	slow := []string{w.branch("slow1"), w.branch("slow2"), w.branch("slow3")}
	o.Git = filepath.Join(w.dir, "git")
	script := "#!/bin/sh\ncase \"$GIT_WORK_TREE\" in *slow*) sleep 60 & wait;; *) exec git \"$@\";; esac\n"
	executable.Write(t, o.Git, script)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	part, err := dirs.Roots(o, []string{w.wts})[0].Reader.Read(ctx)
	if err != nil {
		a.Lost("the whole source failed: %v", err)
	}
	for _, path := range good {
		if d := part.Dirs[dirs.ID(path)]; d.Git == nil || d.Git.Dirty == nil {
			a.Lost("%s is not known: %s", path, d.Error)
			continue
		}
		a.Held()
	}
	for _, path := range slow {
		if d := part.Dirs[dirs.ID(path)]; d.Git.Dirty != nil || !strings.Contains(d.Error, "it was not read in time") {
			a.Lost("%s: want a reason, got %q", path, d.Error)
			continue
		}
		a.Held()
	}
}

// TestAttackAGitFileThatLeadsElsewhere has a .git file lead to another user's repository, to itself and around in a circle.
func TestAttackAGitFileThatLeadsElsewhere(t *testing.T) {
	_, attacker := attack.Users(t)
	a := attack.New(t, "a .git file leads to another user's repository")
	w := newWorld(t)
	path := w.landed("x")
	theirs := filepath.Join(attacker.Home, "admin")
	w.git(w.dir, "init", "-q", filepath.Join(attacker.Home, "r"))
	must.Do(t, os.CopyFS(theirs, os.DirFS(w.admin(path))))
	w.write(filepath.Join(theirs, "commondir"), filepath.Join(w.main, ".git")+"\n")
	for _, whose := range []string{theirs, filepath.Join(attacker.Home, "r", ".git")} {
		if err := filepath.WalkDir(whose, func(p string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(p, int(attacker.UID), int(attacker.GID)))
		}); err != nil {
			t.Fatal(err)
		}
		w.write(filepath.Join(path, ".git"), "gitdir: "+whose+"\n")
		if d := one(t, options(), path); d.Error == "" || d.Git != nil && (d.Git.Dirty != nil || d.Git.Head != "") {
			a.Lost("%s: %+v, %q", whose, d.Git, d.Error)
			continue
		}
		a.Held()
	}
	for _, loop := range []string{".git", "./.git/.", filepath.Join(path, ".git")} {
		w.write(filepath.Join(path, ".git"), "gitdir: "+loop+"\n")
		if d := one(t, options(), path); d.Error == "" {
			a.Lost("%s: %+v", loop, d.Git)
			continue
		}
		a.Held()
	}
}

// TestOtherKindsOfRepositories holds that those of other version control count, also where everything else can be made again.
func TestOtherKindsOfRepositories(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	path := w.landed("x")
	for _, inner := range []string{"node_modules/a/.jj/repo", "node_modules/b/.hg/store", "node_modules/c/none", ".jj/repo",
		"node_modules/d/.svn/wc.db", "node_modules/e/.fslckout", "node_modules/f/_FOSSIL_", "node_modules/g/CVS/Entries", "node_modules/g/CVS/Repository",
		"node_modules/h/CVS/none", "node_modules/i/Entries", "node_modules/i/Repository"} {
		w.write(filepath.Join(path, inner), "x")
	}
	d := one(t, o, path)
	must.Equal(t, &[]string{".jj", "node_modules/a", "node_modules/b", "node_modules/d", "node_modules/e", "node_modules/f", "node_modules/g/CVS"}, d.Git.Nested, "nested")
	if d.Git.Ignored == nil || *d.Git.Ignored != 1 || (*d.Git.IgnoredPaths)[0] != "node_modules/" {
		t.Errorf("a rebuildable folder with repositories in it is no work: %v", (*d.Git.IgnoredPaths))
	}
}

// TestGitThatIsMissing holds that without git a source with worktrees fails, and one without any does not.
func TestGitThatIsMissing(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	w.landed("x")
	o.Git = filepath.Join(w.dir, "none")
	if _, err := dirs.Roots(o, []string{w.wts})[0].Reader.Read(t.Context()); !errors.Is(err, gitsafe.ErrNoGit) {
		t.Errorf("want %v, got %v", gitsafe.ErrNoGit, err)
	}
	plain := filepath.Join(w.dir, "plain")
	mkdirs(t, filepath.Join(plain, "a"))
	if part, err := dirs.Roots(o, []string{plain})[0].Reader.Read(t.Context()); err != nil || len(part.Dirs) != 1 {
		t.Errorf("without worktrees: %v, %d folders", err, len(part.Dirs))
	}
	// One repository that is broken is no reason to call git broken.
	w.write(filepath.Join(w.main, ".git", "objects", "info", "alternates"), "/none/at/all\n")
	o.Git = ""
	d := one(t, o, filepath.Join(w.wts, "x"))
	if d.Error == "" || d.Git.Unreachable != nil {
		t.Errorf("a broken repository: %+v", d)
	}
}
