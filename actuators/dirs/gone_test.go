package dirs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// vanish removes the worktree's folder as a person does, and gives the path of its entry. Nothing has happened in that for days.
func (w *world) vanish() (admin string) {
	w.t.Helper()
	admin = strings.TrimSpace(w.git(w.tree, "rev-parse", "--absolute-git-dir"))
	if err := os.RemoveAll(w.tree); err != nil {
		w.t.Fatal(err)
	}
	old := time.Now().Add(-5 * 24 * time.Hour)
	for name := range w.list(admin) {
		if err := os.Chtimes(filepath.Join(admin, name), old, old); err != nil {
			w.t.Fatal(err)
		}
	}
	return admin
}

// goneDecision is what the policies decide of a worktree whose folder is gone.
func (w *world) goneDecision(admin string) decision.Decision {
	w.t.Helper()
	d := w.identity(admin)
	d.Path, d.Worktree, d.Gone, d.Main, d.AdminDir, d.CommonDir = w.tree, true, true, w.main, admin, filepath.Join(w.main, ".git")
	d.Head = strings.TrimSpace(w.git(w.main, "rev-parse", "work"))
	return decision.Decision{ID: "dir:" + w.tree, Kind: "dir", Verdict: decision.Reap, Label: w.tree, Identity: decision.Identity{Key: "gone", Dir: &d}}
}

// goneIntent takes hold of the entry and gives what the carrier would write down.
func (w *world) goneIntent(act, admin string) (actuators.Held, decision.Intent, error) {
	w.t.Helper()
	d := w.goneDecision(admin)
	g, err := New(w.o).Hold(w.t.Context(), act, d)
	if err != nil {
		return nil, decision.Intent{}, err
	}
	return g, throughJSON(w.t, decision.Intent{ID: act, Candidate: d.ID, Kind: d.Kind, Label: d.Label, Identity: d.Identity, At: time.Now(),
		RestoreUntil: time.Now().Add(time.Hour), Plan: g.Plan()}), nil
}

// goneState is all of the repository that an act on an entry may change. The entry's own time is now after it came back.
func (w *world) goneState(admin string) map[string]string {
	w.t.Helper()
	s := map[string]string{"worktrees": w.git(w.main, "worktree", "list", "--porcelain"),
		"refs": w.git(w.main, "for-each-ref", "--format=%(refname) %(objectname)")}
	for name, text := range w.list(admin) {
		if name != "." {
			s["admin/"+name] = text
		}
	}
	left, _ := filepath.Glob(filepath.Join(w.o.StateTrash, "*"))
	s["trash"] = strings.Join(left, " ")
	return s
}

// TestTheEntryOfAWorktreeThatIsGone goes alone, and comes back.
func TestTheEntryOfAWorktreeThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git(w.main, "worktree", "add", "-q", "--detach", filepath.Join(w.root, "other"))
	must.Do(t, os.RemoveAll(filepath.Join(w.root, "other")))
	admin := w.vanish()
	before := w.goneState(admin)
	g, in, err := w.goneIntent("A1", admin)
	must.Do(t, err)
	out := w.act(g, in)
	if err := g.Close(); err != nil || out.Outcome != decision.Done {
		t.Fatalf("%+v, %v", out, err)
	}
	if list := w.git(w.main, "worktree", "list"); strings.Contains(list, w.tree) || !strings.Contains(list, "trees/other") {
		t.Errorf("afterwards git lists\n%s", list)
	}
	asides, wrong := New(w.o).Asides(t.Context(), nil)
	if len(asides) != 1 || len(wrong) > 0 {
		t.Errorf("found by the manifest: %+v, %v", asides, wrong)
	}
	w.git(w.main, "branch", "-q", "-D", "work") // which git refuses while the entry is there
	must.Get(New(w.o).Restore(t.Context(), in))(t)
	if diff := cmp.Diff(before, w.goneState(admin)); diff != "" {
		t.Error(diff)
	}
	st, err := os.Lstat(admin)
	if err != nil || time.Since(st.ModTime()) > time.Hour {
		t.Errorf("that a person wants it does not show: %v, %v", st, err)
	}
}

// TestNoEntryComesBackIntoAnother refuses to restore where the name, or the folder's place, is taken.
func TestNoEntryComesBackIntoAnother(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(w *world){
		"the entry's name": func(w *world) { w.git(w.main, "worktree", "add", "-q", filepath.Join(w.base, "work"), "work") },
		"the folder":       func(w *world) { w.write(filepath.Join(w.tree, "file"), "x\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			admin := w.vanish()
			g, in, err := w.goneIntent("A1", admin)
			must.Do(t, err)
			if out := w.act(g, in); out.Outcome != decision.Done {
				t.Fatalf("%+v", out)
			}
			g.Close()
			take(w)
			before := w.git(w.main, "worktree", "list", "--porcelain")
			if back, err := New(w.o).Restore(t.Context(), in); !errors.Is(err, actuators.ErrRefused) {
				t.Fatalf("%s, %v", back.Where, err)
			}
			if now := w.git(w.main, "worktree", "list", "--porcelain"); now != before {
				t.Errorf("before\n%s\nafterwards\n%s", before, now)
			}
			must.Get(New(w.o).Purge(t.Context(), in))(t)
			if refs := w.git(w.main, "for-each-ref", "refs/winnow"); refs != "" {
				t.Errorf("after the purge: %s", refs)
			}
		})
	}
}

