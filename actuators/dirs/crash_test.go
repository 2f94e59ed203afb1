package dirs

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

func itoa(n int) string { return strconv.Itoa(n) }

// busy fills a worktree with a submodule, and with work that only its own bookkeeping reaches.
func busy(w *world) {
	filled(w)
	work(w)
}

func work(w *world) {
	w.write(w.tree+"/c", "x\n")
	w.commit(w.tree, "thrown away")
	w.git(w.tree, "reset", "-q", "--hard", "HEAD~1")
	w.git(w.main, "reflog", "expire", "--expire=now", "refs/heads/work")
	w.write(w.tree+"/a", "staged\n")
	w.git(w.tree, "add", "a")
	w.write(w.tree+"/local.env", "x\n")
	w.write(w.tree+"/notes/today", "x\n")
}

// TestCrashWhileSettingAside kills Winnow before each of its steps. What is settled afterwards is either as it was, without a
// trace, or set aside whole.
func TestCrashWhileSettingAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy(w)
	before := w.state()
	outcomes := map[string]int{}
	for n := 1; ; n += stage.Stride(4) {
		g, in, err := w.hold(nth(n), w.tree)
		must.Do(t, err)
		g.Close()
		if !w.dies("do", n, in) {
			w.restore(in)
			w.same(before)
			if n < 8 {
				t.Errorf("an act has only %d steps", n-1)
			}
			break
		}
		// At every step, git's own cleaning up may remove nothing.
		w.git(w.main, "worktree", "prune", "--expire=now")
		w.git(w.main, "prune", "--expire=now")
		out := New(w.o).Settle(t.Context(), in)
		outcomes[out.Outcome]++
		switch out.Outcome {
		case decision.Done:
			w.restore(in)
		case decision.Failed:
			if !strings.Contains(out.Detail, "interrupted before it was set aside") {
				t.Errorf("step %d: %+v", n, out)
			}
		default:
			t.Errorf("step %d: %+v", n, out)
		}
		w.same(before)
		if t.Failed() {
			t.Fatalf("at step %d: %+v", n, out)
		}
	}
	if outcomes[decision.Done] == 0 || outcomes[decision.Failed] == 0 {
		t.Errorf("outcomes: %v", outcomes)
	}
}

// TestCrashThenAProcessEnters settles an act that was cut short after the move, with a process in the folder by then.
func TestCrashThenAProcessEnters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy(w)
	before := w.state()
	putBack := 0
	for n := 1; ; n += stage.Stride(2) {
		g, in, err := w.hold(nth(n), w.tree)
		must.Do(t, err)
		g.Close()
		if !w.dies("do", n, in) {
			w.restore(in)
			break
		}
		moved := filepath.Join(w.o.StateTrash, nth(n), treeName)
		leave := func() {}
		if _, err := os.Lstat(moved); err == nil {
			_, leave = enter(t, moved)
		}
		out := New(w.o).Settle(t.Context(), in)
		if out.Outcome == decision.Refused {
			putBack++
		} else if out.Outcome != decision.Failed {
			t.Errorf("step %d: %+v", n, out)
		}
		leave()
		w.same(before)
	}
	if putBack < 2 {
		t.Errorf("put back %d times", putBack)
	}
}

// TestAttackWorkAfterACrash works in a folder that a Winnow that died left in the trash: it comes back, with the work in it.
func TestAttackWorkAfterACrash(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a file written into a folder that an act which was cut short left in the trash")
	w := newWorld(t)
	busy(w)
	for n := 1; ; n += stage.Stride(4) {
		g, in, err := w.hold(nth(n), w.tree)
		must.Do(t, err)
		g.Close()
		if !w.dies("do", n, in) {
			return
		}
		moved := filepath.Join(w.o.StateTrash, nth(n), treeName)
		if _, err := os.Lstat(moved); err != nil {
			New(w.o).Settle(t.Context(), in)
			continue
		}
		name := "late" + itoa(n)
		w.write(filepath.Join(moved, name), "x\n")
		out := New(w.o).Settle(t.Context(), in)
		if _, err := os.Lstat(filepath.Join(w.tree, name)); err != nil || out.Outcome != decision.Refused {
			a.Lost("step %d: %v %+v", n, err, out)
			continue
		}
		a.Held()
	}
}

// TestCrashWhileRestoring kills Winnow before each step of a restore; the next one brings everything back.
func TestCrashWhileRestoring(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy(w)
	before := w.state()
	for n := 1; ; n += stage.Stride(4) {
		in := w.aside(nth(n), w.tree)
		died := w.dies("restore", n, in)
		if died {
			w.restore(in)
		}
		w.same(before)
		if !died {
			if n < 4 {
				t.Errorf("a restore has only %d steps", n-1)
			}
			return
		}
	}
}

