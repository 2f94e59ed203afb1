package dirs_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// laterWorld has worktrees of a repository, in a root of their own, and plain folders in another one.
func laterWorld(t testing.TB) (w *world, roots []string, landed, dirty, old string) {
	t.Helper()
	w = newWorld(t)
	landed, dirty, old = w.landed("landed"), w.landed("dirty"), filepath.Join(w.dir, "plain", "old")
	w.write(filepath.Join(dirty, "new.txt"), "new\n")
	w.write(filepath.Join(old, "notes.txt"), "notes\n")
	return w, []string{w.wts, filepath.Dir(old)}, landed, dirty, old
}

// look reads all of these sources as one look does.
func lookAt(t testing.TB, o dirs.Options, w *world, roots []string, then func(s *snapshot.Snapshot)) *snapshot.Snapshot {
	t.Helper()
	o.Later, o.Cache = true, dirs.NewLookCache()
	of := dirs.Roots(o, roots)
	repository, ok := dirs.Repository(o, w.main)
	if !ok {
		t.Fatal("no repository")
	}
	return collectors.Run(t.Context(), collectors.RunOptions{Sources: append(of, repository), Timeout: time.Minute, Then: func(ctx context.Context, s *snapshot.Snapshot) {
		o.Cache.Prefetch(ctx, s)
		if then != nil {
			then(s)
		}
	}})
}

func TestDearQuestionsLaterGiveTheSame(t *testing.T) {
	t.Parallel()
	w, roots, landed, _, old := laterWorld(t)
	var asked atomic.Int32
	var paths []string
	o := options()
	o.Holders = func(_ context.Context, of []string) (map[string][]snapshot.Holder, bool, error) {
		asked.Add(1)
		paths = slices.Clone(of)
		return map[string][]snapshot.Holder{old: {{PID: 7, Name: "vi", How: "fd"}}}, true, nil
	}
	got := lookAt(t, o, w, roots, func(s *snapshot.Snapshot) {
		if asked.Load() > 0 || s.Dirs[dirs.ID(landed)].HoldersKnown != nil || s.Dirs[dirs.ID(landed)].Git.Dirty != nil {
			t.Errorf("asked before all sources were read: %+v", s.Dirs[dirs.ID(landed)])
		}
	})
	if asked.Load() != 1 {
		t.Errorf("who uses the folders was asked %d times for one look", asked.Load())
	}
	if want := slices.Sorted(maps.Keys(got.Dirs)); len(paths) != len(want) {
		t.Errorf("asked about %v of %v", paths, want)
	}
	want := map[string]snapshot.Dir{}
	for _, at := range roots {
		o.Later, o.Cache = false, nil
		maps.Copy(want, root(t, o, at).Dirs)
	}
	for id, d := range want {
		if diff := cmp.Diff(d, got.Dirs[id], cmpopts.IgnoreFields(snapshot.Dir{}, "Source", "Root")); diff != "" {
			t.Errorf("%s, asked at once against asked later:\n%s", id, diff)
		}
	}
	for name, src := range got.Sources {
		if src.Status != snapshot.OK {
			t.Errorf("%s: %s %s", name, src.Status, src.Error)
		}
	}
}

// Git is asked about a repository once, however many sources have worktrees of it, and what it says is known before anything is decided.
func TestRepositoryIsWeighedOnceALook(t *testing.T) {
	t.Parallel()
	w, roots, landed, dirty, _ := laterWorld(t)
	elsewhere := filepath.Join(w.dir, "more", "else")
	w.git(w.main, "worktree", "add", "-q", "-b", "else", elsewhere, "origin/main")
	w.commit(elsewhere, "else.txt")
	program, runs := counting(t)
	o := options()
	o.Git = program
	s := lookAt(t, o, w, append(roots, filepath.Dir(elsewhere)), func(s *snapshot.Snapshot) {
		if got := runs(); len(got) != 2 {
			t.Errorf("git was asked about the one repository %d times: %q", len(got), got)
		}
		for _, path := range []string{landed, dirty, elsewhere} {
			g := s.Dirs[dirs.ID(path)].Git
			if g == nil || g.Landed == nil || *g.Landed == (path == elsewhere) || g.Unreachable == nil || *g.Unreachable != 0 {
				t.Errorf("%s is not weighed when the rules are asked: %+v", path, g)
			}
		}
	})
	if g := s.Dirs[dirs.ID(elsewhere)].Git; g.Dirty == nil || g.Landing == nil || g.Ahead == nil || *g.Ahead != 1 {
		t.Errorf("%+v", g)
	}
}

