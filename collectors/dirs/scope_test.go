package dirs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func link(t testing.TB, target, path string) {
	t.Helper()
	must.Do(t, os.Symlink(target, path))
}

func chmod(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	must.Do(t, os.Chmod(path, mode))
}

// refusedRoot says what is wrong when a pattern leads to anything but sources that fail, with words.
func refusedRoot(ctx context.Context, pattern string, words ...string) string {
	sources := dirs.Roots(options(), []string{pattern})
	if len(sources) == 0 {
		return pattern + " is passed over in silence"
	}
	for _, s := range sources {
		part, err := s.Reader.Read(ctx)
		if err == nil || len(part.Dirs) > 0 {
			return fmt.Sprintf("%s: %s gave %d candidates, and the error %v", pattern, s.Name, len(part.Dirs), err)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				return fmt.Sprintf("%s: %q is not in %q", pattern, w, err)
			}
		}
	}
	return ""
}

func TestAttackALinkInThePlaceOfARoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.landed("x")
	at := func(name string) string { return filepath.Join(w.dir, name) }
	mkdirs(t, at("real/wts/one"), at("levels/a"), at("open/in/x"))
	link(t, w.wts, at("root"))
	link(t, at("real"), at("middle"))
	link(t, w.dir, at("levels/b"))
	chmod(t, at("open"), 0o777)
	a := attack.New(t, "a link, or a folder that others can write, in the place of a root or on the way to one")
	for pattern, words := range map[string][]string{
		at("root"):         {at("root"), "symbolic link", w.wts, "collect.dirs.roots"},
		at("middle/wts"):   {at("middle"), at("real/wts"), "collect.dirs.roots"},
		at("middle/wts/*"): {at("middle"), at("real/wts")},
		at("middle/*"):     {at("middle"), at("real")},
		at("levels/b*"):    {at("levels/b"), w.dir},
		at("levels/b/*"):   {at("levels/b"), w.dir},
		at("open"):         {at("open"), "other users can write it"},
		at("open/in"):      {at("open"), "other users can write it"},
		at("open/*"):       {at("open"), "other users can write it"},
	} {
		a.Check(refusedRoot(t.Context(), pattern, words...))
	}
	// The same folders by their real names are roots.
	for _, path := range []string{w.wts, at("real/wts")} {
		if part := root(t, options(), path); len(part.Dirs) != 1 {
			t.Errorf("%s: %d candidates, want 1", path, len(part.Dirs))
		}
	}
	chmod(t, at("open"), 0o777|os.ModeSticky)
	if part := root(t, options(), at("open/in")); len(part.Dirs) != 1 {
		t.Errorf("below a folder with the sticky bit: %d candidates, want 1", len(part.Dirs))
	}
}