// TestCrashWhileMending kills Winnow before each step of a restore that has to make the worktree's branch again.
func TestCrashWhileMending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy(w)
	before := w.state()
	clean := func() {
		w.git(w.main, "worktree", "prune", "--expire=now")
		w.git(w.main, "prune", "--expire=now")
	}
	for n := 1; ; n += stage.Stride(4) {
		in := w.aside(nth(n), w.tree)
		w.git(w.main, "branch", "-q", "-D", "work")
		died := w.dies("restore", n, in)
		clean()
		if died {
			if _, err := New(w.o).Restore(t.Context(), in); err != nil {
				t.Fatalf("step %d: %v", n, err)
			}
		}
		clean()
		w.same(before)
		if t.Failed() {
			t.Fatalf("at step %d", n)
		}
		if !died {
			if n < 6 {
				t.Errorf("a restore has only %d steps", n-1)
			}
			return
		}
	}
}

// TestAttackPlaceSwapped has an attacker put another folder where a purge is about to remove one.
func TestAttackPlaceSwapped(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "another folder that takes the place of what a purge removes, at each of its steps")
	for _, step := range []string{"purge.begin", "purge.folder", "purge.refs", "purge.tidy"} {
		for _, what := range []string{"act", treeName, purgeName, adminName} {
			w := newWorld(t)
			w.write(w.base+"/precious/file", "x\n")
			w.write(w.base+"/precious/tree/file", "x\n")
			in := w.aside("A1", w.tree)
			at, swapped := filepath.Join(w.o.StateTrash, "A1", what), false
			if what == "act" {
				at = filepath.Join(w.o.StateTrash, "A1")
			}
			w.o.Step = func(s string) {
				if _, err := os.Lstat(at); s == step && !swapped && err == nil {
					swapped = true
					if err := errors.Join(os.Rename(at, w.base+"/away"), os.Rename(w.base+"/precious", at)); err != nil {
						t.Error(err)
					}
				}
			}
			_, err := New(w.o).Purge(t.Context(), in)
			if !swapped {
				continue
			}
			files := 0
			for _, name := range []string{"file", "tree/file"} {
				if _, err := os.Lstat(filepath.Join(at, name)); err == nil {
					files++
				}
			}
			if files != 2 {
				a.Lost("%s of %s: %d files are left: %v", step, what, files, err)
				continue
			}
			a.Held()
		}
	}
}

// TestCrashWhilePurging kills Winnow before each step of a purge; the next one removes everything, and nothing half removed can
// be restored.
func TestCrashWhilePurging(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	filled(w)
	for n := 1; ; n += stage.Stride(4) {
		w.write(w.tree+"/sub/deep/file", "x\n")
		in := w.aside(nth(n), w.tree)
		died := w.dies("purge", n, in)
		if died {
			trash := filepath.Join(w.o.StateTrash, nth(n))
			_, begun := os.Lstat(filepath.Join(trash, purgeName))
			if _, whole := os.Lstat(filepath.Join(trash, treeName)); whole == nil {
				w.restore(in)
				in = w.aside(nth(n)+"b", w.tree)
			} else if _, err := New(w.o).Restore(t.Context(), in); err == nil {
				t.Fatalf("step %d: restored what is half removed (%v)", n, begun)
			}
			if _, err := New(w.o).Purge(t.Context(), in); err != nil {
				t.Fatalf("step %d: %v", n, err)
			}
		}
		w.purged(in)
		if !died {
			if n < 6 {
				t.Errorf("a purge has only %d steps", n-1)
			}
			return
		}
		w.git(w.main, "worktree", "add", "-q", w.tree, "work")
		w.git(w.tree, "submodule", "--quiet", "update", "--init")
	}
}

// TestSettleOfNothing is an act whose folder was taken away in the meantime, and one whose plan is not its own.
func TestSettleOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.aside("A1", w.tree)
	must.Do(t, os.Rename(filepath.Join(w.o.StateTrash, "A1", treeName), w.base+"/elsewhere"))
	if out := New(w.o).Settle(t.Context(), in); out.Outcome != decision.Failed || !strings.Contains(out.Detail, "refs/winnow/A1/") {
		t.Errorf("settled: %+v", out)
	}
	if back, err := New(w.o).Restore(t.Context(), in); err == nil {
		t.Errorf("restored %s", back.Where)
	}
	if _, err := New(w.o).Purge(t.Context(), in); err == nil {
		t.Error("purged the entry of a folder that was taken out")
	}
	in.ID = "A2"
	if out := New(w.o).Settle(t.Context(), in); out.Outcome != decision.Failed {
		t.Errorf("settled: %+v", out)
	}
}