// A git that cannot be run fails every source that has worktrees.
func TestGitThatFailsWhenItWeighsFailsAllItsSources(t *testing.T) {
	t.Parallel()
	w, roots, _, _, _ := laterWorld(t)
	o := options()
	o.Git = filepath.Join(w.dir, "no-git")
	s := lookAt(t, o, w, roots, nil)
	for _, name := range []string{"dirs/" + w.wts, "dirs/" + w.main} {
		if src := s.Sources[name]; src.Status != snapshot.Failed || !strings.Contains(src.Error, "no-git") {
			t.Errorf("%s: %+v", name, src)
		}
	}
}

func TestWhatIsDecidedIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	w, roots, landed, dirty, old := laterWorld(t)
	program, runs := counting(t)
	o := options()
	o.Git = program
	var asked []string
	o.Holders = func(_ context.Context, of []string) (map[string][]snapshot.Holder, bool, error) {
		asked = append(asked, of...)
		return nil, true, nil
	}
	shared := dirs.NewLookCache()
	o.Later, o.Cache = true, shared
	repository, ok := dirs.Repository(o, w.main)
	if !ok {
		t.Fatal("no repository")
	}
	shell := []snapshot.Holder{{PID: 7, Name: "zsh", How: "cwd"}}
	known := map[string]dirs.Prefiltered{dirs.ID(dirty): {Skip: "it is young"}, dirs.ID(old): {Skip: "no rule gives a reason", Users: shell}, dirs.ID(w.main): {Skip: "no rule is about it"}}
	s := collectors.Run(t.Context(), collectors.RunOptions{Sources: append(dirs.Roots(o, roots), repository), Timeout: time.Minute, Then: func(context.Context, *snapshot.Snapshot) {
		shared.Prefilter(func(id string) dirs.Prefiltered { return known[id] })
	}})
	if diff := cmp.Diff([]string{landed}, asked); diff != "" {
		t.Errorf("who uses them was asked of others:\n%s", diff)
	}
	if got := status(runs()); got != 1 {
		t.Errorf("%d runs of git status for the one worktree that may go", got)
	}
	if d := s.Dirs[dirs.ID(landed)]; d.Skipped != "" || d.HoldersKnown == nil || d.Git.Dirty == nil || d.Git.Nested == nil {
		t.Errorf("what may go was not asked about: %+v %+v", d, d.Git)
	}
	if d := s.Dirs[dirs.ID(dirty)]; d.Skipped != "it is young" || d.HoldersKnown != nil || d.Holders != nil || d.Git.Dirty != nil || d.Git.Nested != nil || d.Error != "" {
		t.Errorf("what stays anyway was asked about: %+v %+v", d, d.Git)
	}
	if d := s.Dirs[dirs.ID(old)]; d.Skipped != "no rule gives a reason" || d.HoldersKnown != nil || !cmp.Equal(d.Holders, shell) || d.Nested != nil {
		t.Errorf("what is known without asking: %+v", d)
	}
}

// What was taken away between the two readings is left out, and what took its place is not given for it.
func TestWhatIsExchangedBeforeTheDearQuestionsIsNoCandidate(t *testing.T) {
	t.Parallel()
	w, roots, landed, dirty, old := laterWorld(t)
	s := lookAt(t, options(), w, roots, func(*snapshot.Snapshot) {
		w.remove(landed)
		w.remove(old)
		w.write(filepath.Join(old, "other.txt"), "of another folder\n")
	})
	if _, there := s.Dirs[dirs.ID(landed)]; there {
		t.Error("what is gone is a candidate")
	}
	if _, there := s.Dirs[dirs.ID(old)]; there {
		t.Error("what took the place of another folder is a candidate")
	}
	if d := s.Dirs[dirs.ID(dirty)]; d.Git == nil || d.Git.Untracked == nil || *d.Git.Untracked != 1 {
		t.Errorf("the one that stayed was not read: %+v", d)
	}
}

// A question that fails leaves every folder that it was asked for with unknown users, in all sources.
func TestHoldersThatFailAreUnknownEverywhere(t *testing.T) {
	t.Parallel()
	w, roots, landed, _, old := laterWorld(t)
	o := options()
	o.Holders = func(context.Context, []string) (map[string][]snapshot.Holder, bool, error) {
		return nil, true, context.DeadlineExceeded
	}
	s := lookAt(t, o, w, roots, nil)
	for _, path := range []string{landed, old} {
		if d := s.Dirs[dirs.ID(path)]; d.HoldersKnown == nil || *d.HoldersKnown || d.Error == "" || d.Skipped != "it is not known who uses it" {
			t.Errorf("%s: %+v", path, d)
		}
	}
}
