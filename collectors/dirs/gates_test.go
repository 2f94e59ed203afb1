package dirs_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestGates(t *testing.T) {
	t.Parallel()
	held := func(known bool, holders ...snapshot.Holder) func(context.Context, []string) (map[string][]snapshot.Holder, bool, error) {
		return func(_ context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
			out := map[string][]snapshot.Holder{}
			for _, p := range paths {
				out[p] = holders
			}
			return out, known, nil
		}
	}
	unmounted := "the mounts in it are not known"
	if machine.Inside() { // nor whether processes outside of the namespace use what is on it
		unmounted = "it is not known who uses it"
	}
	tests := []struct {
		name   string
		change func(w *world, path string, o *dirs.Options)
		want   string
	}{
		{"nothing keeps it", func(*world, string, *dirs.Options) {}, ""},
		{"in use", func(_ *world, _ string, o *dirs.Options) {
			o.Holders = held(true, snapshot.Holder{PID: 7, Name: "claude", How: "cwd"})
		}, "it is in use by claude (7)"},
		{"not everybody was seen", func(_ *world, _ string, o *dirs.Options) { o.Holders = held(false) }, "it is not known who uses it"},
		{"the holders were not asked for", func(_ *world, _ string, o *dirs.Options) { o.Holders = nil }, "it is not known who uses it"},
		{"young", func(_ *world, _ string, o *dirs.Options) { o.Grace = time.Hour }, "it changed within the last 1h0m0s"},
		{"young, where that keeps nothing", func(_ *world, _ string, o *dirs.Options) { o.Grace, o.YoungToo = time.Hour, true }, ""},
		{"in use, where that keeps nothing", func(_ *world, _ string, o *dirs.Options) {
			o.Holders, o.UsedToo = held(true, snapshot.Holder{PID: 7, Name: "claude", How: "cwd"}), true
		}, ""},
		{"young, where being in use keeps nothing", func(_ *world, _ string, o *dirs.Options) { o.Grace, o.UsedToo = time.Hour, true }, "it changed within the last 1h0m0s"},
		{"old", func(_ *world, _ string, o *dirs.Options) {
			o.Grace, o.Now = time.Hour, func() time.Time { return time.Now().Add(2 * time.Hour) }
		}, ""},
		{"mounts unknown", func(w *world, _ string, o *dirs.Options) { o.Mountinfo = filepath.Join(w.dir, "none") },
			unmounted},
		{"mount inside", func(w *world, path string, o *dirs.Options) {
			o.Mountinfo = filepath.Join(w.dir, "mountinfo")
			w.write(o.Mountinfo, "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:1 / "+path+`/sub\040dir rw - ext4 /dev/a rw`+"\n")
		}, "something is mounted at or in it"},
		{"mount beside", func(w *world, path string, o *dirs.Options) {
			o.Mountinfo = filepath.Join(w.dir, "mountinfo")
			w.write(o.Mountinfo, "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:1 / "+path+"-other rw - ext4 /dev/a rw\n")
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, o := newWorld(t), options()
			path := w.landed("x")
			program, runs := counting(t)
			o.Git = program
			tt.change(w, path, &o)
			d := one(t, o, path)
			if d.Skipped != tt.want || (d.Git.Dirty == nil) != (tt.want != "") || (d.Git.Nested == nil) != (tt.want != "") {
				t.Errorf("want %q, got %q and %+v", tt.want, d.Skipped, d.Git)
			}
			if g := d.Git; d.Skipped != "" && (g.Untracked != nil || g.UntrackedPaths != nil || g.Ignored != nil || g.IgnoredPaths != nil || g.LeftOut != nil) {
				t.Errorf("what was not asked is there: %+v", g)
			}
			if got := status(runs()); (got == 0) != (tt.want != "") {
				t.Errorf("%d runs of git status", got)
			}
			o.Full = true
			if d := one(t, o, path); d.Git.Dirty == nil || d.Skipped != "" {
				t.Errorf("with Full: %+v", d)
			}
		})
	}
}

func status(runs []string) int {
	n := 0
	for _, r := range runs {
		if slices.Contains(strings.Fields(r), "status") {
			n++
		}
	}
	return n
}

