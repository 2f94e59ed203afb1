package dirs_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// kits are what tools write in these tests: one in the worktrees of one folder, one in all, and one whose files are reports.
func kits(in ...string) []dirs.Scaffold {
	return []dirs.Scaffold{
		{In: in, Paths: []string{".tool-prompt", ".agent/hooks/guard.cjs", ".agent/settings.json"}, Links: []string{".env", ".tool/config.json"}},
		{Paths: []string{".agent/settings.json"}},
		{Paths: []string{".review.md", ".review.json"}, Reports: true},
	}
}

// counts are the facts of a worktree's files that no commit has.
type counts struct{ Untracked, Ignored, Scaffold, Reports int }

func TestScaffold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		put  func(w *world, p string)
		want counts
	}{
		"nothing":                   {func(*world, string) {}, counts{}},
		"what the tool wrote":       {func(w *world, p string) { w.put(p, ".tool-prompt", ".agent/hooks/guard.cjs", ".agent/settings.json") }, counts{Scaffold: 3}},
		"and other files beside it": {func(w *world, p string) { w.put(p, ".tool-prompt", ".agent/notes", ".tool-prompt2", "a/.tool-prompt") }, counts{Untracked: 3, Scaffold: 1}},
		"a folder of that name":     {func(w *world, p string) { w.put(p, ".tool-prompt/x") }, counts{Untracked: 1}},
		"a link of that name":       {func(w *world, p string) { w.linkIn("a.txt", p, ".tool-prompt") }, counts{Untracked: 1}},
		"a link to it": {func(w *world, p string) {
			w.put(p, ".tool-prompt")
			w.linkIn(".tool-prompt", p, ".agent/settings.json")
		}, counts{Untracked: 1, Scaffold: 1}},
		"a link on the way": {func(w *world, p string) {
			w.put(p, "elsewhere/settings.json")
			w.linkIn("elsewhere", p, ".agent")
		}, counts{Untracked: 2}},
		"a link to the main checkout's":      {func(w *world, p string) { w.linkIn(filepath.Join(w.main, ".env"), p, ".env") }, counts{Scaffold: 1}},
		"one that is written from here":      {func(w *world, p string) { w.linkIn("../../app/.env", p, ".env") }, counts{Scaffold: 1}},
		"one below a folder":                 {func(w *world, p string) { w.linkIn("../../../app/.tool/config.json", p, ".tool/config.json") }, counts{Scaffold: 1}},
		"a link to another's":                {func(w *world, p string) { w.linkIn(filepath.Join(w.dir, ".env"), p, ".env") }, counts{Ignored: 1}},
		"a link to another file of the main": {func(w *world, p string) { w.linkIn(filepath.Join(w.main, "a.txt"), p, ".env") }, counts{Ignored: 1}},
		"a file where a link would be":       {func(w *world, p string) { w.put(p, ".env") }, counts{Ignored: 1}},
		"a file that is ignored": {func(w *world, p string) {
			w.exclude(".tool-*\n")
			w.put(p, ".tool-prompt", ".tool-notes")
		}, counts{Ignored: 1, Scaffold: 1}},
		"a folder that is ignored as a whole": {func(w *world, p string) {
			w.exclude(".agent/\n")
			w.put(p, ".agent/hooks/guard.cjs", ".agent/settings.json")
		}, counts{Scaffold: 1}},
		"one with other files in it": {func(w *world, p string) {
			w.exclude(".agent/\n")
			w.put(p, ".agent/hooks/guard.cjs", ".agent/settings.json", ".agent/notes")
		}, counts{Ignored: 1}},
		"one with other folders in it": {func(w *world, p string) {
			w.exclude(".agent/\n")
			w.put(p, ".agent/settings.json", ".agent/hooks/mine/x")
		}, counts{Ignored: 1}},
		"one with many files in it": {func(w *world, p string) {
			w.exclude(".agent/\n")
			for i := range 40 {
				w.put(p, ".agent/"+string(rune('A'+i)))
			}
		}, counts{Ignored: 1}},
		"one with a link in it": {func(w *world, p string) {
			w.exclude(".agent/\n")
			w.linkIn("../a.txt", p, ".agent/settings.json")
		}, counts{Ignored: 1}},
		"reports": {func(w *world, p string) { w.put(p, ".review.md", ".review.json") }, counts{Untracked: 2, Reports: 2}},
		"reports that are ignored": {func(w *world, p string) {
			w.exclude(".review*\n")
			w.put(p, ".review.md", ".review.json", ".review-upload")
		}, counts{Ignored: 3, Reports: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.landed("x")
			tt.put(w, p)
			o := options()
			o.Scaffold = kits("wts", "others")
			must.Equal(t, tt.want, w.count(o, p), "result")
			o.Scaffold = nil
			all := tt.want.Untracked + tt.want.Ignored + tt.want.Scaffold
			if got := w.count(o, p); got.Untracked+got.Ignored != all || got.Scaffold+got.Reports != 0 {
				t.Errorf("without a list: %+v", got)
			}
		})
	}
}

