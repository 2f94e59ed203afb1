package dirs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// newTrim is a world whose worktree has work in it that nothing else has, and a folder that can be made again; and a judge for which
// nothing has to be idle or large.
func newTrim(t testing.TB) (w *world, j *judge.Judge, path string) {
	t.Helper()
	w = newWorld(t)
	w.write(filepath.Join(w.main, ".git/info/exclude"), "node_modules\n")
	w.write(filepath.Join(w.tree, "new"), "work\n")
	path = filepath.Join(w.tree, "node_modules")
	w.write(filepath.Join(path, "a/index.js"), "again\n")
	w.write(filepath.Join(path, "a/large"), string(make([]byte, 100_000)))
	j = w.judge()
	j.Rules.TrimAfter, j.Rules.TrimMin = 0, 0
	j.Sources = func(only []string) ([]collectors.Source, error) { return w.sources(j, only, time.Nanosecond), nil }
	return w, j, path
}

// TestContentGoesAndComesBack moves what can be made again out of a worktree that stays, with every other file of it.
func TestContentGoesAndComesBack(t *testing.T) {
	t.Parallel()
	w, j, path := newTrim(t)
	old := time.Now().Add(-90 * time.Hour)
	must.Do(t, errors.Join(os.Chtimes(path, old, old), os.Chtimes(w.tree, old, old)))
	before, files := w.state(), w.list(path)
	d := j.Until(decision.Reap, "dir:"+path, path)
	if d.Action != decision.Trim || len(d.Findings) != 1 || d.Findings[0].Rule != "reap.content.rebuildable" {
		t.Fatalf("%+v", d)
	}
	a := New(w.o)
	out := j.Carry(t.Context(), a, d)
	judge.WantOutcome(t, decision.Done, out)
	if out.Freed.Bytes < 100_000 {
		t.Errorf("%d bytes are taken away, want 100000 and some", out.Freed.Bytes)
	}
	in := throughJSON(t, j.Intent)
	if n, known := Bytes(in); !known || n != out.Freed.Bytes {
		t.Errorf("its intent says %d bytes (%v), its outcome %d", n, known, out.Freed.Bytes)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Fatal("it is still there")
	}
	if text, err := os.ReadFile(filepath.Join(w.tree, "new")); err != nil || string(text) != "work\n" {
		t.Errorf("the work beside it is %q (%v)", text, err)
	}
	if st, err := os.Stat(w.tree); err != nil || st.ModTime().Sub(old).Abs() > time.Second {
		t.Errorf("the worktree is of %v (%v) afterwards, and was of %v: the act is no work", st.ModTime(), err, old)
	}
	must.Get(a.Restore(t.Context(), in))(t)
	if st, err := os.Stat(path); err != nil || time.Since(st.ModTime()) > time.Hour {
		t.Errorf("what was brought back is of %v (%v); want now", st.ModTime(), err)
	}
	after := w.state()
	for name, want := range before.Files { // a folder's time is that of what came into it last
		if got := after.Files[name]; got != want && name != "." && name != "node_modules" {
			t.Errorf("%s is %s and was %s", name, got, want)
		}
	}
	for name, want := range files {
		if got := w.list(path)[name]; got != want && name != "." {
			t.Errorf("%s is %s and was %s", name, got, want)
		}
	}
}

// TestContentWindow has the folder or its worktree used, or written to, in the last moments of an act.
func TestContentWindow(t *testing.T) {
	// Not in parallel: a child that another test has just forked, and that does not run its program yet, has every open folder open too, and would
	// be seen as a user of this one.
	for name, change := range map[string]func(w *world, path string){
		"a file in it is written":             func(w *world, path string) { w.write(filepath.Join(path, "a/index.js"), "AGAIN\n") },
		"a process comes into its worktree":   func(w *world, _ string) { enter(w.t, w.tree) },
		"its worktree becomes another folder": func(w *world, _ string) { w.unlink() },
	} {
		t.Run(name, func(t *testing.T) {
			judge.Window(t, func(t *testing.T) judge.Trial {
				w, j, path := newTrim(t)
				return judge.Trial{Judge: j, Actuator: New(w.o), Decision: j.Until(decision.Reap, "dir:"+path, path),
					Change: func() { change(w, path) },
					There:  func() bool { _, err := os.Lstat(filepath.Join(path, "a/large")); return err == nil }}
			})
		})
	}
}

