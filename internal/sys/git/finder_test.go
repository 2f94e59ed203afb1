package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// What is shared by all of one look is read once, what failed is asked again, and a Finder of its own sees the world as it is now.
func TestOnceRemembersWhatItFound(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	finder, missing := git.NewOnce(), filepath.Join(t.TempDir(), "later")
	if _, err := finder.Locate(missing); !errors.Is(err, git.ErrNone) {
		t.Fatalf("want %v, got %v", git.ErrNone, err)
	}
	var all sync.WaitGroup
	repos := make([]*git.Repository, 8)
	var place git.Place
	for i := range repos { // as many as share it at the same time
		all.Go(func() {
			p, err := finder.Locate(f.tree)
			if err != nil {
				t.Error(err)
				return
			}
			repos[i], err = finder.Open(p.CommonDir)
			if tree, terr := finder.Tree(p.AdminDir); err != nil || terr != nil || tree != f.tree || !finder.Registered(p) {
				t.Errorf("%v, %v: its entry leads to %q", err, terr, tree)
			}
			if i == 0 {
				place = p
			}
		})
	}
	all.Wait()
	for _, r := range repos {
		if r != repos[0] {
			t.Error("a repository was opened more than once")
		}
	}
	moved := f.tree + "-moved"
	must.Do(t, os.Rename(f.tree, moved))
	must.Do(t, os.Rename(filepath.Join(f.main, ".git", "HEAD"), filepath.Join(f.main, ".git", "HEAD-moved")))
	if p, err := finder.Locate(f.tree); err != nil || p != place || !finder.Registered(p) {
		t.Errorf("want what was found first, got %+v, %v", p, err)
	}
	must.Do(t, os.Mkdir(f.tree, 0o755))
	if p, err := finder.LocateIn(f.tree, must.Get(folder.StampAt(unix.AT_FDCWD, f.tree))(t)); !errors.Is(err, git.ErrNone) {
		t.Errorf("another folder has the path now: want %v, got %+v, %v", git.ErrNone, p, err)
	}
	must.Do(t, os.Remove(f.tree))
	if p, err := git.NewFinder().Locate(f.tree); err == nil {
		t.Errorf("one of its own: want an error, got %+v", p)
	}
	must.Do(t, os.Rename(filepath.Join(f.main, ".git", "HEAD-moved"), filepath.Join(f.main, ".git", "HEAD")))
	must.Do(t, os.Rename(moved, missing))
	if p, err := finder.Locate(missing); err != nil || p.AdminDir != place.AdminDir {
		t.Errorf("what was not there before: %+v, %v", p, err)
	}
	fresh := git.NewFinder()
	first := must.Get(fresh.Open(place.CommonDir))(t)
	if must.Get(fresh.Open(place.CommonDir))(t) == first {
		t.Error("one of its own opens a repository when it is asked to")
	}
}
