package dirs_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func names(sources []collectors.Source) []string {
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
	}
	return names
}

func ids(p collectors.Part) []string { return slices.Sorted(maps.Keys(p.Dirs)) }

func mkdirs(t testing.TB, paths ...string) {
	t.Helper()
	for _, path := range paths {
		must.Do(t, os.MkdirAll(path, 0o755))
	}
}

func TestRootsExpandsStars(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mkdirs(t, dir+"/a/wts", dir+"/b/wts", dir+"/[c]/wts", dir+"/d")
	must.Do(t, os.WriteFile(dir+"/file", nil, 0o600))
	got := names(dirs.Roots(dirs.Options{}, []string{dir + "/*/wts", dir + "/x*/wts", dir + "/none", dir + "/[*", dir + "/none/"}))
	// A part without a star is taken as it stands, so that d/wts, which does not exist, is an absent source.
	want := []string{"dirs/" + dir + "/[c]/wts", "dirs/" + dir + "/a/wts", "dirs/" + dir + "/b/wts", "dirs/" + dir + "/d/wts",
		"dirs/" + dir + "/none", "dirs/" + dir + "/[c]"}
	must.Equal(t, want, got, "result")
}

func TestRootThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]error{filepath.Join(dir, "none"): collectors.ErrAbsent, file: collectors.ErrAbsent} {
		part, err := dirs.Roots(dirs.Options{}, []string{path})[0].Reader.Read(t.Context())
		if !errors.Is(err, want) || part.Partial || len(part.Dirs) > 0 {
			t.Errorf("%s: want %v and nothing, got %v and %d candidates", path, want, err, len(part.Dirs))
		}
	}
	shut := filepath.Join(dir, "shut")
	mkdirs(t, shut+"/x")
	must.Do(t, os.Chmod(shut, 0))
	t.Cleanup(func() { _ = os.Chmod(shut, 0o700) })
	if os.Geteuid() == 0 {
		t.Skip("root may read every folder: run as a plain user to see a refused one")
	}
	_, err := dirs.Roots(dirs.Options{}, []string{shut})[0].Reader.Read(t.Context())
	if !errors.Is(err, collectors.ErrPermission) {
		t.Errorf("want %v, got %v", collectors.ErrPermission, err)
	}
}

func TestRootListsFoldersAndLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(w.dir, "root")
	mkdirs(t, dir+"/plain/sub", dir+"/empty/in/deep", dir+"/"+dirs.Trash, dir+"/with\nnewline and ünïcode")
	w.write(dir+"/file", "x")
	w.write(dir+"/with\nnewline and ünïcode/x", "x")
	w.write(dir+"/plain/sub/file", "x")
	must.Do(t, os.Symlink(w.main, dir+"/link"))
	w.git(w.dir, "clone", "-q", w.origin, dir+"/clone")
	w.git(w.dir, "clone", "-q", "--bare", w.origin, dir+"/bare.git")
	part := root(t, options(), dir)

	type want struct {
		Symlink, Checkout, Empty, Worktree *bool
		Skipped, Name                      string
	}
	wants := map[string]want{
		"plain": {Symlink: new(false), Checkout: new(false), Empty: new(false), Name: "plain"},
		"empty": {Symlink: new(false), Checkout: new(false), Empty: new(true), Name: "empty"},
		"with\nnewline and ünïcode": {Symlink: new(false), Checkout: new(false), Empty: new(false),
			Name: "with\nnewline and ünïcode"},
		"link": {Symlink: new(true), Skipped: "it is a symbolic link: nothing is read through it", Name: "link"},
		"clone": {Symlink: new(false), Checkout: new(true), Empty: new(false), Worktree: new(false),
			Skipped: "it is a main checkout or a clone", Name: "clone"},
		"bare.git": {Symlink: new(false), Checkout: new(true), Empty: new(false), Worktree: new(false),
			Skipped: "it is a repository itself", Name: "bare.git"},
	}
	got := map[string]want{}
	for id, d := range part.Dirs {
		if id != dirs.ID(filepath.Join(dir, d.Name)) || d.Source != "dirs/"+dir || d.Root != dir {
			t.Errorf("%q: source %q and root %q do not fit", id, d.Source, d.Root)
		}
		g := want{Symlink: d.Symlink, Checkout: d.Checkout, Empty: d.Empty, Skipped: d.Skipped, Name: d.Name}
		if d.Git != nil {
			g.Worktree = d.Git.Worktree
		}
		got[d.Name] = g
	}
	must.Equal(t, wants, got, "result")
}

func TestFolderFacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.landed("x")
	d := one(t, options(), path)
	var st unix.Stat_t
	must.Do(t, unix.Lstat(path, &st))
	if *d.Device != st.Dev || *d.Inode != st.Ino || *d.UID != os.Geteuid() || *d.Mounts != 0 || d.MountID == nil {
		t.Errorf("want device %d inode %d, got %+v", st.Dev, st.Ino, d)
	}
	info := must.Get(os.Stat(path))(t)
	if !d.ModifiedAt.Equal(info.ModTime()) || d.ActiveAt.Before(*d.ModifiedAt) || d.BornAt == nil {
		t.Errorf("times: born %v, modified %v, active %v; the folder's mtime is %v", d.BornAt, d.ModifiedAt, d.ActiveAt, info.ModTime())
	}
	want := snapshot.Git{Main: w.main, CommonDir: filepath.Join(w.main, ".git"), AdminDir: w.admin(path),
		Head: w.git(path, "rev-parse", "HEAD"), Branch: "refs/heads/x", Upstream: "refs/remotes/origin/main"}
	g := d.Git
	got := snapshot.Git{Main: g.Main, CommonDir: g.CommonDir, AdminDir: g.AdminDir, Head: g.Head, Branch: g.Branch, Upstream: g.Upstream}
	must.Equal(t, want, got, "result")
	if g.FetchedAt == nil {
		t.Error("the upstream moved and no time says so")
	}
}

func TestRepositoryListsAllItsWorktrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, far := w.landed("first"), filepath.Join(w.dir, "far away", "wt\nx")
	w.git(w.main, "worktree", "add", "-q", "--detach", far)
	lost := w.landed("lost")
	must.Do(t, os.RemoveAll(w.admin(lost)))
	missing := w.landed("missing")
	must.Do(t, os.RemoveAll(missing))
	moved := w.landed("before")
	must.Do(t, os.Rename(moved, filepath.Join(w.wts, "moved")))
	moved = filepath.Join(w.wts, "moved")
	w.git(w.dir, "clone", "-q", w.origin, filepath.Join(w.wts, "foreign"))

	source, ok := dirs.Repository(options(), filepath.Join(first))
	if !ok || source.Name != "dirs/"+w.main || source.Path != w.main || source.Kind != "dirs" {
		t.Fatalf("source %+v, %v", source, ok)
	}
	part := read(t, source)
	want := []string{w.main, first, far, lost, missing, moved}
	for i, path := range want {
		want[i] = dirs.ID(path)
	}
	slices.Sort(want)
	must.Equal(t, want, ids(part), "result")
	state := map[string][2]bool{}
	for id, d := range part.Dirs {
		if d.Git.Registered != nil {
			state[id] = [2]bool{*d.Git.Worktree, *d.Git.Registered}
		} else if *d.Git.Worktree {
			t.Errorf("%s: it is not known whether it is registered", id)
		}
	}
	wantState := map[string][2]bool{
		dirs.ID(first): {true, true}, dirs.ID(far): {true, true}, dirs.ID(lost): {true, false}, dirs.ID(moved): {true, false},
		dirs.ID(missing): {true, true},
	}
	must.Equal(t, wantState, state, "result")
	if d := part.Dirs[dirs.ID(moved)]; d.Git.Dirty == nil || *d.Git.Dirty != 0 || d.Root != w.wts {
		t.Errorf("moved worktree: %+v", d)
	}
}

func TestRepositoryFromWhereverOneStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.landed("x")
	mkdirs(t, path+"/deep/er")
	for _, from := range []string{w.main, path, path + "/deep/er", w.main + "/.git", w.main + "/.git/worktrees/x"} {
		source, ok := dirs.Repository(options(), from)
		if !ok || source.Name != "dirs/"+w.main {
			t.Errorf("%s: %q, %v", from, source.Name, ok)
		}
	}
	if source, ok := dirs.Repository(options(), w.origin+"/refs"); !ok || source.Name != "dirs/"+w.origin {
		t.Errorf("bare: %q, %v", source.Name, ok)
	}
	if source, ok := dirs.Repository(options(), t.TempDir()); ok {
		t.Errorf("no repository, and yet %q", source.Name)
	}
}

func TestBareRepositoryAndNoRemote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git(w.origin, "worktree", "add", "-q", filepath.Join(w.wts, "x"), "-b", "x", "main")
	source, ok := dirs.Repository(options(), w.origin)
	if !ok {
		t.Fatal("no repository")
	}
	part := read(t, source)
	must.Equal(t, []string{dirs.ID(filepath.Join(w.wts, "x"))}, ids(part), "result")
	d := part.Dirs[dirs.ID(filepath.Join(w.wts, "x"))]
	if d.Git.Landed == nil || !*d.Git.Landed || d.Git.Upstream != "refs/heads/main" || d.Git.Main != "" || *d.Git.Unreachable != 0 || *d.Git.Dirty != 0 {
		t.Errorf("without a remote the repository's own default branch counts: %+v", d.Git)
	}
}

func TestUpstream(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		refs  []string
		heads map[string]string
		want  string
	}{
		{"origin's HEAD", []string{"origin/trunk", "origin/main"}, map[string]string{"origin": "trunk"}, "refs/remotes/origin/trunk"},
		{"origin before others", []string{"a/x", "origin/y"}, map[string]string{"a": "x", "origin": "y"}, "refs/remotes/origin/y"},
		{"the only remote", []string{"up/x"}, map[string]string{"up": "x"}, "refs/remotes/up/x"},
		{"two remotes and no origin", []string{"a/x", "b/x"}, map[string]string{"a": "x", "b": "x"}, ""},
		{"HEAD that leads nowhere", []string{"origin/main"}, map[string]string{"origin": "gone"}, "refs/remotes/origin/main"},
		{"only master", []string{"origin/master"}, nil, "refs/remotes/origin/master"},
		{"main and master", []string{"origin/master", "origin/main"}, nil, ""},
		{"neither", []string{"origin/dev"}, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := w.branch("x")
			w.git(w.main, "remote", "remove", "origin")
			for i, ref := range tt.refs {
				w.git(w.main, "update-ref", "refs/remotes/"+ref, "main")
				if i == 0 {
					w.git(w.main, "pack-refs", "--all")
				}
			}
			for remote, branch := range tt.heads {
				w.git(w.main, "symbolic-ref", "refs/remotes/"+remote+"/HEAD", "refs/remotes/"+remote+"/"+branch)
			}
			g := one(t, options(), path).Git
			if g.Upstream != tt.want || (g.Landed != nil) != (tt.want != "") {
				t.Errorf("want %q, got %q and landed %v", tt.want, g.Upstream, g.Landed)
			}
		})
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.landed("x")
	w.landed("y")
	o := options()
	whole := root(t, o, w.wts).Dirs[dirs.ID(path)]
	o.Only = []string{path}
	part := root(t, o, w.wts)
	must.Equal(t, map[string]snapshot.Dir{dirs.ID(path): whole}, part.Dirs, "result")
	if part := root(t, o, w.dir); len(part.Dirs) > 0 {
		t.Errorf("in another root: %v", ids(part))
	}
	source, _ := dirs.Repository(o, w.main)
	must.Equal(t, []string{dirs.ID(path)}, ids(read(t, source)), "result")
	must.Do(t, os.RemoveAll(path))
	if part := root(t, o, w.wts); len(part.Dirs) > 0 {
		t.Errorf("it is gone: %v", ids(part))
	}
	part = read(t, source)
	if d := part.Dirs[dirs.ID(path)]; len(part.Dirs) != 1 || d.Gone == nil || !*d.Gone {
		t.Errorf("it is gone: %+v", part.Dirs)
	}
}