// What a tool writes in its own worktrees is work in all others.
func TestScaffoldElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.landed("x")
	w.put(p, ".tool-prompt", ".agent/settings.json")
	o := options()
	o.Scaffold = kits("others", "app", "x")
	must.Equal(t, counts{Untracked: 1, Scaffold: 1}, w.count(o, p), "result")
}

// A file that a commit has is the repository's, with any name.
func TestScaffoldThatIsTracked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.landed("x")
	w.commit(p, ".tool-prompt")
	w.write(filepath.Join(p, ".tool-prompt"), "changed\n")
	o := options()
	o.Scaffold = kits()
	d := one(t, o, p)
	if *d.Git.Dirty != 1 || *d.Git.Scaffold != 0 {
		t.Errorf("dirty %d, scaffold %d", *d.Git.Dirty, *d.Git.Scaffold)
	}
	w.git(p, "rm", "-q", "--cached", ".tool-prompt")
	if d = one(t, o, p); *d.Git.Dirty != 1 || *d.Git.Scaffold != 1 {
		t.Errorf("taken out of the index: dirty %d, scaffold %d", *d.Git.Dirty, *d.Git.Scaffold)
	}
}

// TestPathsAreNamed holds that a rule of one's own can judge each path by itself: what the counts count and what they leave out, and of
// very many the first.
func TestPathsAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.landed("x")
	w.exclude("*.env\nnode_modules/\n.agent/\n")
	w.put(p, "new", "deep/new", ".tool-prompt", "a.env", "node_modules/x/y", ".agent/settings.json")
	o := options()
	o.Scaffold = kits("wts")
	g := one(t, o, p).Git
	want := [][]string{{"deep/new", "new"}, {"a.env"}, {".tool-prompt", ".agent/", "node_modules/"}}
	if diff := cmp.Diff(want, [][]string{*g.UntrackedPaths, *g.IgnoredPaths, *g.LeftOutPaths}); diff != "" || *g.LeftOut != 3 {
		t.Error(*g.LeftOut, diff)
	}
	for i := range 150 {
		w.put(p, fmt.Sprintf("many/%03d", i))
	}
	if g := one(t, o, p).Git; *g.Untracked != 152 || len(*g.UntrackedPaths) != 100 {
		t.Errorf("%d, named %d", *g.Untracked, len(*g.UntrackedPaths))
	}
	if g := one(t, o, w.landed("clean")).Git; g.UntrackedPaths == nil || len(*g.UntrackedPaths) != 0 || g.IgnoredPaths == nil || len(*g.IgnoredPaths) != 0 || g.LeftOutPaths == nil {
		t.Errorf("known and empty is not []: %+v", g)
	}
}

func (w *world) count(o dirs.Options, path string) counts {
	w.Helper()
	d := one(w, o, path)
	if d.Git == nil || d.Git.Untracked == nil || d.Git.Scaffold == nil || d.Git.Reports == nil {
		w.Fatalf("%+v", d)
	}
	return counts{*d.Git.Untracked, *d.Git.Ignored, *d.Git.Scaffold, *d.Git.Reports}
}

func (w *world) put(path string, names ...string) {
	w.Helper()
	for _, name := range names {
		w.write(filepath.Join(path, name), name)
	}
}

func (w *world) exclude(text string) {
	w.Helper()
	w.write(filepath.Join(w.main, ".git", "info", "exclude"), text)
}

// linkIn makes a link at name in path, and the folders that it lies in.
func (w *world) linkIn(to, path, name string) {
	w.Helper()
	name = filepath.Join(path, name)
	w.mkdir(filepath.Dir(name))
	w.link(to, name)
}