// TestTheMachinesOwnLinks holds that a root is reached through the links that a machine has at its top.
func TestTheMachinesOwnLinks(t *testing.T) {
	t.Parallel()
	if target, err := os.Readlink("/var/run"); err != nil || target != "/run" {
		t.Skip("/var/run is no link to /run here")
	}
	o := options()
	o.Only = []string{"/run/none"}
	if _, err := dirs.Roots(o, []string{"/var/run"})[0].Reader.Read(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAttackAnotherUsersRoot(t *testing.T) {
	_, attacker := attack.Users(t)
	w := newWorld(t)
	w.landed("x")
	shared := filepath.Join(w.dir, "tmp")
	mkdirs(t, shared)
	chmod(t, w.dir, 0o755)
	chmod(t, shared, 0o777|os.ModeSticky)
	attacker.Link(t, w.wts, filepath.Join(shared, "linked"))
	attacker.Mkdir(t, filepath.Join(shared, "his"), 0o755)
	attacker.Link(t, w.wts, filepath.Join(shared, "his", "worktrees"))
	attacker.Mkdir(t, filepath.Join(shared, "his", "real"), 0o755)
	a := attack.New(t, "another user makes a default root first, as a link or a folder of his own")
	for _, name := range []string{"linked", "linked/*", "his", "his/worktrees", "his/*", "his/real"} {
		a.Check(refusedRoot(t.Context(), filepath.Join(shared, name), "belongs to another user"))
	}
	// A record that names a path through his link leads nowhere.
	s, ok := dirs.Repository(options(), filepath.Join(shared, "linked", "x"))
	if !ok {
		t.Fatal("it is passed over in silence")
	}
	part, err := s.Reader.Read(t.Context())
	if len(part.Dirs) > 0 || !errors.Is(err, safeopen.ErrOwner) {
		a.Lost("a record through his link: %d candidates, %v", len(part.Dirs), err)
	} else {
		a.Held()
	}
	// This user's own link is followed: a record has the path that its program worked with.
	link(t, w.wts, filepath.Join(w.dir, "own"))
	s, ok = dirs.Repository(options(), filepath.Join(w.dir, "own", "x"))
	if part := read(t, s); !ok || s.Path != w.main || len(part.Dirs) != 2 {
		t.Errorf("a record through an own link: %+v, %d candidates", s, len(part.Dirs))
	}
}

func TestAttackAnotherUsersFolderInARoot(t *testing.T) {
	_, attacker := attack.Users(t)
	w := newWorld(t)
	mine, his, wrongGit := w.landed("mine"), w.landed("his"), w.landed("git")
	chmod(t, w.wts, 0o777|os.ModeSticky)
	for _, path := range []string{his, filepath.Join(wrongGit, ".git")} {
		must.Do(t, os.Lchown(path, int(attacker.UID), -1))
	}
	part := root(t, options(), w.wts)
	a := attack.New(t, "another user's folder, or .git file, in a root that all can write")
	_, listed := part.Dirs[dirs.ID(his)]
	d := part.Dirs[dirs.ID(wrongGit)]
	switch {
	case listed:
		a.Lost("%s is a candidate", his)
	case len(part.Refused) != 1 || !strings.Contains(part.Refused[0], his) || !strings.Contains(part.Refused[0], "belongs to user"):
		a.Lost("it is not reported: %q", part.Refused)
	case d.Git.Registered != nil || d.Git.Head != "" || !strings.Contains(d.Error, "belongs to another user"):
		a.Lost("%+v, %q", d.Git, d.Error)
	default:
		a.Held()
	}
	if d := part.Dirs[dirs.ID(mine)]; d.Error != "" || d.Git.Dirty == nil {
		t.Errorf("a folder of this user: %+v", d)
	}
}

// TestAttackAnEntryThatNamesAnotherFolder has a repository that came with a clone, with entries for folders outside of it.
func TestAttackAnEntryThatNamesAnotherFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	victim := w.landed("victim")
	other := filepath.Join(w.dir, "other")
	w.git(w.dir, "clone", "-q", w.origin, other)
	mkdirs(t, w.dir+"/plain/sub")
	// What was a worktree of the evil one, and is another's now.
	clone := filepath.Join(w.dir, "clone")
	w.git(w.dir, "init", "-q", clone)
	evil := filepath.Join(clone, "evil.git")
	w.git(w.dir, "clone", "-q", "--bare", w.origin, evil)
	own := filepath.Join(w.dir, "own")
	w.git(evil, "worktree", "add", "-q", "--detach", own)
	targets := []string{victim, other, w.main, filepath.Join(w.dir, "plain"), w.dir}
	for i, path := range targets {
		admin := filepath.Join(evil, "worktrees", fmt.Sprint("e", i))
		w.write(filepath.Join(admin, "gitdir"), filepath.Join(path, ".git")+"\n")
		w.write(filepath.Join(admin, "commondir"), "../..\n")
		w.write(filepath.Join(admin, "HEAD"), "ref: refs/heads/main\n")
	}
	a := attack.New(t, "a repository in a clone has entries for folders of others, and calls one of them its checkout")
	for _, worktree := range append(targets, "") {
		if worktree != "" {
			w.write(filepath.Join(evil, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "+worktree+"\n")
		}
		s, ok := dirs.Repository(options(), evil)
		if !ok {
			t.Fatal("no repository")
		}
		part := read(t, s)
		if _, ok := part.Dirs[dirs.ID(own)]; !ok {
			t.Errorf("its own worktree is not listed")
		}
		delete(part.Dirs, dirs.ID(own))
		if len(part.Dirs) > 0 || s.Path != evil {
			a.Lost("%s leads to %v", s.Path, ids(part))
			continue
		}
		a.Held()
	}
}

// TestAttackAFolderThatIsExchanged swaps a root, or a folder in one, for a link while they are read. What is given then must be in the
// root, and must be the folder that is there.
func TestAttackAFolderThatIsExchanged(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a root, or a folder in it, is swapped for a link while it is read")
	for _, what := range []string{"root", "folder"} {
		w := newWorld(t)
		mkdirs(t, w.dir+"/roots/r/x", w.dir+"/else/x", w.dir+"/else/only")
		path, target := filepath.Join(w.dir, "roots/r"), filepath.Join(w.dir, "else")
		if what == "folder" {
			path, target = filepath.Join(path, "x"), filepath.Join(target, "x")
		}
		away := filepath.Join(w.dir, "swap")
		link(t, target, away)
		inside := map[uint64]bool{}
		for _, p := range []string{w.dir + "/else/x", w.dir + "/else/only"} {
			var st unix.Stat_t
			must.Do(t, unix.Lstat(p, &st))
			inside[st.Ino] = true
		}
		ctx, stop := context.WithCancel(t.Context())
		var swapping sync.WaitGroup
		swapping.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, away, unix.RENAME_EXCHANGE)
				if n%64 == 63 { // the real one is back, and stays long enough to be read
					time.Sleep(300 * time.Microsecond)
				}
			}
		})
		o := options()
		o.Holders = func(context.Context, []string) (map[string][]snapshot.Holder, bool, error) { return nil, true, nil }
		given := 0
		for range 1500 {
			part, _ := dirs.Roots(o, []string{filepath.Join(w.dir, "roots/r")})[0].Reader.Read(ctx)
			given += len(part.Dirs)
			wrong := ""
			for id, d := range part.Dirs {
				if filepath.Dir(d.Path) != filepath.Join(w.dir, "roots/r") || d.Inode != nil && inside[*d.Inode] || d.Name == "only" {
					wrong = fmt.Sprintf("%s is a candidate", id)
				}
			}
			a.Check(wrong)
		}
		stop()
		swapping.Wait()
		if given == 0 {
			t.Errorf("%s: no trial gave anything, so this shows nothing", what)
		}
	}
}
