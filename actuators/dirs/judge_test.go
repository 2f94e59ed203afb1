package dirs

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// looser takes every folder that is called work or plain, also one that is locked or holds work.
const looser = `package policies.reap.dirs.mine

in_scope if input.dir.name in {"work", "plain"}

findings contains {"rule": "reap.dirs.mine", "message": "it may go", "evidence": {}} if in_scope
`

// stricter keeps every folder.
const stricter = `package policies.protect.mine

objections contains {"rule": "protect.mine", "message": "mine keeps it", "evidence": {}} if input.kind == "dir"
`

// judge judges the folders of the world as the program does.
func (w *world) judge() *judge.Judge {
	w.t.Helper()
	j := judge.New(w.t, snapshot.KindDir, judge.Shipped, nil, func(d decision.Decision) string { return d.Identity.Dir.Path })
	j.Sources = func(only []string) ([]collectors.Source, error) { return w.sources(j, only, 0), nil }
	return j
}

// sources are the folders of the world, and from trim on what can be made again in them.
func (w *world) sources(j *judge.Judge, only []string, trim time.Duration) []collectors.Source {
	return dirs.Roots(dirs.Options{Rebuildable: j.Rules.Rebuildable, Only: only, TrimAfter: trim, Home: w.base, Machine: w.base,
		Holders: func(ctx context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
			return holders.Find(ctx, holders.Options{Root: "/proc", Opaque: j.Rules.OpaqueProcesses, Thorough: len(only) > 0}, paths)
		}}, []string{w.root})
}

// TestOnlyThePoliciesJudge has folders that the shipped rules keep go by an operator's, whole, and come back; and has a stricter rule keep what
// a looser one gave away, at each time that it is asked.
func TestOnlyThePoliciesJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make    func(*world)
		path    string
		without []string
	}{
		"a locked worktree with work in it": {func(w *world) {
			w.write(filepath.Join(w.tree, "new"), "work\n")
			w.git(w.main, "worktree", "lock", "--reason", "mine", w.tree)
		}, "work", []string{"protect/protected", "protect/unsaved"}},
		"a plain folder with files": {func(w *world) { w.write(filepath.Join(w.root, "plain", "sub", "file"), "work\n") }, "plain",
			[]string{"protect/nested", "protect/unsaved"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.make(w)
			path := filepath.Join(w.root, c.path)
			before, files := w.state(), w.list(path)
			j := w.judge()
			id := "dir:" + path
			j.Without(nil, map[string]string{"reap/dirs/mine/mine.rego": looser})
			kept := j.Until(decision.Spare, id, path)
			if len(kept.Findings) == 0 || len(kept.Objections) == 0 {
				t.Fatalf("%+v", kept)
			}
			j.Without(c.without, map[string]string{"reap/dirs/mine/mine.rego": looser})
			d := j.Until(decision.Reap, id, path)
			a := New(w.o)
			for times := range 2 {
				j.Before = func(n int) {
					if n == times {
						j.Without(c.without, map[string]string{"reap/dirs/mine/mine.rego": looser, "protect/mine/mine.rego": stricter})
					}
				}
				if out := j.Carry(t.Context(), a, d); out.Outcome != decision.Changed {
					t.Fatalf("asked %d times before: %+v", times, out)
				}
				w.same(before)
				j.Before = nil
				j.Without(c.without, map[string]string{"reap/dirs/mine/mine.rego": looser})
			}
			out := j.Carry(t.Context(), a, d)
			if _, err := os.Lstat(path); out.Outcome != decision.Done || err == nil {
				t.Fatalf("%+v, %v", out, err)
			}
			must.Get(a.Restore(t.Context(), throughJSON(t, j.Intent)))(t)
			w.same(before)
			for name, want := range files {
				if got := w.list(path)[name]; got != want {
					t.Errorf("%s is %s and was %s", name, got, want)
				}
			}
		})
	}
}

// TestWindow writes into a folder in the last moments of an act.
func TestWindow(t *testing.T) {
	t.Parallel()
	judge.Window(t, func(t *testing.T) judge.Trial {
		w := newWorld(t)
		path := filepath.Join(w.root, "plain")
		w.write(filepath.Join(path, "file"), "work\n")
		j := w.judge()
		j.Without([]string{"protect/nested", "protect/unsaved"}, map[string]string{"reap/dirs/mine/mine.rego": looser})
		return judge.Trial{Judge: j, Actuator: New(w.o), Decision: j.Until(decision.Reap, "dir:"+path, path),
			Change: func() { w.write(filepath.Join(path, "file"), "WORK\n") },
			There:  func() bool { _, err := os.Lstat(filepath.Join(path, "file")); return err == nil }}
	})
}
