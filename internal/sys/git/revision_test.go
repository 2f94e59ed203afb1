package git_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/git/revision"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// within is room for what these tests write.
var within = revision.Reading{Names: 50, Bytes: 1 << 20, File: 100, Wanted: func(p string) bool { return filepath.Ext(p) != ".bin" }}

func (p *prey) revision(folder, name string) *revision.Revision {
	p.Helper()
	return must.Get(revision.Find(p.Context(), git.NewFinder(), git.Program{}, folder, name))(p)
}

// text is what a file of a revision holds.
func (p *prey) text(r *revision.Revision, dir, name string) string {
	p.Helper()
	files := must.Get(r.Files(p.Context(), dir, within))(p)
	return string(must.Get(fs.ReadFile(files, name))(p))
}

func TestRevision(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	f.put(f.main, "rules/a.rego", "one\n")
	f.git(f.main, "tag", "-a", "-m", "v1", "v1")
	f.put(f.main, "rules/a.rego", "two\n")
	f.put(f.tree, "rules/a.rego", "three\n") // on the branch work
	f.write(filepath.Join(f.main, "rules", "a.rego"), "not committed\n")
	f.git(f.main, "pack-refs", "--all")
	for _, want := range []struct{ folder, name, text string }{
		{f.main, "HEAD", "two\n"}, {f.main, "main", "two\n"}, {f.main, "HEAD~1", "one\n"}, {f.main, "v1", "one\n"}, {f.main, "work", "three\n"},
		{f.main, "refs/heads/work", "three\n"}, {f.tree, "HEAD", "three\n"}, {filepath.Join(f.main, "rules"), "HEAD", "two\n"},
		{f.main, f.git(f.main, "rev-parse", "--short", "v1^{commit}"), "one\n"},
	} {
		r := f.revision(want.folder, want.name)
		if got := f.text(r, "rules", "a.rego"); got != want.text || r.Commit != f.git(want.folder, "rev-parse", want.name+"^{commit}") {
			t.Errorf("%s in %s: want %q, got %q of %s", want.name, want.folder, want.text, got, r.Commit)
		}
		if got := f.text(r, "/", "rules/a.rego"); got != want.text {
			t.Errorf("%s in %s, from the top: want %q, got %q", want.name, want.folder, want.text, got)
		}
		if got, err := r.File(t.Context(), "rules/a.rego", 10); string(got) != want.text || err != nil {
			t.Errorf("%s in %s, one file: want %q, got %q, %v", want.name, want.folder, want.text, got, err)
		}
	}
	for _, name := range []string{"", "none", "HEAD~9", "-h", "--all", "HEAD:rules", ":/one", "main..work", "HEAD^{tree}", "HEAD^{blob}", "main\nwork"} {
		if _, err := revision.Find(t.Context(), git.NewFinder(), git.Program{}, f.main, name); !errors.Is(err, revision.ErrNoRevision) {
			t.Errorf("%q: want %v, got %v", name, revision.ErrNoRevision, err)
		}
	}
	if _, err := revision.Find(t.Context(), git.NewFinder(), git.Program{}, t.TempDir(), "HEAD"); !errors.Is(err, git.ErrNone) {
		t.Errorf("no repository: want %v, got %v", git.ErrNone, err)
	}
	if _, err := revision.Find(t.Context(), git.NewFinder(), git.Program{Path: filepath.Join(t.TempDir(), "none")}, f.main, "HEAD"); err == nil || errors.Is(err, revision.ErrNoRevision) {
		t.Errorf("no git: got %v", err)
	}
	r := f.revision(f.main, "HEAD")
	for _, dir := range []string{"none", "rules/none", "../x", "rules\nrules"} {
		if _, err := r.Files(t.Context(), dir, within); !errors.Is(err, revision.ErrNoPath) {
			t.Errorf("%q: want %v, got %v", dir, revision.ErrNoPath, err)
		}
	}
	if _, err := r.File(t.Context(), "rules", 10); !errors.Is(err, revision.ErrNoPath) {
		t.Errorf("a folder as a file: want %v, got %v", revision.ErrNoPath, err)
	}
	if _, err := r.File(t.Context(), "rules/a.rego", 3); !errors.Is(err, safeopen.ErrTooLarge) {
		t.Errorf("a large file: want %v, got %v", safeopen.ErrTooLarge, err)
	}
	if _, err := r.Files(t.Context(), "rules/a.rego", within); err == nil || !strings.Contains(err.Error(), "name the folder") {
		t.Errorf("a file as a folder: got %v", err)
	}
}

