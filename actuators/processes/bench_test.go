package processes

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/proc/act"
)

// BenchmarkSignal compares a signal through a held and re-read directory with what is commonly done: read the start time again
// by path, then signal the bare number. The signal is 0, which the kernel takes all the way to the process and does not deliver.
func BenchmarkSignal(b *testing.B) {
	child := exec.Command("sleep", "300") // one thread: the kernel adds a stat up over all of them
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { child.Process.Kill(); child.Wait() })
	pid := child.Process.Pid
	ticks := identify(b, pid).StartTicks
	b.Run("held", func(b *testing.B) {
		for b.Loop() {
			h, err := act.Hold("/proc", pid)
			if err != nil || h.Was.Start != ticks {
				b.Fatal(err)
			}
			if err := h.Signal(0); err != nil {
				b.Fatal(err)
			}
			h.Close()
		}
	})
	b.Run("bare-number", func(b *testing.B) {
		for b.Loop() {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil {
				b.Fatal(err)
			}
			if s, err := proc.ParseStat(text); err != nil || s.Start != ticks {
				b.Fatal(s, err)
			}
			if err := unix.Kill(pid, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("whole-check", func(b *testing.B) {
		want := identify(b, pid)
		g, err := New(options()).Hold(b.Context(), "A1", decide(want))
		if err != nil {
			b.Fatal(err)
		}
		defer g.Close()
		h := g.(*held)
		for b.Loop() {
			if err := h.unchanged(want); err != nil {
				b.Fatal(err)
			}
			if err := h.Signal(0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
