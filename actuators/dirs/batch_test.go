package dirs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// counting counts how often it is asked, and about how many folders.
type counting struct {
	scanner
	calls, paths *atomic.Int64
}

func (c counting) Holding(ctx context.Context, paths []string) (map[string][]string, bool, error) {
	c.calls.Add(1)
	c.paths.Add(int64(len(paths)))
	return c.scanner.Holding(ctx, paths)
}

// more makes worktrees beside the one that the world has, and gives the paths of all.
func (w *world) more(n int) []string {
	w.t.Helper()
	paths := []string{w.tree}
	for i := range n {
		path := filepath.Join(w.root, fmt.Sprint("more", i))
		w.git(w.main, "worktree", "add", "-q", "--detach", path)
		w.write(filepath.Join(path, "own"), "x\n")
		paths = append(paths, path)
	}
	return paths
}

// together holds folders, saves what they would lose, and acts on all of them as one, by intents with the ids A1, A2 and so on.
func (w *world) together(paths ...string) ([]decision.Outcome, []decision.Intent) {
	w.t.Helper()
	a := New(w.o)
	var held []actuators.Held
	var ins []decision.Intent
	for i, path := range paths {
		g, in, err := w.hold(nth(i+1), path)
		if err != nil {
			w.t.Fatal(err)
		}
		defer g.Close()
		if err := g.Save(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		held, ins = append(held, g), append(ins, in)
	}
	var outs []decision.Outcome
	for _, out := range a.ActTogether(w.t.Context(), held, ins, func(int) error { return nil }) {
		outs = append(outs, *out)
	}
	return outs, ins
}

// TestBatch moves five folders with one question who uses them, and puts back the one that a process entered, the one that was written into
// and the one that came again under its old name. The others go.
func TestBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths := w.more(3)
	plain := filepath.Join(w.root, "plain")
	w.write(filepath.Join(plain, "file"), "x\n")
	paths = append(paths, plain)
	var calls, asked atomic.Int64
	w.o.Holders = counting{scanner{}, &calls, &asked}
	looks := 0
	w.o.Step = func(step string) {
		if step != "dir.look" {
			return
		}
		if looks++; looks > 1 { // all are away when the first is looked at
			return
		}
		for i, path := range paths {
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is not away: %v", path, err)
			}
			moved := filepath.Join(w.o.StateTrash, nth(i+1), treeName)
			switch i {
			case 1:
				enter(t, moved)
			case 2:
				w.write(filepath.Join(moved, "late"), "x\n")
			}
		}
	}
	outs, ins := w.together(paths...)
	var got []string
	for _, out := range outs {
		got = append(got, out.Outcome)
	}
	if diff := cmp.Diff([]string{decision.Done, decision.Refused, decision.Refused, decision.Done, decision.Done}, got); diff != "" {
		t.Fatalf("outcomes (-want +got):\n%s\n%+v", diff, outs)
	}
	if calls.Load() != 1 || asked.Load() != 5 || looks != 5 {
		t.Errorf("asked %d times about %d folders, %d looks", calls.Load(), asked.Load(), looks)
	}
	for i, path := range paths {
		_, err := os.Lstat(path)
		if there := err == nil; there != (i == 1 || i == 2) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(paths[2], "late")); err != nil {
		t.Errorf("what was written late is lost: %v", err)
	}
	for _, i := range []int{0, 3, 4} {
		if back, err := New(w.o).Restore(t.Context(), ins[i]); err != nil || back.Where != paths[i] {
			t.Errorf("restored %q: %v", back.Where, err)
		}
	}
}

// TestBatchWhereUsersAreNotKnown puts all of them back.
func TestBatchWhereUsersAreNotKnown(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]Holding{
		"not known": holding(func(string) ([]string, bool, error) { return nil, false, nil }),
		"an error":  holding(func(string) ([]string, bool, error) { return nil, true, errors.New("no procfs") }),
	} {
		w := newWorld(t)
		paths := w.more(1)
		before := w.state()
		w.o.Holders = h
		outs, _ := w.together(paths...)
		for i, out := range outs {
			if out.Outcome != decision.Refused || !strings.Contains(out.Detail, "put back") {
				t.Errorf("%s: %s: %+v", name, paths[i], out)
			}
		}
		w.same(before)
	}
}

// TestBatchThatGrowsOld leaves what it has not begun with untouched, and brings to an end what it has.
func TestBatchThatGrowsOld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths := w.more(2)
	var held []actuators.Held
	var ins []decision.Intent
	for i, path := range paths {
		g, in, err := w.hold(nth(i+1), path)
		must.Do(t, err)
		defer g.Close()
		held, ins = append(held, g), append(ins, in)
	}
	asked := 0
	outs := New(w.o).ActTogether(t.Context(), held, ins, func(i int) error {
		if asked++; i == 2 {
			return actuators.ErrStale
		}
		return nil
	})
	if len(outs) != 3 || outs[0].Outcome != decision.Done || outs[1].Outcome != decision.Done || outs[2] != nil {
		t.Errorf("outcomes: %+v", outs)
	}
	if _, err := os.Lstat(paths[2]); err != nil {
		t.Errorf("what was not begun is gone: %v", err)
	}
}

