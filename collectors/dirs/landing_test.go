package dirs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// squashed adds a worktree whose two commits are one commit on origin's main.
func (w *world) squashed(name string) string {
	w.Helper()
	path := w.branch(name)
	w.commit(path, name+"-1")
	w.commit(path, name+"-2")
	w.git(w.main, "merge", "-q", "--squash", name)
	w.git(w.main, "commit", "-q", "-m", "squash "+name)
	w.git(w.main, "push", "-q", "origin", "main")
	return path
}

// TestLandings holds how work that main does not reach got onto it, and of which worktrees that is asked: of those that nothing else
// keeps, all at once.
func TestLandings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	landed := w.landed("landed")
	w.git(w.main, "pull", "-q", "--no-rebase", "origin", "main")
	one, two, dirty := w.squashed("one"), w.squashed("two"), w.squashed("dirty")
	w.write(filepath.Join(dirty, "note"), "x")
	open, fresh := w.branch("open"), w.branch("fresh")
	w.commit(open, "open")
	lone := w.branch("lone")
	w.git(w.main, "update-ref", "refs/heads/lone", w.git(w.main, "commit-tree", "-p", "main", "-m", "lone", "main^{tree}"))
	w.git(lone, "reset", "-q", "--hard")

	o := options()
	git, runs := counting(t)
	o.Git = git
	part := root(t, o, w.wts)
	of := func(path string) *snapshot.Git { return part.Dirs[dirs.ID(path)].Git }
	main := "refs/remotes/origin/main"
	must.Equal(t, &snapshot.Landing{By: "squash", Into: main, Commits: []string{w.git(w.main, "rev-parse", "main~2")}}, of(one).Landing, "one")
	must.Equal(t, &snapshot.Landing{By: "squash", Into: main, Commits: []string{w.git(w.main, "rev-parse", "main~1")}}, of(two).Landing, "two")
	must.Equal(t, &snapshot.Landing{By: "ancestry", Into: main, Commits: []string{}}, of(landed).Landing, "landed")
	must.Equal(t, &snapshot.Landing{Into: main, Commits: []string{}}, of(open).Landing, "open")
	must.Equal(t, (*snapshot.Landing)(nil), of(dirty).Landing, "dirty")
	must.Equal(t, new(2), of(one).Ahead, "commits ahead")
	must.Equal(t, new(0), of(landed).Ahead, "commits ahead")
	if g := of(fresh); g.Elsewhere != nil || !*g.Landed {
		t.Errorf("fresh: main reaches it, so nothing is asked: %+v", g)
	}
	if g := of(lone); g.Elsewhere == nil || *g.Elsewhere {
		t.Errorf("lone: its own branch alone keeps it: %+v", g)
	}
	asked := map[string]int{}
	for _, run := range runs() {
		for _, word := range []string{" diff-tree ", " merge-tree ", " status "} {
			if strings.Contains(run+" ", word) {
				asked[strings.TrimSpace(word)]++
			}
		}
	}
	must.Equal(t, map[string]int{"diff-tree": 2, "status": 7}, asked, "runs of git")
}