// TestContentThatStays is about worktrees with a folder that looks as if it could be made again.
func TestContentThatStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(w *world, path string){
		"git tracks a file in it": func(w *world, path string) {
			w.write(filepath.Join(path, "patched.js"), "mine\n")
			w.git(w.tree, "add", "-f", "node_modules/patched.js")
		},
		"it is not ignored":               func(w *world, _ string) { w.write(filepath.Join(w.main, ".git/info/exclude"), "") },
		"it is a link":                    func(w *world, path string) { w.link(path) },
		"a repository lies in it":         func(w *world, path string) { w.git(path, "clone", "-q", w.main, "clone") },
		"a bare repository lies in it":    func(w *world, path string) { w.git(path, "clone", "-q", "--bare", w.main, "bare") },
		"a process works in its worktree": func(w *world, _ string) { enter(w.t, w.tree) },
		"its worktree is locked":          func(w *world, _ string) { w.git(w.main, "worktree", "lock", w.tree) },
		"its repository does not know it": func(w *world, _ string) { w.forget() },
		"its worktree is a main checkout": func(w *world, _ string) { w.unlink() },
		"something in it cannot be read":  func(w *world, path string) { w.shut(filepath.Join(path, "a")) },
		"git could not be asked about that": func(w *world, _ string) {
			w.write(filepath.Join(w.main, ".git", "worktrees", "work", "index"), "broken")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, j, path := newTrim(t)
			c(w, path)
			d, err := j.One(t.Context(), "dir:"+path, path)
			if err == nil && d.Verdict == decision.Reap {
				t.Errorf("it would go: %+v", d)
			}
		})
	}
}

// TestContentFloor has the actuator refuse what no policy should have given it.
func TestContentFloor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(w *world, d *decision.Dir){
		"the folder around it is a main checkout": func(w *world, d *decision.Dir) {
			d.Path, d.In, d.Root = filepath.Join(w.main, "node_modules"), w.main, w.base
			w.write(filepath.Join(d.Path, "x"), "x")
		},
		"the folder around it does not belong to git": func(w *world, d *decision.Dir) {
			d.Path, d.In = filepath.Join(w.root, "plain/node_modules"), filepath.Join(w.root, "plain")
			w.write(filepath.Join(d.Path, "x"), "x")
		},
		"it lies elsewhere":             func(w *world, d *decision.Dir) { d.In = filepath.Join(w.root, "other") },
		"it is the worktree's root":     func(w *world, d *decision.Dir) { d.In = w.root },
		"the worktree is given for it":  func(_ *world, d *decision.Dir) { d.In = d.Path },
		"somebody works around it then": func(w *world, _ *decision.Dir) { enter(w.t, w.tree) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, path := newTrim(t)
			w.o.Roots = append(w.o.Roots, w.base)
			d := decision.Dir{Path: path, In: w.tree}
			c(w, &d)
			id := w.identity(d.Path)
			id.In = d.In
			if d.Root != "" {
				id.Root = d.Root
			}
			x := decision.Decision{ID: "dir:" + d.Path, Kind: "dir", Verdict: decision.Reap, Identity: decision.Identity{Key: d.Path, Dir: &id}}
			g, err := New(w.o).Hold(t.Context(), nth(1), x)
			if err == nil {
				in := decision.Intent{ID: nth(1), Candidate: x.ID, Kind: x.Kind, Identity: x.Identity, At: time.Now(), RestoreUntil: time.Now().Add(time.Hour), Plan: g.Plan()}
				out := w.act(g, throughJSON(t, in))
				err = g.Close()
				if out.Outcome == decision.Done {
					t.Fatalf("%+v", out)
				}
			}
			if _, lerr := os.Lstat(d.Path); lerr != nil {
				t.Errorf("it is gone: %v, %v", lerr, err)
			}
		})
	}
}

