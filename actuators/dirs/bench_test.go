package dirs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"winnow/engine/decision"
)

// bigTree makes a worktree with 50,000 ignored files.
func bigTree(b *testing.B) *world {
	b.Helper()
	w := newWorld(b)
	fill(b, filepath.Join(w.tree, "ignored"))
	return w
}

func fill(b *testing.B, path string) {
	b.Helper()
	for d := range 500 {
		dir := filepath.Join(path, fmt.Sprint(d))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 100 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(f)), []byte("0123456789abcdef"), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkSetAside sets a worktree of 50,000 files aside, beside removing as many for good on the same file system: the move with
// both folders made durable, the whole act with git's bookkeeping and the look for holders, and os.RemoveAll.
func BenchmarkSetAside(b *testing.B) {
	w := bigTree(b)
	b.Run("move", func(b *testing.B) {
		g, in, err := w.grasp("A1", w.tree)
		if err != nil {
			b.Fatal(err)
		}
		defer g.Close()
		a := New(w.o)
		s, err := a.site(in)
		if err != nil {
			b.Fatal(err)
		}
		if err := os.MkdirAll(s.plan.Trash, 0o700); err != nil {
			b.Fatal(err)
		}
		defer os.Remove(s.plan.Trash)
		for b.Loop() {
			if err := g.(*grasp).move(s); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := s.tree.carry(s.tree.away, s.tree.home); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
	n := 0
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			n++
			g, in, err := w.grasp(fmt.Sprintf("W%d", n), w.tree)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			out := g.Do(b.Context(), in)
			b.StopTimer()
			if out.Outcome != decision.Done {
				b.Fatalf("%+v", out)
			}
			if _, err := New(w.o).Restore(b.Context(), in); err != nil {
				b.Fatal(err)
			}
			g.Close()
			b.StartTimer()
		}
	})
	b.Run("remove-all", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			path := filepath.Join(w.base, "removed")
			fill(b, path)
			b.StartTimer()
			if err := os.RemoveAll(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPurge removes 10,000 files the safe way, beside os.RemoveAll.
func BenchmarkPurge(b *testing.B) {
	w := newWorld(b)
	make10k := func(path string) {
		b.Helper()
		for d := range 100 {
			dir := filepath.Join(path, fmt.Sprint(d))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			for f := range 100 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(f)), []byte("x"), 0o644); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("purge", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			make10k(filepath.Join(w.base, "x", "tree"))
			b.StartTimer()
			r := remover{ctx: b.Context(), step: func(string) {}}
			if err := r.remove(filepath.Join(w.base, "x"), "tree"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("remove-all", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			make10k(filepath.Join(w.base, "x", "tree"))
			b.StartTimer()
			if err := os.RemoveAll(filepath.Join(w.base, "x", "tree")); err != nil {
				b.Fatal(err)
			}
		}
	})
}