func (w *world) restore(in decision.Intent) {
	w.t.Helper()
	if back, err := New(w.o).Restore(w.t.Context(), in); err != nil || back.Where != w.tree {
		w.t.Fatalf("restore of %s: %q %v", in.ID, back.Where, err)
	}
}

// purged fails when anything of an act is left.
func (w *world) purged(in decision.Intent) {
	w.t.Helper()
	if _, err := os.Lstat(filepath.Join(w.o.StateTrash, in.ID)); !errors.Is(err, os.ErrNotExist) {
		w.t.Errorf("%s is left in the trash: %v", in.ID, err)
	}
	if refs := w.git(w.main, "for-each-ref", "refs/winnow"); refs != "" {
		w.t.Errorf("refs are left: %s", refs)
	}
	if list := w.git(w.main, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
		w.t.Errorf("worktrees are left:\n%s", list)
	}
}

func TestPurge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.base+"/precious/file", "x\n")
	link(w, w.base+"/precious", w.tree+"/link")
	w.write(w.tree+"/ignored/big", strings.Repeat("x", 1<<20))
	w.write(w.tree+"/ignored/shared", strings.Repeat("x", 1<<20))
	must.Do(t, os.Link(w.tree+"/ignored/shared", w.base+"/precious/shared"))
	w.write(w.tree+"/ignored/cache/module/file", "x\n")
	chmod(w, w.tree+"/ignored/cache/module", 0o500)
	w.mkdir(w.tree + "/ignored/closed/inner")
	if os.Getuid() == 0 { // for other users it is refused: what lies in it cannot be looked at
		chmod(w, w.tree+"/ignored/closed", 0)
	}
	w.o.Holders = holding(func(string) ([]string, bool, error) { return nil, true, nil })
	in := w.aside("A1", w.tree)
	precious := w.list(w.base + "/precious")

	for name, h := range map[string]Holding{
		"somebody": holding(func(string) ([]string, bool, error) { return []string{"claude (7)"}, true, nil }),
		"unknown":  holding(func(string) ([]string, bool, error) { return nil, false, nil }),
	} {
		o := w.o
		o.Holders = h
		if _, err := New(o).Purge(t.Context(), in); err == nil || !strings.Contains(err.Error(), "nothing was removed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := w.o
	other.StateTrash = w.base + "/other"
	if _, err := New(other).Purge(t.Context(), in); err == nil {
		t.Error("purged the trash of another state folder")
	}
	tampered := in
	tampered.Plan = []byte(strings.ReplaceAll(string(in.Plan), w.o.StateTrash+"/A1", w.base+"/precious"))
	if _, err := New(w.o).Purge(t.Context(), tampered); err == nil {
		t.Error("purged what a tampered plan names")
	}
	freed := must.Get(New(w.o).Purge(t.Context(), in))(t)
	// The big file, the worktree's few small ones and its entry; not what has another name.
	if freed < 1<<20 || freed >= 2<<20 {
		t.Errorf("freed %d bytes", freed)
	}
	if again, err := New(w.o).Purge(t.Context(), in); err != nil || again != 0 {
		t.Errorf("purged again: %d %v", again, err)
	}
	w.purged(in)
	after := w.list(w.base + "/precious")
	if len(after) != len(precious) || after["shared"] != precious["shared"] {
		t.Errorf("precious is %v, was %v", after, precious)
	}
}

// TestRestoreFindsNoRoom refuses when anything is in the way, before anything is moved.
func TestRestoreFindsNoRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	in := w.aside("A1", w.tree)
	w.git(w.main, "worktree", "add", "-q", "-b", "next", w.tree)
	if _, err := New(w.o).Restore(t.Context(), in); err == nil {
		t.Error("restored over another worktree")
	}
	// The path is free, and its entry's name is taken.
	w.git(w.main, "worktree", "move", w.tree, w.root+"/moved")
	if _, err := New(w.o).Restore(t.Context(), in); err == nil {
		t.Error("restored over another entry")
	}
	if _, err := os.Lstat(filepath.Join(w.o.StateTrash, "A1", treeName)); err != nil {
		t.Errorf("it is no longer in the trash: %v", err)
	}
	w.git(w.main, "worktree", "remove", w.root+"/moved")
	w.git(w.main, "branch", "-q", "-D", "next")
	// The folder around it is gone, too.
	must.Do(t, os.Remove(w.root))
	back, err := New(w.o).Restore(t.Context(), in)
	if err != nil || !strings.HasPrefix(back.Where, w.tree+" (") {
		t.Errorf("restore: %q %v", back.Where, err)
	}
	w.same(before)
}