// TestBatchOf keeps a folder and what lies in it apart, and what is no folder.
func TestBatchOf(t *testing.T) {
	t.Parallel()
	of := func(paths ...string) (ds []decision.Decision) {
		for _, path := range paths {
			d := decision.Decision{ID: "dir:" + path, Kind: "dir"}
			if path != "" {
				d.Identity.Dir = &decision.Dir{Path: path}
			}
			ds = append(ds, d)
		}
		return ds
	}
	for _, c := range []struct {
		ds   []decision.Decision
		want int
	}{
		{of("/w/a", "/w/b", "/w/ab"), 3},
		{of("/w/a", "/w/b", "/w/a/node_modules", "/w/c"), 2},
		{of("/w/a/node_modules", "/w/a/target", "/w/a"), 2},
		{of("/w/a", "/w/a"), 1},
		{of("/w/a", "", "/w/b"), 1},
		{of("", "/w/b"), 1},
	} {
		if got := New(Options{}).Batch(c.ds); got != c.want {
			t.Errorf("%d of %+v, want %d", got, c.ds, c.want)
		}
	}
}

// TestCrashInABatch kills Winnow before each of the steps of an act on three folders. Each is settled for itself afterwards: it is as it was,
// without a trace, or set aside whole.
func TestCrashInABatch(t *testing.T) {
	stage.NeedSecond(t, "it kills the program at step after step")
	t.Parallel()
	w := newWorld(t)
	busy(w)
	paths := w.more(2)
	before := w.state()
	list := func() (all []map[string]string) {
		for _, path := range paths {
			all = append(all, w.list(path))
		}
		return all
	}
	files := list()
	outcomes := map[string]int{}
	mixed := 0
	for n := 1; ; n += stage.Stride(4) {
		var ins []decision.Intent
		for i, path := range paths {
			g, in, err := w.hold(fmt.Sprintf("%sx%d", nth(n), i), path)
			must.Do(t, err)
			g.Close()
			ins = append(ins, in)
		}
		died := w.diesWith("together", n, ins...)
		w.git(w.main, "worktree", "prune", "--expire=now")
		w.git(w.main, "prune", "--expire=now")
		var ends []string
		for i, in := range ins {
			out := decision.Outcome{Outcome: decision.Done}
			if died {
				out = New(w.o).Settle(t.Context(), in)
			}
			ends = append(ends, out.Outcome)
			outcomes[out.Outcome]++
			if out.Outcome == decision.Done {
				if back, err := New(w.o).Restore(t.Context(), in); err != nil || back.Where != paths[i] {
					t.Fatalf("step %d: restore of %s: %q %v", n, in.ID, back.Where, err)
				}
			} else if !strings.Contains(out.Detail, "interrupted before it was set aside") || strings.Contains(out.Detail, "could not") {
				t.Errorf("step %d: %+v", n, out)
			}
		}
		if slices.Contains(ends, decision.Done) && slices.Contains(ends, decision.Failed) {
			mixed++
		}
		w.same(before)
		if diff := cmp.Diff(files, list()); diff != "" || t.Failed() {
			t.Fatalf("at step %d (-want +got):\n%s", n, diff)
		}
		if !died {
			if n < 20 || mixed == 0 || outcomes[decision.Done] == 0 || outcomes[decision.Failed] == 0 {
				t.Errorf("%d steps, %d times some were away and some not, outcomes: %v", n-1, mixed, outcomes)
			}
			return
		}
	}
}

// TestContentInABatch takes two folders out of one folder of a worktree: its time is afterwards what it was, unless somebody has worked in it
// between the two.
func TestContentInABatch(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]bool{"nobody works there": false, "somebody makes a file between the two": true} {
		w := newWorld(t)
		paths := []string{filepath.Join(w.tree, "node_modules"), filepath.Join(w.tree, "target")}
		for _, path := range paths {
			w.write(filepath.Join(path, "made"), "x\n")
		}
		old := time.Now().Add(-90 * time.Hour).Truncate(time.Second)
		must.Do(t, os.Chtimes(w.tree, old, old))
		a := New(w.o)
		moves := 0
		a.o.Step = func(step string) {
			if step == "dir.move" {
				if moves++; moves == 2 && work {
					time.Sleep(20 * time.Millisecond) // the kernel's clock ticks at least so often
					w.write(filepath.Join(w.tree, "new"), "x\n")
				}
			}
		}
		var held []actuators.Held
		var ins []decision.Intent
		for i, path := range paths {
			d := w.decision(path)
			d.Identity.Dir.In = w.tree
			g := must.Get(a.Hold(t.Context(), nth(i+1), d))(t)
			defer g.Close()
			held = append(held, g)
			ins = append(ins, decision.Intent{ID: nth(i + 1), Candidate: d.ID, Kind: d.Kind, Identity: d.Identity, At: time.Now(),
				RestoreUntil: time.Now().Add(time.Hour), Plan: json.RawMessage(g.Plan())})
		}
		for _, out := range a.ActTogether(t.Context(), held, ins, func(int) error { return nil }) {
			if out.Outcome != decision.Done {
				t.Errorf("%s: %+v", name, out)
			}
		}
		if st, err := os.Stat(w.tree); err != nil || st.ModTime().Equal(old) == work {
			t.Errorf("%s: the worktree is of %v (%v), and was of %v", name, st.ModTime(), err, old)
		}
	}
}
