package dirs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
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

// BenchmarkSetAside sets a worktree of 50,000 files aside, beside removing as many for good on the same file system: the rename with
// its checks, the same with both folders made durable, the whole act with git's bookkeeping and the look for holders, and
// os.RemoveAll.
func BenchmarkSetAside(b *testing.B) {
	w := bigTree(b)
	g, in, err := w.hold("A1", w.tree)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	site, err := New(w.o).site(in)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(site.plan.Trash, 0o700); err != nil {
		b.Fatal(err)
	}
	trash, err := folder.Open(site.plan.Trash)
	if err != nil {
		b.Fatal(err)
	}
	defer trash.Close()
	parent := g.(*handle).parent
	// There and back, so that each round moves twice.
	b.Run("rename-there-and-back", func(b *testing.B) {
		for b.Loop() {
			if err := site.tree.rename(parent, filepath.Base(w.tree), trash, treeName); err != nil {
				b.Fatal(err)
			}
			if err := site.tree.renameBack(trash, treeName, parent, filepath.Base(w.tree)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("durable-there-and-back", func(b *testing.B) {
		for b.Loop() {
			if err := g.(*handle).move(site); err != nil {
				b.Fatal(err)
			}
			if err := site.tree.putBack(); err != nil {
				b.Fatal(err)
			}
		}
	})
	n := 0
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			n++
			g, in, err := w.hold(fmt.Sprintf("W%d", n), w.tree)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			out := w.act(g, in)
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