// TestOnlySome gives several folders in one reading, each as in the whole one, also where one is gone and where two lie in one worktree.
func TestOnlySome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x, y, gone := w.landed("x"), w.landed("y"), w.landed("gone")
	w.landed("z")
	must.Do(t, os.RemoveAll(gone))
	calls := 0
	o := options()
	holders := o.Holders
	o.Holders = func(ctx context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
		calls++
		return holders(ctx, paths)
	}
	o.Only = []string{x, gone, y}
	source, _ := dirs.Repository(o, w.main)
	whole, _ := dirs.Repository(options(), w.main)
	want := read(t, whole).Dirs
	for _, path := range []string{filepath.Join(w.wts, "z"), w.main} {
		delete(want, dirs.ID(path))
	}
	must.Equal(t, want, read(t, source).Dirs, "folders")
	must.Equal(t, []string{dirs.ID(x), dirs.ID(y)}, ids(root(t, o, w.wts)), "in the root")
	if calls != 2 {
		t.Errorf("two readings asked %d times who uses the folders", calls)
	}
	o.Only = []string{filepath.Join(x, "a"), filepath.Join(x, "b"), y}
	must.Equal(t, []string{dirs.ID(x), dirs.ID(y)}, ids(root(t, o, w.wts)), "two folders in one worktree")
}

// TestUnreadableFolder holds that one folder that cannot be read does not affect its neighbours.
func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read every folder: run as a plain user to see a refused one")
	}
	w := newWorld(t)
	open, shut := w.landed("open"), filepath.Join(w.wts, "shut")
	hole := w.landed("hole")
	mkdirs(t, shut+"/x", hole+"/dark/x")
	for _, path := range []string{shut, hole + "/dark"} {
		must.Do(t, os.Chmod(path, 0))
		t.Cleanup(func() { _ = os.Chmod(path, fs.FileMode(0o700)) })
	}
	part := root(t, options(), w.wts)
	if d := part.Dirs[dirs.ID(shut)]; d.Error == "" || d.Checkout != nil || d.Empty != nil || d.Inode == nil {
		t.Errorf("shut: %+v", d)
	}
	if d := part.Dirs[dirs.ID(hole)]; d.Error == "" || d.Git.Dirty != nil || d.Git.Nested != nil || !strings.Contains(d.Error, "denied") {
		t.Errorf("with a hole: %+v", d)
	}
	want := clean()
	must.Equal(t, want, of(part.Dirs[dirs.ID(open)]), "result")
	if part.Unreadable != 2 {
		t.Errorf("want 2 that could not be read, got %d", part.Unreadable)
	}
}

func TestFetchedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path, other := w.landed("x"), w.landed("y")
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	w.git(other, "fetch", "-q", "origin")
	fetched := filepath.Join(w.admin(other), "FETCH_HEAD")
	must.Do(t, os.Chtimes(fetched, at, at))
	if got := one(t, options(), path).Git.FetchedAt; got == nil || !got.Equal(at) {
		t.Errorf("fetched from another worktree at %v, got %v", at, got)
	}
	// This is what a fetch that failed leaves behind.
	must.Do(t, os.Truncate(fetched, 0))
	must.Do(t, os.Chtimes(fetched, at, at))
	if got := one(t, options(), path).Git.FetchedAt; got == nil || !got.Before(at) {
		t.Errorf("a fetch that failed counts: %v", got)
	}
}

// TestCopiedWorktree holds that a copy, which leads to the admin folder of the original, is not taken for registered.
func TestCopiedWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.landed("x")
	must.Do(t, os.CopyFS(filepath.Join(w.wts, "copy"), os.DirFS(path)))
	w.write(filepath.Join(w.wts, "copy", "new"), "only here")
	part := root(t, options(), w.wts)
	original, twin := part.Dirs[dirs.ID(path)].Git, part.Dirs[dirs.ID(filepath.Join(w.wts, "copy"))].Git
	if !*original.Registered || *twin.Registered || *original.Untracked != 0 || *twin.Untracked != 1 {
		t.Errorf("original %+v, copy %+v", original, twin)
	}
}
