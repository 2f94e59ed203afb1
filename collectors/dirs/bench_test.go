package dirs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// many gives the main checkout n linked worktrees, each on a branch of its own, made by hand: git worktree add takes some 20 ms a
// piece. Every tenth has a commit of its own on no branch.
func many(b *testing.B, n int) *world {
	b.Helper()
	w := newWorld(b)
	head := w.git(w.main, "rev-parse", "HEAD")
	stray := w.git(w.main, "commit-tree", "-p", head, "-m", "stray", head+"^{tree}")
	common := filepath.Join(w.main, ".git")
	template := w.landed("template")
	index := must.Get(os.ReadFile(filepath.Join(w.admin(template), "index")))(b)
	zero := strings.Repeat("0", 40)
	for i := range n - 1 {
		name := fmt.Sprintf("wt%04d", i)
		path, admin := filepath.Join(w.wts, name), filepath.Join(common, "worktrees", name)
		at, symbol := head, "ref: refs/heads/"+name
		if i%10 == 0 {
			at, symbol = stray, stray
		} else {
			w.write(filepath.Join(common, "refs", "heads", name), at+"\n")
			w.write(filepath.Join(common, "logs", "refs", "heads", name), zero+" "+at+" t <t@example.org> 1 +0000\tbranch: Created\n")
		}
		w.write(filepath.Join(path, ".git"), "gitdir: "+admin+"\n")
		w.write(filepath.Join(path, "a.txt"), "one\n")
		w.write(filepath.Join(path, ".gitignore"), ".env\nnode_modules\ninner/\n*.log\n")
		w.write(filepath.Join(admin, "gitdir"), path+"/.git\n")
		w.write(filepath.Join(admin, "commondir"), "../..\n")
		w.write(filepath.Join(admin, "HEAD"), symbol+"\n")
		w.write(filepath.Join(admin, "logs", "HEAD"), zero+" "+at+" t <t@example.org> 1 +0000\t\n")
		must.Do(b, os.WriteFile(filepath.Join(admin, "index"), index, 0o600))
	}
	return w
}

// naive asks what a script would: six runs of git for one worktree.
func naive(b *testing.B, path string) {
	b.Helper()
	for _, args := range [][]string{
		{"rev-parse", "HEAD"}, {"symbolic-ref", "-q", "HEAD"}, {"status", "--porcelain", "--ignored"},
		{"rev-list", "-1", "HEAD", "--not", "--remotes"}, {"for-each-ref", "--contains", "HEAD"},
		{"merge-base", "--is-ancestor", "HEAD", "origin/main"},
	} {
		cmd := exec.CommandContext(b.Context(), "git", args...)
		cmd.Dir = path
		// Several of these say what they find by their exit code.
		if out, err := cmd.CombinedOutput(); err != nil && strings.Contains(string(out), "fatal") {
			b.Fatalf("git %s: %s", args[0], out)
		}
	}
}

// sample is how many worktrees the six runs are made for; their time is then scaled to all. They cost the same for each.
const sample = 20

// BenchmarkRepository reads the worktrees of one repository at repository level, as the gates leave it where every worktree is in
// use, against six runs of git a worktree. Both times are of the same run, and x is how many times faster it is.
func BenchmarkRepository(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("worktrees=%d", n), func(b *testing.B) {
			w := many(b, n)
			o := options()
			o.Holders = nil
			source, ok := dirs.Repository(o, w.main)
			if !ok {
				b.Fatal("no repository")
			}
			for b.Loop() {
				if part := read(b, source); len(part.Dirs) != n+1 {
					b.Fatalf("%d candidates of %d", len(part.Dirs), n+1)
				}
			}
			ours := b.Elapsed().Seconds() / float64(b.N)
			b.StopTimer()
			scripted := scripted(b, w, n)
			b.ReportMetric(ours*1e6/float64(n), "µs/worktree")
			b.ReportMetric(scripted*1e3, "naive-ms")
			b.ReportMetric(scripted/ours, "x-naive")
		})
	}
}

// BenchmarkRepositoryContents is the same with one in ten asked about its content.
func BenchmarkRepositoryContents(b *testing.B) {
	const n = 300
	w := many(b, n)
	o := options()
	o.Holders = tenth
	source, ok := dirs.Repository(o, w.main)
	if !ok {
		b.Fatal("no repository")
	}
	for b.Loop() {
		read(b, source)
	}
	ours := b.Elapsed().Seconds() / float64(b.N)
	b.StopTimer()
	scripted := scripted(b, w, n)
	b.ReportMetric(scripted*1e3, "naive-ms")
	b.ReportMetric(scripted/ours, "x-naive")
}

// tenth holds nine of ten folders.
func tenth(_ context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
	held := map[string][]snapshot.Holder{}
	for _, p := range paths {
		if !strings.HasSuffix(p, "5") {
			held[p] = []snapshot.Holder{{PID: 1, Name: "x", How: "cwd"}}
		}
	}
	return held, true, nil
}

// scripted gives how many seconds the six runs take for n worktrees, by a sample.
func scripted(b *testing.B, w *world, n int) float64 {
	b.Helper()
	k := min(n-1, sample)
	start := time.Now()
	for i := range k {
		naive(b, filepath.Join(w.wts, fmt.Sprintf("wt%04d", i)))
	}
	return time.Since(start).Seconds() / float64(k) * float64(n)
}