// TestRunsOfGit holds the promise that makes a look cheap: two runs a repository, and one more only for what passed the gates.
func TestRunsOfGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		w.landed(name)
	}
	w.git(w.main, "worktree", "lock", filepath.Join(w.wts, "a"))
	w.commit(w.detached("e"), "own.txt")
	mkdirs(t, w.wts+"/plain")
	w.git(w.dir, "clone", "-q", w.origin, w.wts+"/clone")
	program, runs := counting(t)
	o := options()
	o.Git = program
	calls := 0
	o.Holders = func(_ context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
		calls++
		return map[string][]snapshot.Holder{filepath.Join(w.wts, "b"): {{PID: 9, Name: "vim", How: "fd"}}}, true, nil
	}
	root(t, o, w.wts)
	lines := runs()
	if len(lines) != 4 || status(lines) != 2 || calls != 1 {
		t.Errorf("want 2 runs for the repository and 2 for what passed the gates, and holders asked once; got %d, holders %d:\n%s",
			len(lines), calls, strings.Join(lines, "\n"))
	}
	source, _ := dirs.Repository(o, w.main)
	read(t, source)
	if more := runs()[len(lines):]; len(more) != 4 || status(more) != 2 {
		t.Errorf("repository: %d runs:\n%s", len(more), strings.Join(more, "\n"))
	}
}

// TestNoRunsWithoutWorktrees holds that clones and plain folders cost no run at all.
func TestNoRunsWithoutWorktrees(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	program, runs := counting(t)
	o.Git = program
	part := root(t, o, w.dir)
	if lines := runs(); len(lines) > 0 || len(part.Dirs) < 3 {
		t.Errorf("%d candidates, %d runs: %s", len(part.Dirs), len(lines), lines)
	}
	o.Full = true
	d := root(t, o, w.dir).Dirs[dirs.ID(w.main)]
	want := facts{Checkout: new(true), Worktree: new(false), Detached: new(false), Locked: new(false), Landed: new(true), Commits: new(1),
		Dirty: new(0), Untracked: new(0), Ignored: new(0), Operation: new(""), Nested: &[]string{}, IgnoredPaths: &[]string{}}
	must.Equal(t, want, of(d), "result")
}

// TestPlainFolders holds that what lies in a folder without a repository is known where nothing cheaper keeps it, and costs no run of git.
func TestPlainFolders(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	program, runs := counting(t)
	o.Git = program
	at := filepath.Join(w.dir, "plain")
	mkdirs(t, at+"/empty", at+"/links")
	w.write(at+"/files/deep/notes", "x")
	w.write(at+"/held/notes", "x")
	w.link(w.main, at+"/links/main")
	w.git(w.dir, "init", "-q", at+"/clone/deep/inner")
	w.git(w.main, "worktree", "add", "-q", "-b", "inner", at+"/tree/inner", "origin/main")
	w.write(at+"/mercurial/.hg/store", "x")
	w.write(at+"/subversion/.svn/wc.db", "x")
	w.write(at+"/fossil/.fslckout", "x")
	w.write(at+"/cvs/CVS/Entries", "x")
	w.write(at+"/cvs/CVS/Repository", "x")
	o.Holders = func(context.Context, []string) (map[string][]snapshot.Holder, bool, error) {
		return map[string][]snapshot.Holder{at + "/held": {{PID: 9, Name: "vim", How: "fd"}}}, true, nil
	}
	got := map[string]any{}
	for _, d := range root(t, o, at).Dirs {
		got[d.Name] = d.Skipped
		if d.Nested != nil {
			got[d.Name] = *d.Nested
		}
		if d.Error != "" || d.Git != nil {
			t.Errorf("%s: %q, %+v", d.Name, d.Error, d.Git)
		}
	}
	want := map[string]any{"empty": "", "files": []string{}, "held": "it is in use by vim (9)", "links": []string{},
		"clone": []string{"deep/inner"}, "tree": []string{"inner"}, "mercurial": []string{".hg"},
		"subversion": []string{".svn"}, "fossil": []string{".fslckout"}, "cvs": []string{"CVS"}}
	if diff := cmp.Diff(want, got); diff != "" || len(runs()) > 0 {
		t.Error(diff, runs())
	}
}

