package main

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

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
