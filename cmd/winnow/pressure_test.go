package main

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestHowOftenGarbageIsCollected: a heap may grow up to roomy while little is left, up to roomiest where more is left, then by leastPercent, and never by more than gcPercent.
func TestHowOftenGarbageIsCollected(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for live, want := range map[uint64]int{0: gcPercent, 1: gcPercent, 2 * mb: gcPercent, 4 * mb: 275, 8 * mb: 87, little: 50, 12 * mb: 158, 14 * mb: 235, 18 * mb: 166, 24 * mb: 100, full: leastPercent, 100 * mb: leastPercent, 1 << 40: leastPercent} {
		if got := percentFor(live, defaultRoomy); got != want {
			t.Errorf("%d bytes left: %d %%, want %d", live, got, want)
		}
	}
	for live := uint64(1); live < 2*roomiest; live += 99_991 {
		goal := live + live*uint64(percentFor(live, defaultRoomy))/100
		if live <= little && goal > defaultRoomy || goal > max(roomiest, live+live*leastPercent/100) || goal+100 < live+live*leastPercent/100 || goal > 5*live {
			t.Fatalf("%d bytes left, and it may grow to %d", live, goal)
		}
	}
}

// TestAfterEachCollection: it is called after one collection and after the next, until it says that it has enough.
func TestAfterEachCollection(t *testing.T) {
	var called atomic.Int64
	afterEach(func() bool { return called.Add(1) < 2 })
	for want := int64(1); want <= 2; want++ {
		wait.Eventually(t, "a call after a collection", func() bool { runtime.GC(); return called.Load() >= want })
	}
	runtime.GC()
	runtime.GC()
	time.Sleep(20 * time.Millisecond)
	if n := called.Load(); n != 2 {
		t.Errorf("called %d times", n)
	}
}

func TestPressed(t *testing.T) {
	t.Parallel()
	by := config.Pressure{Memory: 0.1, IO: 0.3, DiskFree: 0.05, InodesFree: 0.02}
	for name, c := range map[string]struct {
		p    *snapshot.Pressure
		by   config.Pressure
		want string
	}{
		"nothing is known":  {nil, by, ""},
		"no fact":           {&snapshot.Pressure{}, by, ""},
		"calm":              {&snapshot.Pressure{MemorySome: new(0.09), IOSome: new(0.2), DiskFree: new(0.05), InodesFree: new(0.02)}, by, ""},
		"memory":            {&snapshot.Pressure{MemorySome: new(0.1)}, by, "memory stalled 10 % of the last minute"},
		"a disk":            {&snapshot.Pressure{DiskFree: new(0.01)}, by, "1.0 % of a disk left"},
		"inodes and disks":  {&snapshot.Pressure{IOSome: new(0.5), InodesFree: new(0.0)}, by, "disks stalled 50 % of the last minute, 0.0 % of a disk's inodes left"},
		"limits of nothing": {&snapshot.Pressure{MemorySome: new(1.0), IOSome: new(1.0), DiskFree: new(0.0), InodesFree: new(0.0)}, config.Pressure{}, ""},
	} {
		if got := ops.Shortage(c.p, c.by); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