func TestRevisionOfAShallowClone(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	clone := filepath.Join(f.dir, "clone")
	f.git(f.dir, "clone", "-q", "--depth", "1", "file://"+f.main, clone)
	if _, err := revision.Find(t.Context(), git.NewFinder(), git.Program{}, clone, "HEAD~1"); !errors.Is(err, revision.ErrNoRevision) || !strings.Contains(err.Error(), "shallow") {
		t.Errorf("want %v and why, got %v", revision.ErrNoRevision, err)
	}
	if got := f.text(f.revision(clone, "HEAD"), "", "a.txt"); got != "one\n" {
		t.Errorf("want one, got %q", got)
	}
}

// TestRevisionHoldsWhatIsNoFile: links are listed and not followed, what is too large or not wanted is listed and not read, and no limit is
// passed in silence.
func TestRevisionHoldsWhatIsNoFile(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	must.Do(t, os.MkdirAll(filepath.Join(f.main, "rules"), 0o755))
	must.Do(t, os.Symlink("/etc/passwd", filepath.Join(f.main, "rules", "link")))
	f.write(filepath.Join(f.main, "rules", "large.rego"), strings.Repeat("x", 101))
	f.write(filepath.Join(f.main, "rules", "x.bin"), "x")
	f.write(filepath.Join(f.main, "rules", "with \"quotes\" and ü.rego"), "quoted\n")
	f.put(f.main, "rules/empty.rego", "")
	r := f.revision(f.main, "HEAD")
	files := must.Get(r.Files(t.Context(), "rules", within))(t)
	for name, want := range map[string]string{"with \"quotes\" and ü.rego": "quoted\n", "empty.rego": ""} {
		if got, err := fs.ReadFile(files, name); string(got) != want || err != nil {
			t.Errorf("%s: want %q, got %q, %v", name, want, got, err)
		}
	}
	if i, err := fs.Stat(files, "link"); err != nil || i.Mode().Type() != fs.ModeSymlink {
		t.Errorf("a link: got %v, %v", i, err)
	}
	if _, err := fs.ReadFile(files, "large.rego"); !errors.Is(err, safeopen.ErrTooLarge) {
		t.Errorf("a large file: want %v, got %v", safeopen.ErrTooLarge, err)
	}
	if _, err := fs.ReadFile(files, "x.bin"); err == nil {
		t.Error("a file that is not wanted was read")
	}
	if _, err := r.Files(t.Context(), "rules/link", within); err == nil {
		t.Error("a link was followed")
	}
	for name, few := range map[string]revision.Reading{"files are the most": {Names: 2, Bytes: 1 << 20, File: 100}, "bytes in all": {Names: 50, Bytes: 5, File: 1000}} {
		if _, err := r.Files(t.Context(), "rules", few); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %s, got %v", name, err)
		}
	}
	f.git(f.main, "update-index", "--add", "--cacheinfo", "160000,"+r.Commit+",rules/sub")
	f.git(f.main, "commit", "-qm", "sub")
	if _, err := f.revision(f.main, "HEAD").Files(t.Context(), "rules", within); err == nil || !strings.Contains(err.Error(), "submodule") {
		t.Errorf("a repository inside: got %v", err)
	}
}