// TestContentComesBackIntoItsWorktreeOnly refuses to make a folder in the place of a worktree that is away, and to replace what a tool made
// again.
func TestContentComesBackIntoItsWorktreeOnly(t *testing.T) {
	t.Parallel()
	w, j, path := newTrim(t)
	a := New(w.o)
	judge.WantOutcome(t, decision.Done, j.Carry(t.Context(), a, j.Until(decision.Reap, "dir:"+path, path)))
	in := throughJSON(t, j.Intent)
	away := filepath.Join(w.root, "away")
	w.git(w.main, "worktree", "move", w.tree, away)
	_, err := a.Restore(t.Context(), in)
	judge.WantErr(t, actuators.ErrRefused, err, w.tree, "nothing was restored")
	w.git(w.main, "worktree", "move", away, w.tree)
	w.write(filepath.Join(path, "again"), "made again\n")
	_, err = a.Restore(t.Context(), in)
	judge.WantErr(t, actuators.ErrRefused, err, "something is at")
	must.Do(t, os.RemoveAll(path))
	must.Get(a.Restore(t.Context(), in))(t)
	if _, err := os.Lstat(filepath.Join(path, "a/large")); err != nil {
		t.Error(err)
	}
}

// TestContentCrash kills Winnow before each of its steps: what is settled afterwards is in its place, or set aside whole and comes back.
func TestContentCrash(t *testing.T) {
	t.Parallel()
	w, _, path := newTrim(t)
	files := w.list(path)
	outcomes := map[string]int{}
	for n := 1; ; n += stage.Stride(4) {
		id := w.identity(path)
		id.In = w.tree
		d := decision.Decision{ID: "dir:" + path, Kind: "dir", Verdict: decision.Reap, Identity: decision.Identity{Key: path, Dir: &id}}
		g := must.Get(New(w.o).Hold(t.Context(), nth(n), d))(t)
		in := throughJSON(t, decision.Intent{ID: nth(n), Candidate: d.ID, Kind: d.Kind, Identity: d.Identity, At: time.Now(),
			RestoreUntil: time.Now().Add(time.Hour), Plan: g.Plan()})
		must.Do(t, g.Close())
		cut := w.dies("do", n, in)
		out := decision.Outcome{Outcome: decision.Done}
		if cut {
			out = New(w.o).Settle(t.Context(), in)
			outcomes[out.Outcome]++
		}
		if out.Outcome == decision.Done {
			if _, err := New(w.o).Restore(t.Context(), in); err != nil {
				t.Fatalf("step %d: %v", n, err)
			}
		}
		for name, want := range files {
			if got := w.list(path)[name]; got != want && name != "." {
				t.Fatalf("step %d, %+v: %s is %s and was %s", n, out, name, got, want)
			}
		}
		if !cut {
			break
		}
	}
	if outcomes[decision.Done] == 0 || outcomes[decision.Failed] == 0 {
		t.Errorf("outcomes: %v", outcomes)
	}
}

func (w *world) link(path string) {
	w.t.Helper()
	if err := errors.Join(os.Rename(path, filepath.Join(w.base, "elsewhere")), os.Symlink(filepath.Join(w.base, "elsewhere"), path)); err != nil {
		w.t.Fatal(err)
	}
}

// forget takes the worktree's entry out of its repository, and unlink makes the worktree a clone.
func (w *world) forget() {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.main, ".git/worktrees/work")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) unlink() {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.tree, ".git")); err != nil {
		w.t.Fatal(err)
	}
	w.git(w.tree, "init", "-q")
	w.write(filepath.Join(w.tree, ".git/info/exclude"), "node_modules\n")
}

// shut leaves a folder that only root can read, and for root one that a reader is not told of.
func (w *world) shut(path string) {
	w.t.Helper()
	if os.Geteuid() == 0 {
		w.t.Skip("root reads everything")
	}
	if err := os.Chmod(path, 0); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
}