func TestHoldersThatFail(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	path := w.landed("x")
	o.Holders = func(context.Context, []string) (map[string][]snapshot.Holder, bool, error) {
		return nil, true, errors.New("proc is shut")
	}
	d := one(t, o, path)
	if d.HoldersKnown == nil || *d.HoldersKnown || d.Holders != nil || !strings.Contains(d.Error, "proc is shut") || d.Git.Dirty != nil {
		t.Errorf("%+v", d)
	}
}

// TestDeadline holds that a look that ran out of time says so, and shows what it has without the facts that it lacks.
func TestDeadline(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	path := w.landed("x")
	slow := filepath.Join(w.dir, "slow-git")
	executable.Write(t, slow, "#!/bin/sh\nsleep 60 &\nwait\n")
	o.Git = slow
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	part, err := dirs.Roots(o, []string{w.wts})[0].Reader.Read(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !part.Partial {
		t.Fatalf("error %v, partial %v", err, part.Partial)
	}
	d := part.Dirs[dirs.ID(path)]
	if d.Git == nil || d.Git.Landed != nil || d.Git.Unreachable != nil || d.Git.Dirty != nil || d.Error == "" || d.Inode == nil {
		t.Errorf("%+v %+v", d, d.Git)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	part, err = dirs.Roots(o, []string{w.wts})[0].Reader.Read(ctx)
	if !errors.Is(err, context.Canceled) || !part.Partial || part.Dirs[dirs.ID(path)].Error == "" {
		t.Errorf("error %v, %+v", err, part)
	}
}

// TestGitThatFails holds that no answer of git is not taken for a good one.
func TestGitThatFails(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	path := w.landed("x")
	for name, script := range map[string]string{
		"exit": "exit 1", "stderr": "echo trouble >&2; exec git \"$@\"", "cut off": "printf '1 .M'", "nonsense": "printf 'x\\0y\\0\\n'",
	} {
		o.Git = filepath.Join(w.dir, "git-"+strings.ReplaceAll(name, " ", "-"))
		executable.Write(t, o.Git, "#!/bin/sh\ncase \"$*\" in *status*) "+script+";; *) exec git \"$@\";; esac\n")
		d := one(t, o, path)
		if d.Error == "" || d.Git.Dirty != nil || d.Git.Untracked != nil || d.Git.Ignored != nil || d.Git.Nested != nil {
			t.Errorf("%s: %q %+v", name, d.Error, d.Git)
		}
		if d.Git.Landed == nil || !*d.Git.Landed {
			t.Errorf("%s: what was read before is gone: %+v", name, d.Git)
		}
	}
	o.Git = filepath.Join(w.dir, "no-such-git")
	part, err := dirs.Roots(o, []string{w.wts})[0].Reader.Read(t.Context())
	if !errors.Is(err, gitsafe.ErrNoGit) || !part.Partial {
		t.Errorf("without git: want a source that failed and what was seen all the same, got %v, partial %v", err, part.Partial)
	}
	if d := part.Dirs[dirs.ID(path)]; d.Error == "" || d.Git.Landed != nil || d.Git.Unreachable != nil || d.Git.Dirty != nil {
		t.Errorf("without git: %+v", d.Git)
	}
}

// TestPlacesAsksGitNothing holds that a look which needs no more than the places of worktrees runs no git.
func TestPlacesAsksGitNothing(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	path := w.landed("x")
	program, runs := counting(t)
	o.Git, o.Places = program, true
	d := one(t, o, path)
	if g := d.Git; g == nil || g.Worktree == nil || !*g.Worktree || g.Registered == nil || !*g.Registered || d.Error != "" {
		t.Errorf("a worktree's place is read as %+v, error %q", d.Git, d.Error)
	}
	if d.Git.Landed != nil || d.Git.Dirty != nil {
		t.Errorf("what git was not asked is there: %+v", d.Git)
	}
	if got := runs(); len(got) > 0 {
		t.Errorf("git ran: %q", got)
	}
}