// TestCrashWithAnEntry kills Winnow before each of its steps, with an entry that goes, comes back, or is removed for good.
func TestCrashWithAnEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.vanish()
	before := w.goneState(admin)
	same := func(what string, n int) {
		t.Helper()
		if diff := cmp.Diff(before, w.goneState(admin)); diff != "" {
			t.Fatalf("%s, step %d: %s", what, n, diff)
		}
	}
	outcomes, n := map[string]int{}, 1
	for ; ; n++ {
		g, in, err := w.goneIntent(nth(n), admin)
		must.Do(t, err)
		g.Close()
		died := w.dies("do", n, in)
		if died {
			out := New(w.o).Settle(t.Context(), in)
			if outcomes[out.Outcome]++; out.Outcome == decision.Failed {
				same("do", n)
				continue
			}
			if out.Outcome != decision.Done {
				t.Fatalf("step %d: %+v", n, out)
			}
		}
		for k := 1; w.dies("restore", k, in); k++ {
		}
		same("restore", n)
		if !died {
			break
		}
	}
	if outcomes[decision.Done] == 0 || outcomes[decision.Failed] == 0 || n < 6 {
		t.Errorf("%d steps, outcomes: %v", n-1, outcomes)
	}
	g, in, err := w.goneIntent("P1", admin)
	must.Do(t, err)
	defer g.Close()
	if out := w.act(g, in); out.Outcome != decision.Done {
		t.Fatalf("%+v", out)
	}
	for k := 1; w.dies("purge", k, in); k++ {
	}
	if refs := w.git(w.main, "for-each-ref", "refs/winnow"); refs != "" {
		t.Errorf("after the purge: %s", refs)
	}
	if left, _ := filepath.Glob(filepath.Join(w.o.StateTrash, "*")); len(left) > 0 {
		t.Errorf("after the purge: %v", left)
	}
}

// TestAnEntryThatIsInUseStays takes hold of nothing that is not exactly what was judged.
func TestAnEntryThatIsInUseStays(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world, admin string){
		"its folder is there again": func(w *world, _ string) { w.mkdir(w.tree) },
		"its folder is a link now": func(w *world, _ string) {
			if err := os.Symlink("/nowhere", w.tree); err != nil {
				w.t.Fatal(err)
			}
		},
		"git is at work": func(w *world, admin string) { w.write(filepath.Join(admin, "index.lock"), "") },
		"it was moved":   func(w *world, admin string) { w.write(filepath.Join(admin, "gitdir"), w.base+"/other/.git\n") },
		"its HEAD moved": func(w *world, admin string) {
			w.write(filepath.Join(admin, "HEAD"), w.git(w.main, "rev-parse", "main~1"))
		},
		"it is another one": func(w *world, admin string) { w.git(w.main, "worktree", "prune"); w.mkdir(admin) },
		"it is a link": func(w *world, admin string) {
			if err := errors.Join(os.Rename(admin, w.base+"/away"), os.Symlink(w.base+"/away", admin)); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			admin := w.vanish()
			d := w.goneDecision(admin)
			change(w, admin)
			if g, err := New(w.o).Hold(t.Context(), "A1", d); err == nil {
				g.Close()
				t.Error("it was taken hold of")
			}
		})
	}
}

// TestTheFolderComesBackAtEachStep makes the folder again at each step of an act. Until the act has ended the entry stays in its place.
func TestTheFolderComesBackAtEachStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"dir.refs", "held", "dir.check", "dir.trash", "dir.move", "dir.look"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			admin := w.vanish()
			passed := false
			w.o.Step = func(at string) {
				if at == step {
					passed = true
					w.mkdir(w.tree)
				}
			}
			g, in, err := w.goneIntent("A1", admin)
			must.Do(t, err)
			out := w.act(g, in)
			g.Close()
			if _, err := os.Lstat(filepath.Join(admin, "HEAD")); out.Outcome == decision.Done || err != nil {
				t.Errorf("%+v, %v", out, err)
			}
			if refs := w.git(w.main, "for-each-ref", "refs/winnow"); refs != "" || !passed {
				t.Errorf("passed: %v, left: %s", passed, refs)
			}
		})
	}
}

// TestGoneWindow has the folder come back in the last moments of an act, with the judge of the program.
func TestGoneWindow(t *testing.T) {
	t.Parallel()
	judge.Window(t, func(t *testing.T) judge.Trial {
		w := newWorld(t)
		admin := w.vanish()
		j := w.judge()
		j.Sources = func(only []string) ([]collectors.Source, error) {
			source, _ := dirs.Repository(dirs.Options{Only: only, Home: w.base, Machine: w.base,
				Holders: func(ctx context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
					return holders.Find(ctx, holders.Options{Root: "/proc", Opaque: j.Rules.OpaqueProcesses, Thorough: len(only) > 0}, paths)
				}}, w.main)
			return []collectors.Source{source}, nil
		}
		return judge.Trial{Judge: j, Actuator: New(w.o), Decision: j.Until(decision.Reap, "dir:"+w.tree, w.tree),
			Change: func() { w.write(filepath.Join(w.tree, ".git"), "gitdir: "+admin+"\n") },
			There:  func() bool { _, err := os.Lstat(filepath.Join(admin, "HEAD")); return err == nil }}
	})
}
